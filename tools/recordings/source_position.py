"""Asks the archive that a replication comes from how far its recording is."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

from aerolog.archive.client import ArchiveClientOptions, request
from aerolog.archive.client.conversation import Conversation
from aerolog.transport.concurrent.deadline import Interval
from aerolog.transport.config.values import whole_number
from aerolog.transport.errors import AerologError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.credentials import CredentialsSupplier

_ASK_EVERY_S: Final = 1.0


class SourceEnd:
    """How far a replication will get: to a position of one's own, or as far as the source is."""

    def __init__(self, archive: SourceArchive, stop_position: int | None) -> None:
        self._archive = archive
        self._stop_position = stop_position

    def poll(self) -> int | None:
        """The position, None while nobody knows."""
        return self._archive.poll() if self._stop_position is None else self._stop_position


class SourceArchive:
    """A conversation with the source archive that makes nobody wait, and may never come about."""

    def __init__(
        self,
        aeron: Aeron,
        recording_id: int,
        channel: str,
        stream_id: int,
        *,
        timeout: float,
        credentials: bytes | CredentialsSupplier = b"",
    ) -> None:
        """Begins to connect.

        Args:
            aeron: the client to use.
            recording_id: the recording to ask about.
            channel: where the archive takes requests.
            stream_id: the stream of the requests.
            timeout: seconds to connect in, and for an answer.
            credentials: for the archive.
        """
        self._recording_id = recording_id
        self._position: int | None = None
        self._conversation: Conversation | None = None
        response = response_channel_for(channel)
        if response is not None:
            options = ArchiveClientOptions.of(
                request_channel=channel,
                request_stream_id=stream_id,
                response_channel=response,
                message_timeout=timeout,
                credentials=credentials,
                name="aerolog",
            )
            self._conversation = Conversation(aeron, options)
            self._steps = self._follow(self._conversation)

    def poll(self) -> int | None:
        """Does what can be done now and returns the position known last, None before the first."""
        if self._conversation is not None:
            try:
                next(self._steps)
            except AerologError:
                # Without it there is no remaining time to show, which is all that is lost.
                self.close()
        return self._position

    def close(self) -> None:
        """Ends the conversation."""
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            self._steps.close()
            conversation.close()

    def _follow(self, conversation: Conversation) -> Steps[None]:
        yield from conversation.connect()
        call = request.ask_position("max recorded position", self._recording_id)
        interval = Interval(_ASK_EVERY_S)
        while True:
            if interval.is_due():
                self._position = yield from conversation.ask(call)
            yield conversation.pump()


def response_channel_for(channel: str) -> str | None:
    """Where an archive can answer that is asked on a channel, None when this cannot tell."""
    uri = ChannelUri.parse(channel)
    if uri.is_ipc:
        return "aeron:ipc"
    host, _, port = (uri.get("endpoint") or "").rpartition(":")
    if not host or whole_number(port) is None:
        return None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), int(port), type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)  # sends nothing: the system picks the way, and our address on it
            own = probe.getsockname()[0]
    except OSError:
        return None
    return f"aeron:udp?endpoint={f'[{own}]' if ':' in own else own}:0"
