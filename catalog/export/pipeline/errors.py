"""What can be wrong with a job or its output; each text says what to do about it."""

from __future__ import annotations

from aerolog.transport.errors import AerologError


class PipelineError(AerologError):
    """A run that cannot begin, or that ended without a commit: nothing of it is visible."""


class JobFileError(PipelineError, ValueError):
    """A job file that does not say what to do.

    Attributes:
        path: of the file.
        key: dotted, such as ``output.to``; None where the file as a whole is wrong.
    """

    def __init__(self, path: str, key: str | None, problem: str) -> None:
        super().__init__(f"{path}: {f'{key}: ' if key else ''}{problem}")
        self.path = path
        self.key = key


class TargetError(PipelineError):
    """An unusable output: another job's, not empty, gone, unreachable or of another schema."""


class RunInProgressError(PipelineError):
    """Another process runs the same job."""


class DamagedInputError(PipelineError):
    """A recording that could not be read to its end; names recording and position."""


class TooManyRejectedError(PipelineError):
    """More messages were rejected than the job allows: a wrong decoder or schema, most likely."""


class RuleError(PipelineError):
    """A rule that Spark does not understand, or one that must not be broken and was."""


class SparkRunError(PipelineError):
    """Spark did not start, or gave a task up."""
