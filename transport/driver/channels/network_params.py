"""Reads and checks the parameters of UDP channels (spec channel-uri 13, 14).

``channel_params`` has the parameters that IPC and UDP share. The checks have the reference's
order: the first failure wins, and its text is the reference's.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

from aerolog.transport.config.definition import Infer
from aerolog.transport.config.values import parse_bool
from aerolog.transport.driver import properties
from aerolog.transport.driver.channels.channel_params import (
    NULL_VALUE,
    PROTOTYPE_CORRELATION_ID,
    TERM_MIN_LENGTH,
    MediaDefaults,
    PublicationLookups,
    PublicationParams,
    SubscriptionParams,
    ipc_subscription_params,
    max_message_length,
    publication_params,
    untethered_timeouts,
)
from aerolog.transport.driver.channels.media_timestamps import check_media_receive_timestamps
from aerolog.transport.driver.conductor.command_error import (
    ILLEGAL_ARGUMENT,
    ILLEGAL_STATE,
    generic,
)
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.udp_channel import ControlMode
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.network.udp_channel import UdpChannel

TTL_MAX: Final = 255
_TAG_LENGTH: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSubscriptionParams(SubscriptionParams):
    """The parameters of a UDP subscription's channel, with the driver's defaults filled in.

    Attributes:
        receiver_window_length: bytes, at most half the configured term length; an image's
            window is also at most half the length of its terms.
        group: whether receivers are members of a group; INFER leaves that to channel and setup.
    """

    receiver_window_length: int
    group: Infer
    untethered_window_limit_timeout_ns: int
    untethered_linger_timeout_ns: int
    untethered_resting_timeout_ns: int


def network_publication_params(
    channel: UdpChannel, stream_id: int, settings: Settings, lookups: PublicationLookups
) -> PublicationParams:
    """Read and check the channel of a UDP publication (spec channel-uri 13.1 to 13.17).

    Raises:
        ControlProtocolError: with code and text of the first check that fails.
        ConfigurationError: a size or duration that does not parse.
    """
    defaults = MediaDefaults(
        "a network publication",
        settings[properties.TERM_BUFFER_LENGTH],
        settings[properties.MTU_LENGTH],
        settings[properties.PUBLICATION_TERM_WINDOW_LENGTH],
    )
    params = publication_params(channel.uri, stream_id, settings, lookups, defaults)
    if (
        channel.has_explicit_endpoint
        and channel.remote_data.port == 0
        and not channel.is_multi_destination
    ):
        raise generic(
            ILLEGAL_ARGUMENT, f"endpoint has port=0 for publication: channel={channel.original}"
        )
    if (
        channel.has_explicit_control
        and not channel.has_explicit_endpoint
        and channel.control_mode is ControlMode.NONE
    ):
        raise generic(
            ILLEGAL_ARGUMENT,
            "'control' parameter requires that either 'endpoint' or 'control-mode' is specified, "
            f"channel={channel.original}",
        )
    if params.is_response and params.response_correlation_id == PROTOTYPE_CORRELATION_ID:
        return _shortest_log(params)
    return params


def check_response_publication(channel: UdpChannel, params: PublicationParams) -> None:
    """Refuse a response publication whose channel names no image (spec channel-uri 13.21).

    Raises:
        CommandError: with the reference's text.
    """
    if channel.control_mode is ControlMode.RESPONSE and (
        params.response_correlation_id == NULL_VALUE
    ):
        raise generic(
            ILLEGAL_ARGUMENT,
            "control-mode=response was specified, but no response-correlation-id set",
        )


def network_subscription_params(
    channel: UdpChannel, settings: Settings
) -> NetworkSubscriptionParams:
    """Read and check the channel of a UDP subscription or spy (spec channel-uri 14).

    Raises:
        ControlProtocolError: with code and text of the first check that fails.
        ConfigurationError: a number, size or duration that does not parse.
    """
    uri = channel.uri
    if not uri.is_spy:
        if channel.has_explicit_control and channel.local_control.port == 0:
            raise generic(
                ILLEGAL_ARGUMENT,
                f"control has port=0 for subscription: channel={channel.original}",
            )
        check_media_receive_timestamps(channel, settings)
    shared = ipc_subscription_params(uri, settings)
    window_length = channel.receiver_window_length or settings[properties.RCV_INITIAL_WINDOW_LENGTH]
    window_limit_ns, linger_ns, resting_ns = untethered_timeouts(uri, settings)
    return NetworkSubscriptionParams(
        **asdict(shared),
        receiver_window_length=min(window_length, settings[properties.TERM_BUFFER_LENGTH] // 2),
        group=_group(uri.get(keys.GROUP), settings[properties.RECEIVER_GROUP_CONSIDERATION]),
        untethered_window_limit_timeout_ns=window_limit_ns,
        untethered_linger_timeout_ns=linger_ns,
        untethered_resting_timeout_ns=resting_ns,
    )


# ---- options of an endpoint ---------------------------------------------------------------------


def sndbuf_length(channel: UdpChannel, settings: Settings) -> int:
    """Return the socket send buffer of an endpoint in bytes, 0 for the system's default."""
    return channel.socket_sndbuf_length or settings[properties.SOCKET_SO_SNDBUF]


