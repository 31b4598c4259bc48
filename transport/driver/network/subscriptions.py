"""UDP subscriptions as the conductor's control part sees them. Conductor only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.errors import ControlProtocolError, ErrorCode

if TYPE_CHECKING:
    from aerolog.transport.driver.clients import AeronClient
    from aerolog.transport.driver.network.parts import NetworkParts
    from aerolog.transport.network.udp_channel import UdpChannel
    from aerolog.transport.protocol.commands import (
        AddReceiveDestination,
        AddSubscription,
        RemoveReceiveDestination,
    )


class SubscriptionLink:
    """A client's subscription to a UDP stream.

    Attributes:
        client: owner.
        stream_id: listened to.
    """

    client: AeronClient
    stream_id: int


class Subscriptions:
    """All UDP subscriptions of a driver."""

    def __init__(self, parts: NetworkParts) -> None:
        self._parts = parts

    def add(self, command: AddSubscription, channel: UdpChannel) -> None:
        """Listen to a channel."""
        raise ControlProtocolError(
            ErrorCode.NOT_SUPPORTED,
            f"this driver does not receive yet: channel={channel.original} {command}",
        )

    def remove(self, registration_id: int) -> bool:
        """Listen no more; False when there is no subscription of that id."""
        return False

    def has(self, registration_id: int) -> bool:
        """Whether there is a subscription of that id."""
        return False

    def multi_destination(self, registration_id: int) -> SubscriptionLink:
        """The multi-destination subscription of that id.

        Raises:
            ControlProtocolError: there is none.
        """
        raise ControlProtocolError(
            ErrorCode.UNKNOWN_SUBSCRIPTION, f"unknown MDS subscription: {registration_id}"
        )

    def check_removable(self, registration_id: int) -> None:
        """Refuse the removal of a destination from what is no multi-destination subscription.

        Raises:
            ControlProtocolError: with the reference's text.
        """
        raise ControlProtocolError(
            ErrorCode.UNKNOWN_SUBSCRIPTION, f"unknown subscription: {registration_id}"
        )

    def add_destination(self, command: AddReceiveDestination, channel: UdpChannel) -> None:
        """Listen to one more channel."""

    def remove_destination(self, command: RemoveReceiveDestination, channel: UdpChannel) -> None:
        """Listen to a channel no more."""

    def on_response_setup(self, registration_id: int, session_id: int) -> None:
        """The other side answers a subscription by a session (spec cnc-and-commands 15.5)."""

    def close_of_gone_clients(self) -> None:
        """Close the subscriptions of clients that are gone, without a message."""

    def close(self) -> None:
        """Let go of all sockets; the receiver has ended."""
