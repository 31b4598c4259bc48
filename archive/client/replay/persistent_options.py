"""The options, states and events of a persistent subscription (spec client 24)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Self

from aerolog.archive.client.options import REPLAY_STREAM_ID, ArchiveClientOptions
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from typing import Any

FROM_START: Final = -1
FROM_LIVE: Final = -2


class PersistentSubscriptionState(IntEnum):
    """The states of a persistent subscription, numbered as in the reference's counter 114."""

    AWAIT_ARCHIVE_CONNECTION = 0
    SEND_LIST_RECORDING_REQUEST = 1
    AWAIT_LIST_RECORDING_RESPONSE = 2
    SEND_REPLAY_REQUEST = 3
    AWAIT_REPLAY_RESPONSE = 4
    ADD_REPLAY_SUBSCRIPTION = 5
    AWAIT_REPLAY_SUBSCRIPTION = 6
    AWAIT_REPLAY_CHANNEL_ENDPOINT = 7
    ADD_REQUEST_PUBLICATION = 8
    AWAIT_REQUEST_PUBLICATION = 9
    SEND_REPLAY_TOKEN_REQUEST = 10
    AWAIT_REPLAY_TOKEN = 11
    REPLAY = 12
    ATTEMPT_SWITCH = 13
    ADD_LIVE_SUBSCRIPTION = 14
    AWAIT_LIVE = 15
    LIVE = 16
    FAILED = 17


@dataclass(frozen=True, slots=True)
class ReplayStarted:
    """Messages come from the recording, from ``position`` on."""

    position: int


@dataclass(frozen=True, slots=True)
class LiveJoined:
    """Messages come from the live stream, from ``position`` on."""

    position: int


@dataclass(frozen=True, slots=True)
class LiveLeft:
    """The live stream is gone; what follows ``position`` comes from the recording."""

    position: int


@dataclass(frozen=True, slots=True)
class JoinTrouble:
    """An error of the subscription, which goes on unless the error ``is_fatal``."""

    error: Exception
    is_fatal: bool


JoinEvent = ReplayStarted | LiveJoined | LiveLeft | JoinTrouble


class PersistentSubscriptionListener:
    """A listener to override; polls call its methods after the state has changed."""

    def on_live_joined(self) -> None:
        """Messages come from the live stream now."""

    def on_live_left(self) -> None:
        """The live stream is gone; messages come from the recording again."""

    def on_error(self, error: Exception) -> None:
        """An error came up; the subscription may recover, or has failed (``has_failed``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentSubscriptionOptions:
    """The options of a persistent subscription, checked; ``of`` makes them.

    Attributes:
        recording_id: the recording to replay.
        start_position: a position at which a message begins, FROM_START or FROM_LIVE.
        live_channel: the channel of the live stream.
        live_stream_id: the stream id of the live stream and of the recording.
        replay_channel: the channel that the archive replays to.
        replay_stream_id: the stream id of the replays.
        archive: the options of the archive client.
    """

    recording_id: int
    start_position: int
    live_channel: str
    live_stream_id: int
    replay_channel: ChannelUri
    replay_stream_id: int
    archive: ArchiveClientOptions

    @classmethod
    def of(
        cls,
        *,
        recording_id: int,
        live_channel: str | ChannelUri,
        live_stream_id: int,
        start_position: int = FROM_LIVE,
        replay_channel: str | ChannelUri | None = None,
        replay_stream_id: int = REPLAY_STREAM_ID,
        **archive_options: Any,
    ) -> Self:
        """Check the options and fill in defaults.

        Raises:
            ConfigurationError: values that cannot be used.
        """
        archive = ArchiveClientOptions.of(**archive_options)
        if recording_id < 0:
            raise ConfigurationError(f"a recording id is not negative: {recording_id}")
        if start_position not in {FROM_START, FROM_LIVE} and (
            start_position < 0 or start_position % FRAME_ALIGNMENT
        ):
            raise ConfigurationError(
                f"start_position is FROM_START, FROM_LIVE or a position at which a message begins, "
                f"a multiple of {FRAME_ALIGNMENT}: not {start_position}"
            )
        ChannelUri.parse(live_channel)
        replay = ChannelUri.parse(
            archive.default_replay_channel if replay_channel is None else replay_channel
        )
        if replay.is_spy:
            raise ConfigurationError(f"an archive cannot replay to a spy: {replay}")
        request = ChannelUri.parse(archive.request_channel)
        if replay.has_control_mode_response and replay.media != request.media:
            raise ConfigurationError(
                f"a replay over a response channel uses the medium of the control channel: "
                f"{replay} with {request}"
            )
        return cls(
            recording_id=recording_id,
            start_position=start_position,
            live_channel=str(live_channel),
            live_stream_id=live_stream_id,
            replay_channel=replay.put("rejoin", "false"),
            replay_stream_id=replay_stream_id,
            archive=archive,
        )

    @property
    def is_live_local(self) -> bool:
        """Whether the live stream comes from the same driver."""
        channel = ChannelUri.parse(self.live_channel)
        return channel.is_ipc or channel.is_spy
