"""The blocking archive client (spec client 22, spec archive-protocol 21).

Positions are bytes in the stream. An operation that has no answer in ``message_timeout`` raises
AeronTimeoutError, one that the archive refuses ArchiveError with its code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.archive.client.caller import WaitingForm
from aerolog.archive.client.operations import ArchiveOperations
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client import Aeron


class AeronArchive(ArchiveOperations, WaitingForm, Resource):
    """A session with an archive. Any thread may call it, one at a time gets through.

    Example:
        with AeronArchive(aeron) as archive:
            archive.start_recording("aeron:ipc", 7)
            for recording in archive.recordings(stream_id=7): ...
    """

    def __init__(
        self,
        aeron: Aeron | None = None,
        *,
        aeron_dir: str | None = None,
        idle: Callable[[int], object] | None = None,
        **options: Any,
    ) -> None:
        """Connect.

        Args:
            aeron: the client to use; without one an own client is made and closed with this.
            aeron_dir: the driver's directory, for an own client.
            idle: called with the work done while waiting.
            options: see ArchiveClientOptions: request_channel, response_channel and their stream
                ids, message_timeout (seconds), message_retry_attempts, name, credentials,
                on_challenge, on_signal, on_error, ...

        Raises:
            AeronTimeoutError: no archive answered.
            ArchiveError: the archive refused the session.
        """
        super().__init__(aeron, aeron_dir, options)
        self._use_idle(idle)
        try:
            self._session = self._carry_out(self._connecting())
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """End the session, and the client when it is an own one; recordings go on."""
        with self._lock:
            self._release()
