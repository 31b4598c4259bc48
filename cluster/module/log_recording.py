"""The recording of the log in the node's archive, and where it has ended (spec cluster 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.cluster.errors import ClusterError
from aerolog.cluster.module.snapshots import check_archive
from aerolog.cluster.protocol import NULL_POSITION

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.errors import ArchiveError


class LogRecording:
    """The recording of the log, which the archive extends in each term.

    Attributes:
        recording_id: the recording's id, None before there is one.
    """

    def __init__(self, context: ModuleContext) -> None:
        self._context = context
        self.recording_id: int | None = None
        self._request: int | None = None
        self._error: ArchiveError | None = None

    def begin_term(self, recording_id: int, request: int) -> None:
        """Note the recording of a term.

        Args:
            recording_id: the recording.
            request: correlation id of the request that had the log recorded.
        """
        self.recording_id, self._request = recording_id, request

    def tend(self) -> int:
        """Hear the archive, without which nothing is recorded.

        Raises:
            ClusterError: the archive is gone.
        """
        conversation = self._context.archive.conversation
        work = conversation.tend()
        check_archive(self._context.archive)
        if self._request is not None:
            error = conversation.take_error(self._request)
            if error is not None:
                self._error = error
                self._context.reporter.error(error, "recording of the log")
        return work

    def end(self) -> Steps[int]:
        """Find where the recording of the log has ended.

        Raises:
            ClusterError: it has ended by an error, or lacks what is committed.
        """
        context = self._context
        assert self.recording_id is not None
        found = yield from self.stopped(self.recording_id, context.archive.options.message_timeout)
        self.tend()
        if self._error is not None:
            raise ClusterError(
                f"the archive has ended recording {self.recording_id}, the log:"
                f" {self._error.message}"
            ) from self._error
        committed = context.counters.commit_position.value
        if found is None or found.stop_position < committed:
            end = "is not in the archive" if found is None else f"ends at {found.stop_position}"
            raise ClusterError(
                f"recording {self.recording_id}, the log, {end}, and {committed} bytes of the log"
                " are committed: restore the archive, and start the node again"
            )
        return found.stop_position

    def stopped(
        self, recording_id: int, timeout: float | None = None
    ) -> Steps[RecordingDescriptor | None]:
        """Wait until a recording has its stop position; None for one that there is not.

        Raises:
            ClusterError: another program extends it.
        """
        conversation = self._context.archive.conversation
        deadline_ns = conversation.deadline_ns(timeout)
        while True:
            found = yield from self._context.archive.list_recording(recording_id)
            if found is None or found.stop_position != NULL_POSITION:
                return found
            if conversation.is_late(deadline_ns):
                raise ClusterError(
                    f"recording {recording_id}, the log, is extended by another program: stop that,"
                    " and start the node again"
                )
            yield 0
