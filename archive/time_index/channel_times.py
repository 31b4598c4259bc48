"""Times that channels put into messages."""

from __future__ import annotations

from typing import Final

from aerolog.archive.time_index.notes import TIME_OF_RESERVED
from aerolog.transport.config.values import INT32_MAX, whole_number
from aerolog.transport.errors import ChannelUriError
from aerolog.transport.uri import ChannelUri

_PARAMETERS: Final = ("channel-rcv-ts-offset", "media-rcv-ts-offset", "channel-snd-ts-offset")


def channel_time_offset(channel: str) -> int | None:
    """The place where a channel puts times into messages, None when it puts none.

    Args:
        channel: the channel as the client sent it.

    Returns:
        The offset in the payload, bytes, or TIME_OF_RESERVED for the reserved value.
    """
    try:
        uri = ChannelUri.parse(channel)
    except ChannelUriError:
        return None
    for name in _PARAMETERS:
        text = uri.get(name)
        if text in {"reserved", str(TIME_OF_RESERVED)}:
            return TIME_OF_RESERVED
        offset = None if text is None else whole_number(text, INT32_MAX)
        if offset is not None:
            return offset
    return None
