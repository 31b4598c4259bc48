"""The driver's names: its resolver, look-ups outside the conductor's duty cycle, and gossip.

`DriverNames` is opened with the driver and belongs to the conductor's thread, on which its `agent`
runs after the conductor. The conductor has it resolve channels (`resolve`) and the names of silent
peers (`re_resolve`); both report the result by a call, at once or later.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from aerolog.transport.concurrent.tasks import InlineTasks, ThreadTasks
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import properties
from aerolog.transport.driver.events.driver_events import NO_EVENTS, LoggedResolver
from aerolog.transport.driver.events.logged_network import logged_port
from aerolog.transport.driver.names.gossip_agent import (
    WORK_INTERVAL_NS,
    GossipAgent,
    gossip_options,
    open_gossip_port,
)
from aerolog.transport.driver.names.periodic_agent import PeriodicAgent
from aerolog.transport.errors import ChannelUriError
from aerolog.transport.network.host_names import platform_address
from aerolog.transport.network.networks import SYSTEM_NETWORK
from aerolog.transport.network.resolvers import (
    USE_INITIAL_HOST,
    CsvTableResolver,
    DefaultNameResolver,
    GossipNameResolver,
    TimedNameResolver,
    parse_name_table,
)
from aerolog.transport.network.udp_channel import ChannelResolver
from aerolog.transport.uri import ChannelUri, keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.concurrent.tasks import Tasks
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.driver.error_recorder import ErrorRecorder
    from aerolog.transport.driver.events.driver_events import DriverEvents
    from aerolog.transport.memory.counters import CountersManager
    from aerolog.transport.network.addresses import SocketAddress
    from aerolog.transport.network.host_names import IpAddress, NameResolver
    from aerolog.transport.network.networks import Network
    from aerolog.transport.network.port import DatagramPort
    from aerolog.transport.network.resolvers import NameEntry
    from aerolog.transport.network.udp_channel import UdpChannel

ROLE_NAME: Final = "names"
# A text of these characters alone names no host: no name service is asked for it.
_NUMERIC: Final = re.compile(r"[0-9.:/]*|\[.*|\{.*", re.ASCII | re.DOTALL)
_ADDRESSES: Final = (keys.ENDPOINT, keys.CONTROL, keys.INTERFACE)


def name_resolver(
    settings: Settings,
    counters: CountersManager,
    errors: ErrorRecorder,
    *,
    platform: Callable[[str], IpAddress | None] = platform_address,
) -> NameResolver:
    """Return the resolver that ``aeron.name.resolver.supplier`` names, without gossip and timing.

    A resolver with a table allocates a counter for each row, with which an operator switches it.

    Args:
        settings: the driver's configuration.
        counters: allocates the counters that switch the table's rows.
        errors: records rows that cannot be used, and a table without any rows.
        platform: the machine's own resolver.
    """
    default = DefaultNameResolver(platform)
    if settings[properties.NAME_RESOLVER_SUPPLIER] != "csv_table":
        return default
    text = (
        settings[properties.NAME_RESOLVER_INIT_ARGS]
        or settings[properties.NAME_RESOLVER_CSV_LOOKUP_TABLE_ARGS]
    )

    def report(problem: str) -> None:
        errors.record_event(f"io.aeron.exceptions.AeronEvent: WARN - {problem}\n", problem)

    entries = parse_name_table(text or "", report)
    if not entries:
        report(
            f"{properties.NAME_RESOLVER_SUPPLIER.name}=csv_table has no rows in "
            f"{properties.NAME_RESOLVER_INIT_ARGS.name}"
        )
    switches = [_switch(counters, entry) for entry in entries]
    return CsvTableResolver(entries, switches, default)


class DriverNames:
    """Resolves names for a driver; it belongs to the conductor's thread.

    Args:
        settings: the driver's configuration.
        clock: the source of the driver's time.
        counters: its counters, in which the system counters are allocated.
        errors: records failed look-ups.
        events: the event log.
        network: opens the gossip's socket and lists interfaces; it is never a disturbed one.
        platform: the machine's own resolver, which may block; the network's when None.
        lookups: runs the look-ups; when None as configured: on a thread, or in the conductor.

    Attributes:
        agent: runs on the conductor's thread; when it ends, all of this is closed.
        channels: resolves channels and may block, so the conductor calls `resolve` instead.
        gossiper: the gossip agent, None without gossip.

    Raises:
        ConfigurationError: a setting cannot be used.
        OSError: the gossip's socket cannot be opened.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock,
        counters: CountersManager,
        errors: ErrorRecorder,
        events: DriverEvents = NO_EVENTS,
        network: Network = SYSTEM_NETWORK,
        platform: Callable[[str], IpAddress | None] | None = None,
        lookups: Tasks | None = None,
    ) -> None:
        self._clock = clock
        self._counters = counters
        self._errors = errors
        self._events = events
        self._threshold_ns = settings[properties.NAME_RESOLVER_THRESHOLD]
        self._waiting: Callable[[], bool] | None = None
        self._busy = False
        self._asked: dict[tuple[str, str], list[Callable[[SocketAddress], bool]]] = {}
        self.gossiper: GossipAgent | None = None
        platform = platform or network.address_of
        resolver = name_resolver(settings, counters, errors, platform=platform)
        interface = settings[properties.DRIVER_RESOLVER_INTERFACE]
        if interface:
            port = logged_port(open_gossip_port(interface, network, platform), events)
            self.gossiper = self._open_gossip(settings, port, resolver)
            resolver = GossipNameResolver(self.gossiper.gossip, resolver)
        self.agent = PeriodicAgent(
            ROLE_NAME, self._turn, self.close, WORK_INTERVAL_NS if self.gossiper else 0
        )
        self._lookups = lookups or _configured_lookups(settings, self.agent.ring)
        if events.logs_names:
            resolver = LoggedResolver(resolver, clock.now_ns, events)
        timed = TimedNameResolver(resolver, clock.now_ns, self._on_duration)
        self.channels = ChannelResolver(timed, interfaces=network.interfaces, platform=platform)

    @property
    def is_busy(self) -> bool:
        """Whether a channel is being resolved: until then the conductor reads no further command.

        In this way commands are answered in the order in which they came, as by the reference.
        """
        return self._busy

    def resolve(
        self,
        channel: str,
        then: Callable[[UdpChannel], None],
        failed: Callable[[Exception], None],
        *,
        is_destination: bool = False,
    ) -> None:
        """Resolve the channel of a command.

        A channel without host names is resolved at once, and an exception from it or from ``then``
        is raised here. Otherwise `is_busy` holds until the outcome is reported on the conductor's
        thread.

        Args:
            channel: the channel as the command has it.
            then: called with the resolved channel.
            failed: called with the error of the resolution or of ``then``.
            is_destination: whether it is a destination, which has no unique suffix.
        """
        if not names_hosts(channel):
            then(self.channels.resolve(channel, is_destination=is_destination))
            return

        def told(found: UdpChannel) -> None:
            self._busy = False
            then(found)

        def refused(error: Exception) -> None:
            self._busy = False
            failed(error)

        self._busy = True
        self._submit_soon(
            lambda: self._lookups.submit(
                lambda: self.channels.resolve(channel, is_destination=is_destination),
                told,
                refused,
            )
        )

    def re_resolve(
        self,
        param: str,
        value: str,
        address: SocketAddress,
        on_change: Callable[[SocketAddress], None],
    ) -> None:
        """Look a name up again whose peer is silent (spec wire-protocol 15.1).

        A further request for a name whose look-up is under way shares its answer. An unknown name
        is recorded as an error and leaves the address as it is.

        Args:
            param: ``endpoint`` or ``control``.
            value: the text of the parameter.
            address: the address in use.
            on_change: called with a new address; each call counts as one resolution change.
        """
        if not names_a_host(value):
            return

        def changed(found: SocketAddress) -> bool:
            if found == address:
                return False
            on_change(found)
            return True

        waiting = self._asked.get((param, value))
        if waiting is not None:
            waiting.append(changed)
            return
        self._asked[param, value] = [changed]
        taken = self._lookups.submit(
            lambda: self.channels.re_resolve(value, param),
            lambda found: self._on_re_resolved(param, value, found),
            lambda error: self._on_unresolved(param, value, error),
        )
        if not taken:  # the next check asks again, if the peer is still silent
            del self._asked[param, value]
            self._count(SystemCounter.ASYNC_EXECUTOR_PROXY_FAILS)

    def close(self) -> None:
        """Accept no more look-ups and close the gossip's socket; further calls do nothing."""
        self._lookups.close()
        if self.gossiper is not None:
            self.gossiper.close()

    def _turn(self) -> int:
        count = self._lookups.poll()
        if self._waiting is not None and self._waiting():
            self._waiting = None
            count += 1
        if self.gossiper is not None:
            count += self.gossiper.turn(self._clock.now_ns())
        return count

    def _submit_soon(self, submit: Callable[[], bool]) -> None:
        """Submit a command's look-up; there is only one at a time, so it can wait here for room."""
        if not submit():
            self._count(SystemCounter.ASYNC_EXECUTOR_PROXY_FAILS)
            self._waiting = submit

    def _on_re_resolved(self, param: str, value: str, found: SocketAddress) -> None:
        for changed in self._asked.pop((param, value)):
            if changed(found):
                self._count(SystemCounter.RESOLUTION_CHANGES)

    def _on_unresolved(self, param: str, value: str, error: Exception) -> None:
        self._asked.pop((param, value), None)
        if not isinstance(error, ChannelUriError):
            self._errors.record(error)
            return
        self._errors.record_event(
            f"io.aeron.exceptions.AeronEvent: WARN - could not re-resolve: {param}={value}\n",
            ("could not re-resolve", param, value),
        )

    def _on_duration(self, duration_ns: int, _: str) -> None:
        self._counters.propose_max(SystemCounter.NAME_RESOLVER_MAX_TIME, duration_ns)
        if duration_ns > self._threshold_ns:
            self._count(SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED)

    def _count(self, counter: SystemCounter) -> None:
        self._counters.get_and_add(counter, 1)

    def _open_gossip(
        self, settings: Settings, port: DatagramPort, resolver: NameResolver
    ) -> GossipAgent:
        try:
            return GossipAgent(
                gossip_options(settings),
                port,
                counters=self._counters,
                errors=self._errors,
                events=self._events,
                names=resolver,
                lookups=lambda: self._lookups,
                now_ns=self._clock.now_ns(),
            )
        except BaseException:
            port.close()
            raise


def names_hosts(channel: str) -> bool:
    """Return whether a channel has an address for which a name service may be needed."""
    try:
        uri = ChannelUri.parse(channel)
    except ChannelUriError:
        return False  # the caller refuses the channel at once
    return any(names_a_host(uri[key]) for key in _ADDRESSES if key in uri)


def names_a_host(value: str) -> bool:
    """Return whether an address text has a host name instead of numbers."""
    return _NUMERIC.fullmatch(value) is None


def _switch(counters: CountersManager, entry: NameEntry) -> Callable[[], int]:
    counter_id = counters.allocate(
        CounterType.NAME_ENTRY,
        entry.counter_label,
        entry.counter_key,
        value=USE_INITIAL_HOST,
    )
    return lambda: counters.counter_value(counter_id)


def _configured_lookups(settings: Settings, ring: Callable[[], None]) -> Tasks:
    if settings[properties.DRIVER_ASYNC_EXECUTOR_ENABLED]:
        return ThreadTasks(ring)
    return InlineTasks()
