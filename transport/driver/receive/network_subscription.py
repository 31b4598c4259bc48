"""UDP subscriptions as the conductor sees them (spec cnc-and-commands 15)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.network_params import NetworkSubscriptionParams
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.receive.publication_image import PublicationImage
    from aerolog.transport.driver.receive.receive_channel_endpoint import ReceiveChannelEndpoint
    from aerolog.transport.network.udp_channel import UdpChannel


@dataclass(slots=True, eq=False)
class NetworkSubscription:
    """A client's subscription to a stream of a receive channel endpoint.

    Attributes:
        registration_id: the correlation id of the command that added it.
        client: the client that owns it.
        stream_id: the stream that it subscribes to.
        channel: as the client wrote it.
        udp_channel: the same channel, resolved.
        params: the parameters of the channel.
        endpoint: the endpoint that receives the stream.
        session_id: the only session to match; None for any. A response subscription gets it when
            the other side has answered.
        images: maps images to the ids of position counters; -1 for an image that is gone for good
            because its untethered subscriber fell behind.
    """

    registration_id: int
    client: AeronClient
    stream_id: int
    channel: str
    udp_channel: UdpChannel
    params: NetworkSubscriptionParams
    endpoint: ReceiveChannelEndpoint
    session_id: int | None
    images: dict[PublicationImage, int] = field(default_factory=dict)

    def matches(self, endpoint: ReceiveChannelEndpoint, stream_id: int, session_id: int) -> bool:
        """Return whether it subscribes to a session of a stream of an endpoint."""
        if self.endpoint is not endpoint or self.stream_id != stream_id:
            return False
        if self.session_id is None:
            return not self.params.is_response
        return self.session_id == session_id

    @property
    def is_multi_destination(self) -> bool:
        """Whether clients add and remove its destinations by commands."""
        return self.endpoint.has_destinations

    @property
    def is_waiting(self) -> bool:
        """Whether it is a response subscription whose session is not known yet."""
        return self.params.is_response and self.session_id is None
