"""UDP publications as the conductor's control part sees them (spec cnc-and-commands 14)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerolog.transport.driver.conductor.driver_publication import DriverPublication
from aerolog.transport.driver.conductor.driver_stream import ACTIVE, DRAINING

if TYPE_CHECKING:
    from aerolog.transport.driver.flow_control.flow_control import FlowControl
    from aerolog.transport.driver.send.send_channel_endpoint import SendChannelEndpoint
    from aerolog.transport.driver.send.send_stream import SendStream


@dataclass(slots=True, eq=False, kw_only=True)
class NetworkPublication(DriverPublication):
    """One log that the sender sends; its images are those of its spies.

    Attributes:
        endpoint: the endpoint that sends it.
        flow_control: decides how far the sender may send; the sender owns it, but the conductor
            reads errors of strategies written in Python.
        stream: the native part, which the conductor and the sender work on.
        since_ns: the monotonic time at which it was made, or has begun to linger.
        rejections: the first few reasons of receivers that rejected it.
    """

    endpoint: SendChannelEndpoint
    flow_control: FlowControl
    stream: SendStream
    since_ns: int
    rejections: set[str] = field(default_factory=set)

    @property
    def media(self) -> str:
        """The media that session ids belong to: the canonical form of the channel."""
        return self.endpoint.channel.canonical_form

    @property
    def channel_status_id(self) -> int:
        """The counter of its endpoint's status."""
        return self.endpoint.status_id

    @property
    def accepts_subscribers(self) -> bool:
        """Whether a new spy may join."""
        stream = self.stream
        if stream.state == ACTIVE:
            return True
        return (
            stream.state == DRAINING
            and stream.subscribers.counting > 0
            and stream.publisher_position > stream.sender_position
        )
