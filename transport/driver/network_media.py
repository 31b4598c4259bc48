"""Commands for channels that this driver has no sender and receiver for.

Syntax and ids are checked as the reference does; then the answer is NOT_SUPPORTED.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from aerolog.transport.errors import ChannelUriError, ControlProtocolError, ErrorCode
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.transport.driver.ipc_media import IpcMedia
    from aerolog.transport.protocol.commands import (
        AddDestination,
        AddReceiveDestination,
        RemoveDestination,
        RemoveDestinationById,
        RemoveReceiveDestination,
    )


class NetworkMedia:
    """Refuses network channels, spies and destinations."""

    def __init__(self, ipc: IpcMedia) -> None:
        self._ipc = ipc

    def add(self, channel: str) -> NoReturn:
        """Refuse a publication or subscription."""
        uri = ChannelUri.parse(channel)
        if not uri.is_udp:
            raise ChannelUriError(f"UdpChannel only supports UDP media: {uri}")
        raise ControlProtocolError(
            ErrorCode.NOT_SUPPORTED,
            f"this driver serves aeron:ipc only, UDP channels are not supported: channel={channel}",
        )

    def on_send_destination(
        self, command: AddDestination | RemoveDestination | RemoveDestinationById
    ) -> NoReturn:
        """Refuse a destination: there are no network publications."""
        raise ControlProtocolError(
            ErrorCode.UNKNOWN_PUBLICATION, f"unknown publication: {command.registration_id}"
        )

    def add_receive_destination(self, command: AddReceiveDestination) -> NoReturn:
        """Refuse a destination: there are no multi-destination subscriptions."""
        ChannelUri.parse(command.channel)
        raise ControlProtocolError(
            ErrorCode.UNKNOWN_SUBSCRIPTION, f"unknown MDS subscription: {command.registration_id}"
        )

    def remove_receive_destination(self, command: RemoveReceiveDestination) -> NoReturn:
        """Refuse the removal of a destination."""
        ChannelUri.parse(command.channel)
        if self._ipc.has_subscription(command.registration_id):
            raise ControlProtocolError(
                ErrorCode.INVALID_CHANNEL, "channel does not allow manual control"
            )
        raise ControlProtocolError(
            ErrorCode.UNKNOWN_SUBSCRIPTION, f"unknown subscription: {command.registration_id}"
        )
