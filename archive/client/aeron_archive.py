"""The archive clients (spec client 22, spec archive-protocol 21): one waits, the other is awaited.

Positions are bytes in the stream. An operation raises AeronTimeoutError when no answer comes within
``message_timeout``, and ArchiveError with the archive's error code when the archive refuses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from aerolog.archive.client.operations import ArchiveOperations
from aerolog.transport.client.aio import AsyncAeron
from aerolog.transport.client.steps.awaited_caller import AwaitedCaller
from aerolog.transport.client.steps.caller import (
    AwaitedForm,
    SteppedCaller,
    SteppedForm,
    WaitingCaller,
    WaitingForm,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client import Aeron
    from aerolog.transport.client.steps.caller import Steps


class AeronArchive(ArchiveOperations, WaitingForm):
    """A session with an archive. Any thread may call it; calls are carried out one at a time.

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
        """Connect to an archive.

        Args:
            aeron: the transport client to use. Without one the session makes its own, which it
                closes at its end.
            aeron_dir: the driver's directory, for a transport client that the session makes.
            idle: called while waiting, with the number of things done since the last call.
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
        """End the session, and close the transport client if this one made it; recordings go on."""
        with self.conversation.lock:
            self.conversation.close()


class AsyncAeronArchive(ArchiveOperations, AwaitedForm):
    """A session with an archive, for one event loop; see `AeronArchive` for the operations.

    Only the making of a transport client, where none is given, blocks the event loop. Several
    requests may be under way at once; an archive takes only one listing at a time.

    Example:
        async with await AsyncAeron.connect() as aeron:
            async with await AsyncAeronArchive.connect(aeron) as archive:
                async for recording in archive.recordings(): ...
    """

    def __init__(self, aeron: Aeron | None, aeron_dir: str | None, options: dict[str, Any]) -> None:
        """Prepare a client without a session; `connect` makes both."""
        super().__init__(aeron, aeron_dir, options)
        self.caller = AwaitedCaller(self.conversation.turn, self.conversation.lock)

    @classmethod
    async def connect(
        cls,
        aeron: Aeron | AsyncAeron | None = None,
        *,
        aeron_dir: str | None = None,
        **options: Any,
    ) -> Self:
        """Connect to an archive; the arguments are those of `AeronArchive`, without ``idle``.

        ``aeron`` may be a client for asyncio as well.
        """
        client = aeron.aeron if isinstance(aeron, AsyncAeron) else aeron
        archive = cls(client, aeron_dir, options)
        try:
            await archive.caller.carry_out(archive.conversation.connect())
        except BaseException:
            archive.conversation.close()
            raise
        return archive

    async def close(self) -> None:
        """End the session, and close the transport client if this one made it; recordings go on."""
        self.conversation.close()


class SteppedArchive(ArchiveOperations, SteppedForm):
    """A session with an archive for an agent that must not wait: each operation gives its steps.

    Example:
        archive = SteppedArchive(aeron)
        yield from archive.connect()
        position = yield from archive.stop_position(recording_id)
    """

    def __init__(self, aeron: Aeron, **options: Any) -> None:
        """Prepare a client without a session; the options are those of `AeronArchive`."""
        super().__init__(aeron, None, options)
        self.caller = SteppedCaller(self.conversation.turn, self.conversation.lock)

    def connect(self) -> Steps[None]:
        """Make the session.

        Raises:
            AeronTimeoutError: no archive answered.
            ArchiveError: the archive refused the session.
        """
        return self.conversation.connect()

    def close(self) -> None:
        """End the session."""
        self.conversation.close()
