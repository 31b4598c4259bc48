"""What a driver's names are opened with, without a driver: counters, errors, a clock, a network."""

from collections import deque
from ipaddress import ip_address

import pytest

from aerolog.testing import FakeNetwork, ManualClock
from aerolog.transport.config.sources import Properties
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.counters.system_allocation import allocate_system_counters
from aerolog.transport.driver.names.driver_names import DriverNames
from aerolog.transport.driver.properties import driver_settings
from aerolog.transport.memory.counters import CountersManager
from aerolog.transport.memory.mapped_file import MappedFile

METADATA_LENGTH, VALUES_LENGTH = 256 * 1024, 64 * 1024


class Errors:
    """Keeps what a driver would write into its error log."""

    def __init__(self):
        self.recorded = []
        self.events = []

    def record(self, error):
        self.recorded.append(error)

    def record_event(self, text, identity):
        self.events.append((text, identity))


class ManualLookups:
    """Look-ups that run when a test says so."""

    def __init__(self, limit=1024):
        self.waiting = deque()
        self.limit = limit
        self.closed = False
        self._outcomes = []

    def submit(self, task, then, failed):
        if self.closed or len(self.waiting) >= self.limit:
            return False
        self.waiting.append((task, then, failed))
        return True

    def run_all(self):
        """Run what waits; outcomes are told by the next poll."""
        while self.waiting:
            task, then, failed = self.waiting.popleft()
            try:
                self._outcomes.append((then, task()))
            except Exception as error:
                self._outcomes.append((failed, error))

    def poll(self):
        outcomes, self._outcomes = self._outcomes, []
        for tell, value in outcomes:
            tell(value)
        return len(outcomes)

    def close(self):
        self.closed = True


class Driver:
    """A driver as far as its names are concerned, on a host of a simulated network."""

    def __init__(self, clock, host, hosts, lookups=None, **options):
        self.clock = clock
        self.hosts = hosts
        self.asked = []
        self.errors = Errors()
        mapped = MappedFile.anonymous(METADATA_LENGTH + VALUES_LENGTH)
        self.counters = CountersManager(
            mapped, 0, METADATA_LENGTH, METADATA_LENGTH, VALUES_LENGTH, clock
        )
        allocate_system_counters(
            self.counters, mode="INVOKER", commit="", threshold_ns=lambda _: 0, driver_name=None
        )
        self.lookups = lookups or ManualLookups()
        self.names = DriverNames(
            driver_settings(Properties(), options),
            clock=clock,
            counters=self.counters,
            errors=self.errors,
            network=host,
            platform=self._platform,
            lookups=self.lookups,
        )

    def _platform(self, host):
        return self.platform(host)

    def platform(self, host):
        """The machine's lookup: literals, and the names of this test."""
        try:
            return ip_address(host)
        except ValueError:
            self.asked.append(host)
        found = self.hosts.get(host)
        return None if found is None else ip_address(found)

    def turn(self):
        """One cycle of the agent, with every look-up done in between."""
        self.lookups.run_all()
        return self.names.agent.control()

    def counter(self, counter):
        """Value of a system counter."""
        return self.counters.counter_value(counter)

    def labels(self, type_id):
        """Labels and values of the counters of a type."""
        return {found.label: found.value for found in self.counters if found.type_id == type_id}

    @property
    def proxy_fails(self):
        """Look-ups that found no room."""
        return self.counter(SystemCounter.ASYNC_EXECUTOR_PROXY_FAILS)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def network(clock):
    return FakeNetwork(clock)


@pytest.fixture
def hosts():
    """Names that the machine knows; a test may change them."""
    return {"alpha": "10.0.0.1", "beta": "10.0.0.2"}


@pytest.fixture
def make_driver(clock, network, hosts):
    """``make_driver(**settings)`` on a host of its own; closed after the test."""
    drivers = []

    def make(*, host=None, lookups=None, **options):
        drivers.append(Driver(clock, host or network.host(), hosts, lookups, **options))
        return drivers[-1]

    yield make
    for driver in drivers:
        driver.names.close()


@pytest.fixture
def driver(make_driver):
    return make_driver()


@pytest.fixture
def few_lookups():
    """Room for one look-up."""
    return ManualLookups(limit=1)
