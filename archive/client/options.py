"""What an archive client is told at connect, checked, and the channels made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.protocol import RecordingSignalEvent

REQUEST_STREAM_ID: Final = 10
RESPONSE_STREAM_ID: Final = 20
REPLAY_STREAM_ID: Final = 40
RECORDING_EVENTS_STREAM_ID: Final = 30
MAX_NAME_LENGTH: Final = 100
NS_PER_SECOND: Final = 1_000_000_000


@dataclass(slots=True, kw_only=True)
class ArchiveClientOptions:
    """Everything that ``AeronArchive`` takes, checked (spec archive-protocol 21.1).

    Attributes:
        request_channel: where the archive listens.
        response_channel: where it shall answer.
        message_timeout: seconds for one request, and for the whole of connecting.
        term_length: of both control streams, where their channels do not say.
        credentials: sent with the connect request.
        on_challenge: makes the answer to an archive that asks for proof.
        on_signal: called with each recording signal; it may not call the client.
        on_error: called with errors that belong to no request.
    """

    request_channel: str = "aeron:ipc"
    request_stream_id: int = REQUEST_STREAM_ID
    response_channel: str = "aeron:ipc"
    response_stream_id: int = RESPONSE_STREAM_ID
    message_timeout: float = 10.0
    term_length: int = 64 * 1024
    mtu: int = 1408
    sparse: bool = True
    name: str = ""
    credentials: bytes = b""
    on_challenge: Callable[[bytes], bytes] | None = None
    on_signal: Callable[[RecordingSignalEvent], object] | None = None
    on_error: Callable[[BaseException], object] | None = None
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        if len(self.name) > MAX_NAME_LENGTH:
            raise ConfigurationError(
                f"a client name has at most {MAX_NAME_LENGTH} characters, this one {len(self.name)}"
            )
        if not self.message_timeout > 0:
            raise ConfigurationError(
                f"message_timeout is a positive number of seconds, not {self.message_timeout!r}"
            )
        ChannelUri.parse(self.request_channel)
        ChannelUri.parse(self.response_channel)

    @property
    def message_timeout_ns(self) -> int:
        """Time for one request."""
        return round(self.message_timeout * NS_PER_SECOND)

    @property
    def is_response_mode(self) -> bool:
        """Whether the archive answers through a response channel."""
        return ChannelUri.parse(self.response_channel).has_control_mode_response

    def control_channels(self, session_id: int | None) -> tuple[ChannelUri, ChannelUri]:
        """Request and response channel with the parameters that they lack.

        Args:
            session_id: shared by both, so that clients can share an endpoint; None in response
                mode.
        """
        request, response = (
            self._with_defaults(ChannelUri.parse(channel))
            for channel in (self.request_channel, self.response_channel)
        )
        if session_id is not None:
            request = request.add_session_id(session_id)
            response = response.add_session_id(session_id)
        return request, response

    def _with_defaults(self, channel: ChannelUri) -> ChannelUri:
        defaults = {
            "term-length": str(self.term_length),
            "mtu": str(self.mtu),
            "sparse": "true" if self.sparse else "false",
        }
        for key, value in defaults.items():
            if key not in channel:
                channel = channel.put(key, value)
        return channel
