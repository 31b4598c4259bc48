"""The fields of requests that hold a channel which the archive is about to use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol.recording_requests import (
    ExtendRecordingRequest,
    ExtendRecordingRequest2,
    StartRecordingRequest,
    StartRecordingRequest2,
)
from aerolog.archive.protocol.replay_requests import BoundedReplayRequest, ReplayRequest
from aerolog.archive.protocol.replication_requests import (
    ReplicateRequest,
    ReplicateRequest2,
    TaggedReplicateRequest,
)
from aerolog.archive.protocol.storage_requests import UpdateChannelRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.protocol import Message

_REPLICATED: Final = ("src_control_channel", "live_destination")
_FIELDS: Final[dict[type[Message], tuple[str, ...]]] = {
    StartRecordingRequest: ("channel",),
    StartRecordingRequest2: ("channel",),
    ExtendRecordingRequest: ("channel",),
    ExtendRecordingRequest2: ("channel",),
    UpdateChannelRequest: ("channel",),
    ReplayRequest: ("replay_channel",),
    BoundedReplayRequest: ("replay_channel",),
    ReplicateRequest: _REPLICATED,
    TaggedReplicateRequest: _REPLICATED,
    ReplicateRequest2: (*_REPLICATED, "replication_channel", "src_response_channel"),
}


def request_channels(request: Message) -> Iterator[str]:
    """The channels in a request that the archive is about to use."""
    for field in _FIELDS.get(type(request), ()):
        yield getattr(request, field)
