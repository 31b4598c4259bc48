"""The state and the sockets of a channel, as counters show them (spec client 16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.counters.counter_types import ADDRESS_KEY, CounterType
from aerolog.transport.memory.counters import RECORD_ALLOCATED
from aerolog.transport.protocol.channel_status import ChannelStatus
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.memory.counters import CountersReader

_STATUS_TYPES = (CounterType.SEND_CHANNEL_STATUS, CounterType.RECEIVE_CHANNEL_STATUS)
_NOT_ALLOCATED = -1
_INITIALIZING = 0


def channel_status(counters: CountersReader, status_id: int, closed: bool) -> ChannelStatus:
    """Return the state of a channel from its status counter.

    The id -1 is that of IPC and spies, which are always active.
    """
    if closed:
        return ChannelStatus.NO_ID_ALLOCATED
    if status_id == _NOT_ALLOCATED:
        return ChannelStatus.ACTIVE
    if status_id == _INITIALIZING or not 0 <= status_id <= counters.max_counter_id:
        return ChannelStatus.INITIALIZING
    value = counters.counter_value(status_id)
    # Asked after the read. The registration is that of whoever opened the channel's socket first,
    # which only the driver knows.
    if (
        counters.counter_state(status_id) != RECORD_ALLOCATED
        or counters.counter_type_id(status_id) not in _STATUS_TYPES
    ):
        return ChannelStatus.NO_ID_ALLOCATED
    return ChannelStatus(value) if value in (-1, 0, 1, 2) else ChannelStatus.ERRORED


def local_addresses(counters: CountersReader, status_id: int, closed: bool) -> list[str]:
    """Return ``host:port`` of every bound socket of a channel, in the order of the counters."""
    if status_id < 0 or channel_status(counters, status_id, closed) is not ChannelStatus.ACTIVE:
        return []
    found = []
    for counter in counters:
        is_address = counter.type_id == CounterType.LOCAL_SOCKET_ADDRESS
        if not is_address or counter.value != ChannelStatus.ACTIVE:
            continue
        owner, address = ADDRESS_KEY.unpack(counter.key)
        if owner == status_id and address:
            found.append(address)
    return found


def resolve_port(channel: str, endpoint: Callable[[], str | None]) -> str | None:
    """Replace the wildcard port of a channel's endpoint by the port in use.

    Args:
        channel: a channel, returned as it is without ``endpoint=…:0`` or with manual control.
        endpoint: returns ``host:port`` of the socket; None while it is unknown.

    Returns:
        The channel, or None while the port is unknown.
    """
    uri = ChannelUri.parse(channel)
    wanted = uri.get("endpoint")
    if wanted is None or not wanted.endswith(":0") or uri.get("control-mode") == "manual":
        return channel
    bound = endpoint()
    if bound is None:
        return None
    return str(uri.replace_endpoint_wildcard_port(bound))
