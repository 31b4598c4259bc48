"""Finds the endpoint that a channel shares and refuses conflicts (spec wire-protocol 4.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from aerolog.transport.driver.channels.media_timestamps import media_receive_timestamp_offset
from aerolog.transport.driver.conductor.command_error import (
    ILLEGAL_ARGUMENT,
    generic,
    invalid_channel,
)
from aerolog.transport.network.udp_channel import ControlMode
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.network_params import NetworkSubscriptionParams
    from aerolog.transport.network.addresses import SocketAddress
    from aerolog.transport.network.udp_channel import UdpChannel


class ExistingEndpoint(NamedTuple):
    """The properties of an endpoint that decide whether a channel may share it.

    Attributes:
        channel: the channel that the endpoint was made for.
        remote_data, local_data: the addresses that it sends to and is bound to now; names may have
            been resolved again since it was made.
        sndbuf_length, rcvbuf_length: its socket buffers in bytes, 0 for the system's default.
    """

    channel: UdpChannel
    remote_data: SocketAddress
    local_data: SocketAddress
    sndbuf_length: int
    rcvbuf_length: int


def is_tagged_match(channel: UdpChannel, existing: ExistingEndpoint) -> bool:
    """Return whether a channel names an endpoint by its tag.

    Raises:
        CommandError: the tag matches, but the control mode or an address differs.
    """
    if channel.tag is None or channel.tag != existing.channel.tag:
        return False
    if channel.control_mode not in {ControlMode.NONE, existing.channel.control_mode}:
        raise generic(
            ILLEGAL_ARGUMENT,
            f"matching tag={channel.tag} has mismatched control-mode: "
            f"{channel.original} <> {existing.channel.original}",
        )
    if not (
        channel.is_full_wildcard
        or _asks_the_same(channel, existing.channel)
        or (channel.remote_data, channel.local_data) == (existing.remote_data, existing.local_data)
    ):
        raise generic(
            ILLEGAL_ARGUMENT,
            f"matching tag={channel.tag} has mismatched endpoint or control: "
            f"{channel.original} <> {existing.channel.original}",
        )
    return True


def _asks_the_same(channel: UdpChannel, existing: UdpChannel) -> bool:
    """Return whether two channels give the same addresses, whatever their names resolve to now."""
    return all(
        channel.uri.get(key) == existing.uri.get(key)
        for key in (keys.ENDPOINT, keys.CONTROL, keys.INTERFACE)
    )


def is_canonical_match(channel: UdpChannel, existing: UdpChannel) -> bool:
    """Return whether two channels share an endpoint by canonical form and do not differ in tag."""
    if channel.canonical_form != existing.canonical_form:
        return False
    return channel.tag is None or existing.tag is None or channel.tag == existing.tag


def check_is_original(channel: UdpChannel) -> None:
    """Refuse a tagged publication that gives no address and whose tag no endpoint has.

    Raises:
        ControlProtocolError: with the reference's text.
    """
    if (
        channel.tag is not None
        and not channel.has_explicit_control
        and not channel.has_explicit_endpoint
        and channel.control_mode is not ControlMode.MANUAL
    ):
        raise invalid_channel(
            "URI must have explicit control, endpoint, or be manual control-mode when original: "
            f"channel={channel.original}"
        )


def check_send_endpoint(channel: UdpChannel, existing: ExistingEndpoint) -> None:
    """Refuse a publication whose options differ from those of the endpoint that it shares.

    Raises:
        ControlProtocolError: with the reference's text.
    """
    _check_option(
        keys.CHANNEL_SND_TS_OFFSET,
        channel.channel_send_timestamp_offset,
        existing.channel.channel_send_timestamp_offset,
        channel,
        existing.channel,
    )
    _check_buffers(channel, existing)


def check_receive_endpoint(channel: UdpChannel, existing: ExistingEndpoint) -> None:
    """Refuse a subscription whose options differ from those of the endpoint that it shares.

    Raises:
        ControlProtocolError: with the reference's text.
    """
    check_receive_timestamps(channel, existing.channel)
    _check_buffers(channel, existing)


def check_receive_timestamps(channel: UdpChannel, existing: UdpChannel) -> None:
    """Refuse a subscription whose timestamp offsets differ from those of its shared endpoint.

    Raises:
        ControlProtocolError: with the reference's text.
    """
    _check_option(
        keys.CHANNEL_RCV_TS_OFFSET,
        channel.channel_receive_timestamp_offset,
        existing.channel_receive_timestamp_offset,
        channel,
        existing,
    )
    _check_option(
        keys.MEDIA_RCV_TS_OFFSET,
        media_receive_timestamp_offset(channel),
        media_receive_timestamp_offset(existing),
        channel,
        existing,
    )


def check_subscription(
    channel: UdpChannel,
    params: NetworkSubscriptionParams,
    existing: UdpChannel,
    existing_params: NetworkSubscriptionParams,
) -> None:
    """Refuse a subscription that differs from one of the same endpoint and stream.

    Either both have a session id or neither has; the caller makes sure of that.

    Raises:
        ControlProtocolError: with the reference's text.
    """
    for name, asked, found in (
        ("reliable", params.is_reliable, existing_params.is_reliable),
        ("rejoin", params.is_rejoin, existing_params.is_rejoin),
        ("isResponse", params.is_response, existing_params.is_response),
    ):
        _check_option(name, asked, found, channel, existing)


def _check_option(
    name: str, asked: int, found: int, channel: UdpChannel, existing: UdpChannel
) -> None:
    if asked != found:
        text = str(asked).lower()
        raise invalid_channel(
            f"option conflicts with existing subscription: {name}={text} "
            f"existingChannel={existing.original} channel={channel.original}"
        )


def _check_buffers(channel: UdpChannel, existing: ExistingEndpoint) -> None:
    for key, asked, found in (
        (keys.SO_RCVBUF, channel.socket_rcvbuf_length, existing.rcvbuf_length),
        (keys.SO_SNDBUF, channel.socket_sndbuf_length, existing.sndbuf_length),
    ):
        if asked not in {0, found}:
            raise invalid_channel(
                f"{key}={asked} does not match existing value of {found or 'OS default'}: "
                f"existingChannel={existing.channel.original} channel={channel.original}"
            )
