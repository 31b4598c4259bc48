"""The contents of the three kinds of replicate request (spec archive-protocol 15.1).

This module also builds the channels of a replication: the one that the destination subscribes to,
and the one that the source is asked to replay to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from aerolog.archive import protocol as ap
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode
from aerolog.transport.uri import ChannelUri

Request = ap.ReplicateRequest | ap.TaggedReplicateRequest | ap.ReplicateRequest2


@dataclass(frozen=True, slots=True)
class ReplicationOrder:
    """The parameters of one replication.

    Attributes:
        src_recording_id: id of the recording to copy, in the source.
        src_control_channel: the source's control channel, with src_control_stream_id.
        src_response_channel: channel for the source's answers; empty for the archive's default.
        dst_recording_id: id of the recording to continue, -1 for a new one.
        stop_position: position at which to end, -1 for the end of the source's recording.
        tags: tags of channel and subscription, -1 for none.
        live_destination: channel of the live stream to join after catching up; empty for none.
        replication_channel: channel that the source replays to.
        file_io_max_length: most bytes in a read of the source, -1 for its own limit.
        replication_session_id: session id of the replay, -1 for that of the source's recording.
        credentials: credentials for the source.
    """

    src_recording_id: int
    src_control_channel: str
    src_control_stream_id: int
    src_response_channel: str
    dst_recording_id: int
    stop_position: int
    tags: tuple[int, int]
    live_destination: str
    replication_channel: ChannelUri
    file_io_max_length: int
    replication_session_id: int
    credentials: bytes = field(repr=False)

    @classmethod
    def of(cls, request: Request, default_channel: str | None) -> Self:
        """Return the order that a request contains.

        Args:
            request: a request of any of the three kinds.
            default_channel: replication channel for requests that have none.

        Raises:
            ArchiveError: the request contradicts itself, or there is no replication channel.
            ChannelUriError: the replication channel cannot be parsed.
        """
        tags = (
            getattr(request, "channel_tag_id", ap.NULL_VALUE),
            getattr(request, "subscription_tag_id", ap.NULL_VALUE),
        )
        text = getattr(request, "replication_channel", "") or default_channel
        if not text:
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                "nothing says where to replay to: the request has no replication channel, nor has"
                " the archive (aeron.archive.replication.channel)",
            )
        channel = ChannelUri.parse(text)
        if channel.has_control_mode_response:
            if request.live_destination:
                _refuse("response channels can't be used with live destinations")
            if tags != (ap.NULL_VALUE, ap.NULL_VALUE):
                _refuse("response channels can't be used with tagged replication")
        return cls(
            src_recording_id=request.src_recording_id,
            src_control_channel=request.src_control_channel,
            src_control_stream_id=request.src_control_stream_id,
            src_response_channel=getattr(request, "src_response_channel", ""),
            dst_recording_id=request.dst_recording_id,
            stop_position=getattr(request, "stop_position", ap.NULL_POSITION),
            tags=tags,
            live_destination=request.live_destination,
            replication_channel=channel,
            file_io_max_length=getattr(request, "file_io_max_length", ap.NULL_LENGTH),
            replication_session_id=getattr(request, "replication_session_id", ap.NULL_VALUE),
            credentials=getattr(request, "encoded_credentials", b""),
        )

    @property
    def is_live(self) -> bool:
        """Whether the copy joins the live stream."""
        return bool(self.live_destination)

    @property
    def is_over_response(self) -> bool:
        """Whether the replay comes over a response channel."""
        return self.replication_channel.has_control_mode_response

    @property
    def has_destinations(self) -> bool:
        """Whether the subscription gets its streams by destinations."""
        return self.is_live or self.tags != (ap.NULL_VALUE, ap.NULL_VALUE)

    def session_id_of(self, recorded_session_id: int) -> int:
        """Return the replay's session id, given that of the source's recording."""
        if self.is_live or self.replication_session_id == ap.NULL_VALUE:
            return recorded_session_id
        return self.replication_session_id

    def recording_channel(self, session_id: int, replication_id: int) -> str:
        """Return the channel that the destination subscribes to (spec archive-protocol 15.4)."""
        channel = self.replication_channel.put("rejoin", "false")
        if not self.is_over_response:
            channel = channel.add_session_id(session_id)
        if self.has_destinations:
            tags = (replication_id if tag == ap.NULL_VALUE else tag for tag in self.tags)
            channel = (
                channel.remove("endpoint")
                .put("tags", ",".join(str(tag) for tag in tags))
                .put("control-mode", "manual")
            )
        return str(channel)

    def replay_destination(self) -> str:
        """Return the destination on which a subscription with destinations receives the replay."""
        endpoint = self.replication_channel.get("endpoint", "")
        return str(self.replication_channel.create_destination(endpoint))

    def replay_channel(self, session_id: int, endpoint: str, subscription_id: int) -> str:
        """Return the channel that the source replays to (spec archive-protocol 15.5).

        Args:
            session_id: session id of the replay.
            endpoint: endpoint at which the destination listens.
            subscription_id: id of the destination's recording subscription.
        """
        channel = self.replication_channel
        if self.is_over_response:
            return str(channel.put("response-correlation-id", str(subscription_id)))
        channel = channel.replace_endpoint_wildcard_port(endpoint).add_session_id(session_id)
        if self.is_live:
            channel = channel.put("linger", "0").put("eos", "false")
        return str(channel)


def _refuse(text: str) -> None:
    raise ArchiveError(ArchiveErrorCode.GENERIC, text)
