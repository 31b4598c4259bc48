"""A driver's part in the gossip of names: its socket, timers and counters.

Spec wire-protocol 15.2.

`NameGossip` decides what is sent and remembered; this agent hands it datagrams and times, and sends
its frames. All of it runs on the conductor's thread.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from aerolog.transport.counters.counter_types import NEIGHBOR_KEY, CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import properties
from aerolog.transport.driver.events.driver_events import NO_EVENTS
from aerolog.transport.errors import ChannelUriError, ConfigurationError
from aerolog.transport.network.addresses import SocketAddress
from aerolog.transport.network.host_names import resolve_endpoint
from aerolog.transport.network.interfaces import find_local_address, parse_interface
from aerolog.transport.network.name_gossip import GossipOptions, NameGossip, parse_bootstrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.concurrent.tasks import Tasks
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.driver.error_recorder import ErrorRecorder
    from aerolog.transport.driver.events.driver_events import DriverEvents
    from aerolog.transport.memory.counters import CountersManager
    from aerolog.transport.network.host_names import IpAddress, NameResolver
    from aerolog.transport.network.networks import Network
    from aerolog.transport.network.port import Address, DatagramPort

#: The time between two turns.
WORK_INTERVAL_NS: Final = 10_000_000
#: The datagrams taken in one turn; further ones wait in the socket or are lost there.
DATAGRAMS_PER_TURN: Final = 16

_NO_OWNER: Final = 0
# The number of neighbors whose failure to send is remembered, so that each is recorded once.
_FAILING_LIMIT: Final = 1_000


def gossip_options(settings: Settings) -> GossipOptions:
    """Return the options of the gossip, from the driver's settings.

    Raises:
        ConfigurationError: there are too many bootstrap neighbors.
    """
    return GossipOptions(
        name=settings[properties.DRIVER_RESOLVER_NAME] or "",
        bootstrap=parse_bootstrap(settings[properties.DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR]),
        mtu_length=settings[properties.MTU_LENGTH],
        neighbor_timeout_ns=settings[properties.DRIVER_RESOLVER_NEIGHBOR_TIMEOUT],
        self_interval_ns=settings[properties.DRIVER_RESOLVER_SELF_RESOLUTION_INTERVAL],
        neighbor_interval_ns=settings[properties.DRIVER_RESOLVER_NEIGHBOR_RESOLUTION_INTERVAL],
        bootstrap_interval_ns=settings[properties.DRIVER_RESOLVER_BOOTSTRAP_RESOLUTION_INTERVAL],
    )


def open_gossip_port(
    text: str, network: Network, platform: Callable[[str], IpAddress | None]
) -> DatagramPort:
    """Open the gossip's own socket, on the address of ``aeron.driver.resolver.interface``.

    The text has the forms of a channel's ``interface``.

    Raises:
        ConfigurationError: the text has another form, no interface fits, or the host is unknown.
        OSError: the address cannot be bound.
    """
    try:
        search = parse_interface(text, platform)
        address = SocketAddress(search.ip, search.port)
        if search.name or search.prefix_length != search.ip.max_prefixlen:
            address, _ = find_local_address(
                search, network.interfaces(), ip_version=search.ip.version, is_multicast=False
            )
    except ChannelUriError as error:
        name = properties.DRIVER_RESOLVER_INTERFACE.name
        raise ConfigurationError(f"{name}={text}: {error}") from error
    return network.open_receive_port(_port_address(address), offload=False)


class GossipAgent:
    """Sends this driver's name to other drivers and remembers theirs; it runs every 10 ms.

    Args:
        options: the options of the gossip.
        port: the gossip's own port, which the agent closes.
        counters: allocates the counters that show neighbors and cache entries.
        errors: records failures to send and to look names up.
        names: resolves the hosts of bootstrap neighbors.
        lookups: runs those look-ups.
        now_ns: the monotonic time of the start.
    """

    def __init__(
        self,
        options: GossipOptions,
        port: DatagramPort,
        *,
        counters: CountersManager,
        errors: ErrorRecorder,
        events: DriverEvents = NO_EVENTS,
        names: NameResolver,
        lookups: Callable[[], Tasks],
        now_ns: int,
    ) -> None:
        self._port = port
        self._counters = counters
        self._errors = errors
        self._names = names
        self._lookups = lookups
        self._failing: set[SocketAddress] = set()
        self.gossip = NameGossip(
            options, _socket_address(port.local_address), now_ns, on_neighbor=events.neighbor
        )
        self._neighbors_id = self._counter(
            CounterType.RESOLVER_NEIGHBORS, self.gossip.neighbors_label
        )
        self._cache_id = self._counter(CounterType.RESOLVER_CACHE_ENTRIES, self.gossip.cache_label)
        self._bootstrap_ids = [
            self._counter(
                CounterType.RESOLVER_BOOTSTRAP_NEIGHBOR,
                one.label,
                NEIGHBOR_KEY.numbers.pack(index),
            )
            for index, one in enumerate(self.gossip.bootstrap)
        ]

    def turn(self, now_ns: int) -> int:
        """Receive, expire and send names; return the number of datagrams received and sent."""
        count = self._hear(now_ns)
        work = self.gossip.poll(now_ns)
        for value in work.lookups:
            self._look_up(value)
        for frame, destination in work.frames:
            count += self._send(frame, destination)
        self._counters.set_value(self._neighbors_id, self.gossip.neighbor_count)
        self._counters.set_value(self._cache_id, self.gossip.cache_entry_count)
        for counter_id, one in zip(self._bootstrap_ids, self.gossip.bootstrap, strict=True):
            self._counters.set_value(counter_id, self.gossip.is_neighbor(one))
        return count

    def close(self) -> None:
        """Close the socket; other drivers forget this one when its entries expire."""
        self._port.close()

    def _hear(self, now_ns: int) -> int:
        try:
            datagrams = self._port.receive_datagrams(DATAGRAMS_PER_TURN)
        except OSError as error:
            self._errors.record(error)
            return 0
        for data, source, _ in datagrams:
            if not self.gossip.on_datagram(data, _socket_address(source), now_ns):
                self._counters.get_and_add(SystemCounter.INVALID_PACKETS, 1)
        return len(datagrams)

    def _send(self, frame: bytes, destination: SocketAddress) -> int:
        """Send one frame; a neighbor that cannot be reached is recorded once until it can be."""
        try:
            sent = self._port.send_datagrams([frame], _port_address(destination))
        except OSError as error:
            if destination not in self._failing and len(self._failing) < _FAILING_LIMIT:
                self._failing.add(destination)
                self._errors.record(error)
            sent = 0
        else:
            self._failing.discard(destination)
        if sent == 0:
            self._counters.get_and_add(SystemCounter.SHORT_SENDS, 1)
        return sent

    def _look_up(self, value: str) -> None:
        taken = self._lookups().submit(
            lambda: resolve_endpoint(value, "endpoint", self._names, is_re_resolution=True),
            lambda address: self._on_bootstrap(value, address),
            self._errors.record,
        )
        if not taken:
            self._counters.get_and_add(SystemCounter.ASYNC_EXECUTOR_PROXY_FAILS, 1)

    def _on_bootstrap(self, value: str, address: SocketAddress) -> None:
        self.gossip.on_bootstrap_resolved(value, address)
        for counter_id, one in zip(self._bootstrap_ids, self.gossip.bootstrap, strict=True):
            self._counters.set_label(counter_id, one.label)

    def _counter(self, type_id: CounterType, label: str, key: bytes = b"") -> int:
        return self._counters.allocate(
            type_id, label, key, registration_id=0, owner_id=_NO_OWNER, reference_id=0
        )


def _socket_address(address: Address) -> SocketAddress:
    host, port = address
    name, _, scope = host.partition("%")
    return SocketAddress(ip_address(name), port, scope)


def _port_address(address: SocketAddress) -> Address:
    host = str(address.ip)
    return (f"{host}%{address.scope}" if address.scope else host), address.port
