"""The archive clients (spec client 22, spec archive-protocol 21): one waits, the other is awaited.

Positions are bytes in the stream. An operation that has no answer in ``message_timeout`` raises
AeronTimeoutError, one that the archive refuses ArchiveError with its code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from aerolog.archive.client.caller import AwaitedCaller, AwaitedForm, WaitingCaller, WaitingForm
from aerolog.archive.client.operations import ArchiveOperations

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client import Aeron


class AeronArchive(ArchiveOperations, WaitingForm):
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
        self.caller = WaitingCaller(self.conversation.turn, idle, self.conversation.lock)
        try:
            self.caller.carry_out(self.conversation.connect())
        except BaseException:
            self.conversation.close()
            raise

    def close(self) -> None:
        """End the session, and the client when it is an own one; recordings go on."""
        with self.conversation.lock:
            self.conversation.close()


class AsyncAeronArchive(ArchiveOperations, AwaitedForm):
    """A session with an archive, for one event loop; see `AeronArchive` for the operations.

    Nothing here blocks the event loop but the making of a transport client, where none is given.
    Several requests may be under way at once; listings go one by one, as the archive wants them.

    Example:
        async with await AsyncAeronArchive.connect(aeron) as archive:
            async for recording in archive.recordings(): ...
    """

    def __init__(self, aeron: Aeron | None, aeron_dir: str | None, options: dict[str, Any]) -> None:
        """Use `connect`, which makes the session."""
        super().__init__(aeron, aeron_dir, options)
        self.caller = AwaitedCaller(self.conversation.turn, self.conversation.lock)

    @classmethod
    async def connect(
        cls, aeron: Aeron | None = None, *, aeron_dir: str | None = None, **options: Any
    ) -> Self:
        """Connect; arguments as `AeronArchive`, without ``idle``."""
        archive = cls(aeron, aeron_dir, options)
        try:
            await archive.caller.carry_out(archive.conversation.connect())
        except BaseException:
            archive.conversation.close()
            raise
        return archive

    async def close(self) -> None:
        """End the session, and the client when it is an own one; recordings go on."""
        self.conversation.close()
