"""UDP channels resolved to addresses, with their canonical form (spec channel-uri 9 to 12)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from aerolog.transport.config.values import (
    INT32_MAX,
    parse_duration_ns,
    parse_int32,
    parse_int64,
    parse_size,
)
from aerolog.transport.errors import ChannelUriError, ConfigurationError
from aerolog.transport.network.addresses import (
    WILDCARD_IPV4,
    WILDCARD_IPV6,
    SocketAddress,
    multicast_control,
)
from aerolog.transport.network.host_names import IpAddress, platform_address, resolve_endpoint
from aerolog.transport.network.interfaces import (
    ANY_INTERFACE,
    LocalAddress,
    NetworkInterface,
    find_local_address,
    parse_interface,
)
from aerolog.transport.network.system_interfaces import system_interfaces
from aerolog.transport.uri import ChannelUri, keys

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Sequence

    from aerolog.transport.network.host_names import NameResolver

#: Value of a timestamp offset that a channel does not name.
NO_OFFSET: Final = -1

_UNIQUE_SUFFIXES: Final = itertools.count()


class ControlMode(Enum):
    """Values of ``control-mode``; any other text is NONE (spec channel-uri 12)."""

    NONE = ""
    MANUAL = keys.CONTROL_MODE_MANUAL
    DYNAMIC = keys.CONTROL_MODE_DYNAMIC
    RESPONSE = keys.CONTROL_MODE_RESPONSE


_CONTROL_MODES: Final = {mode.value: mode for mode in ControlMode}


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpChannel:
    """A UDP channel with the addresses that it resolves to.

    Attributes:
        original: the channel as it was given.
        uri: the parsed channel.
        canonical_form: channels with equal canonical forms share an endpoint.
        remote_data, remote_control: destinations of data, and of control frames to a group.
        local_data, local_control: the addresses to which sockets are bound.
        interface: the interface of a multicast channel.
        tag: the channel tag; None without one.
        multicast_ttl: as given, not range-checked; None for unicast or when not given.
        socket_rcvbuf_length, socket_sndbuf_length, receiver_window_length: bytes, 0 when not given.
        nak_delay_ns, group_tag: None when not given.
        channel_receive_timestamp_offset, channel_send_timestamp_offset: -1 when not given, -8 for
            the reserved value of the header.
    """

    original: str
    uri: ChannelUri
    canonical_form: str
    remote_data: SocketAddress
    remote_control: SocketAddress
    local_data: SocketAddress
    local_control: SocketAddress
    interface: NetworkInterface | None
    is_multicast: bool
    control_mode: ControlMode
    has_explicit_endpoint: bool
    has_explicit_control: bool
    tag: int | None
    multicast_ttl: int | None
    socket_rcvbuf_length: int
    socket_sndbuf_length: int
    receiver_window_length: int
    nak_delay_ns: int | None
    group_tag: int | None
    channel_receive_timestamp_offset: int
    channel_send_timestamp_offset: int

    @property
    def family(self) -> socket.AddressFamily:
        """The address family of the endpoint."""
        return self.remote_data.family

    @property
    def is_multi_destination(self) -> bool:
        """Whether control mode is manual or dynamic."""
        return self.control_mode in {ControlMode.MANUAL, ControlMode.DYNAMIC}

    @property
    def has_group_semantics(self) -> bool:
        """Whether receivers are members of a group."""
        return self.is_multicast or self.is_multi_destination

    @property
    def is_full_wildcard(self) -> bool:
        """Whether it gives no address at all: it then means any endpoint with its tag."""
        return all(
            address.is_wildcard and address.port == 0
            for address in (self.remote_data, self.local_data)
        )

    def __str__(self) -> str:
        return self.original


class ChannelResolver:
    """Resolves channels to `UdpChannel`s, which may block on names.

    Args:
        names: the driver's name resolver, for ``endpoint`` and ``control``.
        interfaces: lists the machine's interfaces.
        platform: the platform's lookup, for ``interface``.
        suffixes: numbers that distinguish channels with port 0.
    """

    def __init__(
        self,
        names: NameResolver,
        *,
        interfaces: Callable[[], Sequence[NetworkInterface]] = system_interfaces,
        platform: Callable[[str], IpAddress | None] = platform_address,
        suffixes: Iterator[int] = _UNIQUE_SUFFIXES,
    ) -> None:
        self._names = names
        self._interfaces = interfaces
        self._platform = platform
        self._suffixes = suffixes

    def resolve(self, channel: str | ChannelUri, *, is_destination: bool = False) -> UdpChannel:
        """Parse a channel and find its addresses.

        Args:
            channel: the text of the channel as the command has it.
            is_destination: whether it is a destination, which has no unique suffix.

        Raises:
            ChannelUriError: with the reference's text, of the first check that fails.
            OSError: the machine's interfaces cannot be listed.
        """
        try:
            return self._resolve(channel, is_destination=is_destination)
        except ConfigurationError as error:
            raise ChannelUriError(
                str(error),
                reference_type=error.reference_type,
                reference_message=error.reference_message,
            ) from error

    def re_resolve(self, value: str, param: str) -> SocketAddress:
        """Resolve an ``endpoint`` or ``control`` again (spec wire-protocol 15.1).

        Raises:
            ChannelUriError: the host is not known any more.
        """
        return resolve_endpoint(value, param, self._names, is_re_resolution=True)

    def _resolve(self, channel: str | ChannelUri, *, is_destination: bool) -> UdpChannel:
        uri = ChannelUri.parse(channel)
        if not uri.is_udp:
            raise ChannelUriError(f"UdpChannel only supports UDP media: {channel}")
        endpoint = self._address(uri, keys.ENDPOINT)
        control = self._address(uri, keys.CONTROL)
        mode = _CONTROL_MODES.get(uri.get(keys.CONTROL_MODE, ""), ControlMode.NONE)
        rcvbuf, sndbuf, window = (
            _socket_length(uri, key) for key in (keys.SO_RCVBUF, keys.SO_SNDBUF, keys.RCV_WND)
        )
        _check_addressed(uri, mode)
        remote = endpoint or (
            WILDCARD_IPV6 if control is not None and control.ip.version == 6 else WILDCARD_IPV4
        )
        nak_delay_ns = _optional(uri, keys.NAK_DELAY, parse_duration_ns)
        tag = None if uri.channel_tag is None else parse_int64(keys.TAGS, uri.channel_tag)
        remote_control, local, ttl = remote, LocalAddress(control or WILDCARD_IPV4, None), None
        is_multicast = remote.is_multicast
        if is_multicast:
            remote_control = multicast_control(remote)
        if is_multicast or control is None:
            local = self._local(uri, remote)
        if is_multicast:
            ttl = _optional(uri, keys.TTL, parse_int32)
        return UdpChannel(
            original=str(channel),
            uri=uri,
            canonical_form=self._canonical(
                uri,
                _canonical_local(uri, local.address, is_multicast=is_multicast),
                remote.canonical if is_multicast else uri.get(keys.ENDPOINT, remote.canonical),
                is_unique=not is_destination
                and not is_multicast
                and _is_wildcard(endpoint, control),
            ),
            remote_data=remote,
            remote_control=remote_control,
            local_data=local.address,
            local_control=local.address,
            interface=local.interface if is_multicast else None,
            is_multicast=is_multicast,
            control_mode=mode,
            has_explicit_endpoint=endpoint is not None,
            has_explicit_control=control is not None and not is_multicast,
            tag=tag,
            multicast_ttl=ttl,
            socket_rcvbuf_length=rcvbuf,
            socket_sndbuf_length=sndbuf,
            receiver_window_length=window,
            nak_delay_ns=nak_delay_ns,
            channel_receive_timestamp_offset=parse_timestamp_offset(
                uri, keys.CHANNEL_RCV_TS_OFFSET
            ),
            channel_send_timestamp_offset=parse_timestamp_offset(uri, keys.CHANNEL_SND_TS_OFFSET),
            group_tag=_group_tag(uri),
        )

    def _address(self, uri: ChannelUri, key: str) -> SocketAddress | None:
        return resolve_endpoint(uri[key], key, self._names) if key in uri else None

    def _local(self, uri: ChannelUri, remote: SocketAddress) -> LocalAddress:
        search = ANY_INTERFACE
        if keys.INTERFACE in uri:
            search = parse_interface(uri[keys.INTERFACE], self._platform)
        needs_search = remote.is_multicast or search.name or not search.ip.is_unspecified
        return find_local_address(
            search,
            self._interfaces() if needs_search else (),
            ip_version=remote.ip.version,
            is_multicast=remote.is_multicast,
        )

    def _canonical(self, uri: ChannelUri, local: str, remote: str, *, is_unique: bool) -> str:
        form = f"UDP-{local}-{remote}"
        if not is_unique:
            return form
        if uri.channel_tag is not None:
            return f"{form}#{uri.channel_tag}"
        return f"{form}-{next(self._suffixes)}"


def _canonical_local(uri: ChannelUri, local: SocketAddress, *, is_multicast: bool) -> str:
    return local.canonical if is_multicast else uri.get(keys.CONTROL, local.canonical)


def _is_wildcard(endpoint: SocketAddress | None, control: SocketAddress | None) -> bool:
    if endpoint is None and control is None:
        return True
    return any(address is not None and address.port == 0 for address in (endpoint, control))


def _check_addressed(uri: ChannelUri, mode: ControlMode) -> None:
    if mode is ControlMode.DYNAMIC and keys.CONTROL not in uri:
        raise ChannelUriError(f"explicit control expected with dynamic control mode: {uri}")
    named = any(key in uri for key in (keys.ENDPOINT, keys.CONTROL, keys.TAGS))
    if not named and mode not in {ControlMode.MANUAL, ControlMode.RESPONSE}:
        raise ChannelUriError(
            "URIs for UDP must specify an endpoint, control, tags, or "
            f"control-mode=manual/response: {uri}"
        )


def _socket_length(uri: ChannelUri, key: str) -> int:
    length = _optional(uri, key, parse_size) or 0
    if length > INT32_MAX:
        raise ChannelUriError(f"Invalid {key} length: {length}")
    return length


def parse_timestamp_offset(uri: ChannelUri, key: str) -> int:
    """Parse a timestamp offset: bytes of payload, -8 for ``reserved``, -1 when not given.

    Raises:
        ChannelUriError: with the reference's text.
    """
    text = uri.get(key)
    if text is None:
        return NO_OFFSET
    if text == keys.RESERVED:
        return keys.RESERVED_OFFSET
    try:
        return parse_int32(key, text)
    except ConfigurationError:
        raise ChannelUriError(
            "timestamp offset must be a valid integer or the 'reserved' keyword"
        ) from None


def _group_tag(uri: ChannelUri) -> int | None:
    try:
        return _optional(uri, keys.GTAG, parse_int64)
    except ConfigurationError:
        raise ChannelUriError("'gtag' does not contain a valid long value") from None


def _optional(uri: ChannelUri, key: str, parse: Callable[[str, str], int]) -> int | None:
    return parse(key, uri[key]) if key in uri else None
