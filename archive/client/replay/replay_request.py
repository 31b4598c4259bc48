"""Channels of replays: for one session, over a response channel (spec archive-protocol 11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from aerolog.archive.client import request
from aerolog.archive.client.connection import give_up
from aerolog.archive.protocol import NULL_VALUE, REPLAY_ALL_AND_FOLLOW, REPLAY_ALL_AND_STOP
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from types import TracebackType

    from aerolog.archive.client.client_session import ControlSession
    from aerolog.archive.client.options import ArchiveClientOptions
    from aerolog.archive.client.request import Call, Channel
    from aerolog.transport.client import Aeron, ExclusivePublication, Subscription

REQUEST_TERM_LENGTH: Final = "65536"
NOT_FOR_A_REPLAY_REQUEST: Final = ("session-id", "init-term-id", "term-id", "term-offset")


def image_session_id(replay_session_id: int) -> int:
    """Session id of a replay's image: the low 32 bits, signed."""
    low = replay_session_id & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def replay_length(length: int | None, *, follow: bool) -> int:
    """The length that a replay request carries."""
    if length is not None:
        return length
    return REPLAY_ALL_AND_FOLLOW if follow else REPLAY_ALL_AND_STOP


@dataclass(frozen=True, slots=True)
class ReplayParams:
    """What is to be replayed, wherever it goes.

    Attributes:
        recording_id: which recording.
        position: where to begin; None is its start.
        length: bytes, or one of the lengths that mean all.
        limit_counter_id: a counter whose value the replay does not pass.
        file_io_max_length: bytes that the archive reads at once.
    """

    recording_id: int
    position: int | None
    length: int
    limit_counter_id: int | None = None
    file_io_max_length: int | None = None

    def call(self, channel: Channel, stream_id: int, token: int = NULL_VALUE) -> Call[int]:
        """The request for a replay to a channel and stream."""
        return request.start_replay(
            self.recording_id,
            channel,
            stream_id,
            self.position,
            self.length,
            limit_counter_id=self.limit_counter_id,
            file_io_max_length=self.file_io_max_length,
            replay_token=token,
        )


class ReplayChannel:
    """The channel that a replay is asked for on."""

    def __init__(self, channel: str | ChannelUri) -> None:
        self._uri = ChannelUri.parse(channel)

    @property
    def is_response_mode(self) -> bool:
        """Whether the replay comes back over a response channel."""
        return self._uri.has_control_mode_response

    @property
    def has_wildcard_port(self) -> bool:
        """Whether the system chooses the port that the replay comes to."""
        return (
            self._uri.is_udp
            and self._uri.get("endpoint", "").endswith(":0")
            and self._uri.get("control-mode") != "manual"
        )

    def with_session(self, session_id: int) -> str:
        """The channel for a session, unless it names one."""
        if "session-id" in self._uri:
            return str(self._uri)
        return str(self._uri.add_session_id(session_id))

    def for_session(self, replay_session_id: int) -> str:
        """The channel to subscribe to for one replay and no other."""
        return str(self._uri.add_session_id(image_session_id(replay_session_id)))

    def __str__(self) -> str:
        return str(self._uri)


def request_publication_channel(options: ArchiveClientOptions, subscription_id: int) -> str:
    """The channel of the publication that carries a replay request with a token."""
    channel = options.control_channels(None)[0].remove(*NOT_FOR_A_REPLAY_REQUEST)
    changes = {
        "response-correlation-id": str(subscription_id),
        "ssc": "false",
        "term-length": REQUEST_TERM_LENGTH,
    }
    for key, value in changes.items():
        channel = channel.put(key, value)
    return str(channel)


class ReplayOverResponse:
    """Asks for a replay on a publication of its own, to which the archive answers with the replay.

    `poll` never waits. The publication is closed at the end; the replay does not need it.
    """

    def __init__(
        self,
        aeron: Aeron,
        session: ControlSession,
        subscription: Subscription,
        call: Call[int],
    ) -> None:
        self._session = session
        self._pending = session.begin(call, aeron.next_correlation_id(), sent=True)  # by us
        self._sent = False
        channel = request_publication_channel(session.options, subscription.registration_id)
        self._adding = aeron.add_exclusive_publication_async(
            channel, session.options.request_stream_id
        )
        self._publication: ExclusivePublication | None = None

    def poll(self) -> bool:
        """Do what can be done now; True when the archive has agreed.

        Raises:
            ArchiveError: the archive refused.
            AeronTimeoutError: no answer within the message timeout.
        """
        if self._publication is None and self._adding.done():
            self._publication = self._adding.result(0)
        if not self._sent and self._publication is not None:
            ready = self._publication.is_connected and self._publication.available_window > 0
            self._sent = ready and self._publication.offer(self._pending.request) > 0
        self._session.pump()
        if self._pending.done:
            self._pending.result()
        return self._pending.done

    def result(self) -> int:
        """The replay session id, when the archive has agreed."""
        return self._pending.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.forget(self._pending)
        give_up(self._adding)
