"""Channels of replays: for one session, over a response channel (spec archive-protocol 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.archive.client.options import ArchiveClientOptions

REQUEST_TERM_LENGTH: Final = "65536"
NOT_FOR_A_REPLAY_REQUEST: Final = ("session-id", "init-term-id", "term-id", "term-offset")


def image_session_id(replay_session_id: int) -> int:
    """Session id of a replay's image: the low 32 bits, signed."""
    low = replay_session_id & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


class ReplayChannel:
    """The channel that a replay is asked for on."""

    def __init__(self, channel: str | ChannelUri) -> None:
        self._uri = ChannelUri.parse(channel)

    @property
    def is_response_mode(self) -> bool:
        """Whether the replay comes back over a response channel."""
        return self._uri.has_control_mode_response

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
