"""UDP subscriptions as the conductor sees them (spec cnc-and-commands 15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.transport.driver.conductor.subscription_links import SubscriptionLink
from aerolog.transport.driver.receive.publication_image import PublicationImage

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.network_params import NetworkSubscriptionParams
    from aerolog.transport.driver.receive.receive_channel_endpoint import ReceiveChannelEndpoint
    from aerolog.transport.network.udp_channel import UdpChannel


@dataclass(slots=True, eq=False, kw_only=True)
class NetworkSubscription(SubscriptionLink[PublicationImage]):
    """A client's subscription to a stream of a receive channel endpoint.

    Attributes:
        udp_channel: the channel, resolved.
        endpoint: the endpoint that receives the stream.
    """

    params: NetworkSubscriptionParams
    udp_channel: UdpChannel
    endpoint: ReceiveChannelEndpoint

    def matches(self, endpoint: ReceiveChannelEndpoint, stream_id: int, session_id: int) -> bool:
        """Return whether it subscribes to a session of a stream of an endpoint."""
        return (
            self.endpoint is endpoint
            and self.stream_id == stream_id
            and self.matches_session(session_id)
        )

    @property
    def is_multi_destination(self) -> bool:
        """Whether clients add and remove its destinations by commands."""
        return self.endpoint.has_destinations

    @property
    def is_waiting(self) -> bool:
        """Whether it is a response subscription whose session is not known yet."""
        return self.params.is_response and self.session_id is None
