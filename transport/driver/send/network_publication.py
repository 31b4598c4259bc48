"""UDP publications as the conductor's control part sees them (spec cnc-and-commands 14)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerolog.transport.driver.conductor.subscription_links import LOCAL_SOURCE
from aerolog.transport.driver.send.send_stream import ACTIVE, DRAINING

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams, StartPosition
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.flow_control.flow_control import FlowControl
    from aerolog.transport.driver.logs.log_store import LogFile
    from aerolog.transport.driver.send.send_channel_endpoint import SendChannelEndpoint
    from aerolog.transport.driver.send.send_stream import SendStream


@dataclass(slots=True, eq=False)
class NetworkPublication:
    """One log that the sender sends, with its counters, shared by publication links.

    Attributes:
        registration_id: correlation id of the command that made it; names its log and the images
            of its spies.
        client_id: of the client that made it.
        stream_id: published to.
        session_id: of the publication.
        channel: as the client wrote it.
        params: of the channel.
        is_exclusive: one link only, never shared.
        start: where it began.
        endpoint: that it is sent by.
        flow_control: how far the sender may go; the sender's, but for the errors of Python ones.
        limit_id: counter of the publication limit.
        counter_ids: all its counters, in the order in which they were allocated; those of spies
            that it has ended for come last.
        log: the log's file.
        stream: what conductor and sender do with it, native.
        since_ns: when its state was entered, by the monotonic clock.
        rejections: what receivers have said when they rejected it, the first few.
    """

    registration_id: int
    client_id: int
    stream_id: int
    session_id: int
    channel: str
    params: PublicationParams
    is_exclusive: bool
    start: StartPosition
    endpoint: SendChannelEndpoint
    flow_control: FlowControl
    limit_id: int
    counter_ids: list[int]
    log: LogFile
    stream: SendStream
    since_ns: int
    rejections: set[str] = field(default_factory=set)

    @property
    def image_id(self) -> int:
        """Names its images."""
        return self.registration_id

    @property
    def source_identity(self) -> str:
        """Where its images come from."""
        return LOCAL_SOURCE

    @property
    def media(self) -> str:
        """What its session is told apart by."""
        return self.endpoint.channel.canonical_form

    @property
    def accepts_spies(self) -> bool:
        """Whether a new spy may join."""
        stream = self.stream
        if stream.state == ACTIVE:
            return True
        return (
            stream.state == DRAINING
            and stream.spies.counting > 0
            and stream.publisher_position > stream.sender_position
        )


@dataclass(slots=True, eq=False)
class NetworkPublicationLink:
    """A client's hold on a publication.

    Attributes:
        registration_id: correlation id of the command that added it.
        client: owner.
        publication: shared with other links, or exclusive.
    """

    registration_id: int
    client: AeronClient
    publication: NetworkPublication
