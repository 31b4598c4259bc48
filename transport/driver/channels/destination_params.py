"""Checks channels of destinations (spec channel-uri 16, spec wire-protocol 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.transport.driver.conductor.command_error import invalid_channel
from aerolog.transport.errors import ChannelUriError
from aerolog.transport.network.host_names import NULL_POINTER
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from aerolog.transport.uri import ChannelUri

_FORBIDDEN_KEYS: Final = (
    keys.MTU,
    keys.RCV_WND,
    keys.SO_RCVBUF,
    keys.SO_SNDBUF,
    keys.RESPONSE_CORRELATION_ID,
)
_ANY_PORT: Final = ":0"


def check_send_destination(uri: ChannelUri, original: str = "") -> None:
    """Check what no destination of any publication may have.

    An unknown host is accepted, because the driver resolves it again later.

    Args:
        uri: the parsed channel of the destination.
        original: the channel as the client wrote it.

    Raises:
        ControlProtocolError: with the reference's text.
    """
    original = original or str(uri)
    if uri.is_spy:
        raise invalid_channel(f"Aeron spies are invalid as send destinations: channel={original}")
    if uri.is_udp:
        _check_keys(uri, original)
    if (uri.get(keys.ENDPOINT) or "").endswith(_ANY_PORT):
        raise invalid_channel(f"endpoint has port=0 for send destination: channel={original}")


def send_destination_endpoint(uri: ChannelUri) -> str:
    """Return the endpoint of a destination's channel; its removal checks nothing more.

    Raises:
        ChannelUriError: the media is not UDP, or the endpoint is missing.
    """
    if not uri.is_udp:
        raise ChannelUriError(f"UdpChannel only supports UDP media: {uri}")
    endpoint = uri.get(keys.ENDPOINT)
    if endpoint is None:
        raise ChannelUriError(
            f"a send destination needs an endpoint: channel={uri}",
            reference_type=NULL_POINTER,
            reference_message="input string must not be null or empty",
        )
    return endpoint


def check_receive_destination(uri: ChannelUri, original: str = "") -> None:
    """Check the channel of a destination of a subscription; only UDP channels can be refused.

    Args:
        uri: the parsed channel of the destination.
        original: the channel as the client wrote it.

    Raises:
        ControlProtocolError: with the reference's text.
    """
    if uri.is_udp and not uri.is_spy:
        _check_keys(uri, original or str(uri))


def _check_keys(uri: ChannelUri, original: str) -> None:
    for key in _FORBIDDEN_KEYS:
        if key in uri:
            raise invalid_channel(
                f"destinations must not contain the key: {key} channel={original}"
            )
    if uri.has_control_mode_response:
        raise invalid_channel("destinations may not specify control-mode=response")
