"""The offset of kernel receive timestamps: ``media-rcv-ts-offset`` (spec wire-protocol 16).

The reference's C driver accepts the parameter, and its Java driver refuses it. This driver accepts
it unless ``aeron.media.receive.timestamps`` is false.
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
    """Return the kernel timestamp's offset in the payload; -1: none, -8: the reserved value.

    Raises:
        ChannelUriError: the offset is neither a number nor ``reserved``.
    """
    return parse_timestamp_offset(channel.uri, keys.MEDIA_RCV_TS_OFFSET)


def check_media_receive_timestamps(channel: UdpChannel, settings: Settings) -> None:
    """Refuse a subscription that asks for media timestamps which the driver cannot give.

    Raises:
        ControlProtocolError: they are switched off, or would overlap the channel timestamps.
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
