"""Errors of jobs and their outputs. Each text says what to do."""

from __future__ import annotations

from aerolog.transport.errors import AerologError


class PipelineError(AerologError):
    """A run cannot begin, or it ended without a commit. Readers see nothing of it."""


class JobFileError(PipelineError, ValueError):
    """A job file is not TOML, lacks a key, or has one that cannot be used.

    Attributes:
        path: of the job file.
        key: dotted, such as ``output.to``; None where the file as a whole is wrong.
    """

    def __init__(self, path: str, key: str | None, problem: str) -> None:
        super().__init__(f"{path}: {f'{key}: ' if key else ''}{problem}")
        self.path = path
        self.key = key


class TargetError(PipelineError):
    """The output is another job's, not empty, gone, out of reach or of another schema."""


class RunInProgressError(PipelineError):
    """Another process runs the same job."""


class DamagedInputError(PipelineError):
    """A recording cannot be read to its end; the text names the recording and the position."""


class TooManyRejectedError(PipelineError):
    """More messages were rejected than the job allows, most likely by a wrong decoder or schema."""


class RuleError(JobFileError):
    """Spark does not understand a rule or a date expression."""


class SparkRunError(PipelineError):
    """Spark did not start, or it gave up a task."""
