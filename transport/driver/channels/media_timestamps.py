"""Where receive timestamps of the kernel go: ``media-rcv-ts-offset`` (spec wire-protocol 16).

The reference's C driver takes the parameter, its Java driver refuses it. This one does as the first
unless ``aeron.media.receive.timestamps`` is false.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.transport.driver.conductor.command_error import invalid_channel
from aerolog.transport.driver.properties import MEDIA_RECEIVE_TIMESTAMPS
from aerolog.transport.network.udp_channel import NO_OFFSET, parse_timestamp_offset
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.network.udp_channel import UdpChannel

_TIMESTAMP_LENGTH: Final = 8


def media_receive_timestamp_offset(channel: UdpChannel) -> int:
    """Where in the payload the kernel's timestamp goes; -1 for nowhere, -8 for the reserved value.

    Raises:
        ChannelUriError: it is neither a number nor ``reserved``.
    """
    return parse_timestamp_offset(channel.uri, keys.MEDIA_RCV_TS_OFFSET)


def check_media_receive_timestamps(channel: UdpChannel, settings: Settings) -> None:
    """Refuse a subscription whose media timestamps cannot be had.

    Raises:
        ControlProtocolError: they are not switched on, or would overlap the channel's.
        ChannelUriError: the offset is neither a number nor ``reserved``.
    """
    if keys.MEDIA_RCV_TS_OFFSET not in channel.uri:
        return
    if not settings[MEDIA_RECEIVE_TIMESTAMPS]:
        raise invalid_channel(
            "Media timestamps 'media-rcv-ts-offset' are not supported in the Java driver: "
            f"channel={channel.original}"
        )
    media = media_receive_timestamp_offset(channel)
    other = channel.channel_receive_timestamp_offset
    if other != NO_OFFSET and abs(media - other) < _TIMESTAMP_LENGTH:
        raise invalid_channel(
            f"{keys.MEDIA_RCV_TS_OFFSET} and {keys.CHANNEL_RCV_TS_OFFSET} overlap: "
            f"channel={channel.original}"
        )
