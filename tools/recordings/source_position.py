"""Asks the archive that a replication comes from how far its recording is."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

from aerolog.archive.client import ArchiveClientOptions, ArchiveConnection, request
from aerolog.tools.connection.deadlines import Every
from aerolog.transport.errors import AerologError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.archive.client.client_session import ControlSession, PendingRequest
    from aerolog.archive.credentials import CredentialsSupplier
    from aerolog.transport.client import Aeron

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
    """A session with the source archive that never makes anybody wait, and may never come about."""

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
            recording_id: to ask about.
            channel: of the archive's control requests.
            stream_id: of the archive's control requests.
            timeout: seconds to connect in, and for an answer.
            credentials: for the archive.
        """
        self._aeron = aeron
        self._recording_id = recording_id
        self._session: ControlSession | None = None
        self._asking: PendingRequest[int | None] | None = None
        self._asks = Every(_ASK_EVERY_S)
        self._position: int | None = None
        self._connection: ArchiveConnection | None = None
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
            self._connection = ArchiveConnection(aeron, options)

    def poll(self) -> int | None:
        """Does what can be done now; the position known last."""
        try:
            self._turn()
        except AerologError:
            # Without it there is no remaining time to show, which is all that is lost.
            self.close()
        return self._position

    def close(self) -> None:
        """Ends the session."""
        if self._session is not None:
            self._session.close()
        if self._connection is not None:
            self._connection.close()
        self._session = self._connection = self._asking = None

    def _turn(self) -> None:
        if self._connection is not None:
            self._session = self._connection.poll()
            if self._session is not None:
                self._connection = None
        session = self._session
        if session is None:
            return
        if self._asking is None and self._asks.is_due():
            call = request.ask_position("max recorded position", self._recording_id)
            self._asking = session.begin(call, self._aeron.next_correlation_id())
        session.pump()
        if self._asking is not None and self._asking.done:
            asked, self._asking = self._asking, None
            session.forget(asked)
            self._position = asked.result()


def response_channel_for(channel: str) -> str | None:
    """Where an archive can answer that is asked on a channel, None when this cannot tell."""
    uri = ChannelUri.parse(channel)
    if uri.is_ipc:
        return "aeron:ipc"
    host, _, port = (uri.get("endpoint") or "").rpartition(":")
    if not host or not port.isdigit():
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