def rcvbuf_length(channel: UdpChannel, settings: Settings) -> int:
    """Return the socket receive buffer of an endpoint in bytes, 0 for the system's default."""
    return channel.socket_rcvbuf_length or settings[properties.SOCKET_SO_RCVBUF]


def check_mtu_fits(
    channel: UdpChannel, mtu_length: int, effective_length: int, system_length: int
) -> None:
    """Refuse a publication whose datagrams do not fit into the socket buffer of its endpoint.

    Args:
        channel: the publication's channel.
        mtu_length: the length of its largest datagram in bytes.
        effective_length: the endpoint's send buffer in bytes, 0 for the system's default.
        system_length: the system's default in bytes.

    Raises:
        CommandError: with the reference's text.
    """
    length = effective_length or system_length
    if mtu_length > length:
        raise generic(
            ILLEGAL_STATE,
            f"MTU greater than SO_SNDBUF for channel: mtu={mtu_length} so-sndbuf={length} "
            f"channel={channel.original}",
        )


def check_window_fits(
    channel: UdpChannel,
    window_length: int,
    effective_length: int,
    system_length: int,
    existing: UdpChannel | None = None,
) -> None:
    """Refuse a subscription whose window does not fit into the socket buffer of its endpoint.

    Args:
        channel: the subscription's channel.
        window_length: its initial receiver window in bytes.
        effective_length: the endpoint's receive buffer in bytes, 0 for the system's default.
        system_length: the system's default in bytes.
        existing: the channel of the endpoint that it shares.

    Raises:
        CommandError: with the reference's text.
    """
    length = effective_length or system_length
    if window_length > length:
        raise generic(
            ILLEGAL_STATE,
            f"Initial window greater than SO_RCVBUF for channel: rcv-wnd={window_length} "
            f"so-rcvbuf={length}{'' if effective_length else ' (OS default)'}"
            f"{'' if existing is None else f' existingChannel={existing.original}'} "
            f"channel={channel.original}",
        )


def multicast_ttl(channel: UdpChannel, settings: Settings) -> int:
    """Return the time to live for the socket of a multicast channel, 0 for the system's default.

    Raises:
        CommandError: the value is out of range; the text is that of the reference's socket.
    """
    ttl = channel.multicast_ttl
    if ttl is None:
        ttl = settings[properties.SOCKET_MULTICAST_TTL]
    if not 0 <= ttl <= TTL_MAX:
        raise generic(ILLEGAL_ARGUMENT, "Invalid TTL/hop value")
    return ttl


def receiver_group_tag(channel: UdpChannel, settings: Settings) -> int | None:
    """Return the tag that receivers put into status messages, or None.

    Raises:
        ConfigurationError: the older property that gives the tag as bytes is not 8 bytes long.
    """
    if channel.group_tag is not None:
        return channel.group_tag
    tag = settings[properties.RECEIVER_GROUP_TAG]
    if tag is not None:
        return tag
    return _former_tag(settings[properties.FLOW_CONTROL_SM_ASF], None)


def flow_control_group_tag(settings: Settings) -> int:
    """Return the tag that tagged flow control requires when a channel names none.

    Raises:
        ConfigurationError: the older property that gives the tag as bytes is not 8 bytes long.
    """
    if settings.is_given(properties.FLOW_CONTROL_GROUP_TAG):
        return settings[properties.FLOW_CONTROL_GROUP_TAG]
    former = settings[properties.PREFERRED_MULTICAST_FLOW_CONTROL_ASF]
    return _former_tag(former, NULL_VALUE) or 0


def _shortest_log(params: PublicationParams) -> PublicationParams:
    # A prototype only keeps the endpoint open, so its log is as short as a log can be.
    return replace(
        params,
        term_length=TERM_MIN_LENGTH,
        mtu_length=min(params.mtu_length, max_message_length(TERM_MIN_LENGTH)),
        window_length=min(params.window_length, TERM_MIN_LENGTH // 2),
    )


def _group(text: str | None, default: Infer) -> Infer:
    if text is None:
        return default
    if text == Infer.INFER.value:
        return Infer.INFER
    return Infer.TRUE if parse_bool(text) else Infer.FALSE


def _former_tag(tag: bytes, absent: int | None) -> int | None:
    if not tag:
        return absent
    if len(tag) != _TAG_LENGTH:
        raise ConfigurationError(f"a group tag is 8 bytes, not {len(tag)}: {tag.hex()}")
    return int.from_bytes(tag, "little", signed=True)
