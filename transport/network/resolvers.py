"""Name resolvers: the platform's, the C driver's table, gossip, and the one that takes the time.

Each is a `NameResolver`. They may block, so they run off the conductor's thread; the values that
they share with it are single attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.host_names import IpAddress, NameResolver, platform_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aerolog.transport.network.name_gossip import NameGossip

DEFAULT_CLASS: Final = "io.aeron.driver.DefaultNameResolver"
GOSSIP_CLASS: Final = "io.aeron.driver.DriverNameResolver"
TIMED_CLASS: Final = "io.aeron.driver.TimeTrackingNameResolver"

#: Values of an entry's counter (spec configuration 8).
USE_INITIAL_HOST: Final = 0
USE_RE_RESOLUTION_HOST: Final = 1
FAIL_RESOLUTION: Final = -1

NAME_ENTRY_COUNTER_TYPE_ID: Final = 2001


class DefaultNameResolver:
    """The platform's names.

    Args:
        platform: looks a host up; the door to the machine.
    """

    name = DEFAULT_CLASS
    reference_class = DEFAULT_CLASS

    def __init__(self, platform: Callable[[str], IpAddress | None] = platform_address) -> None:
        self._platform = platform

    def lookup(self, value: str, param: str, *, is_re_lookup: bool) -> str:  # noqa: ARG002
        """The value itself."""
        return value

    def resolve(
        self,
        host: str,
        param: str,  # noqa: ARG002
        *,
        is_re_resolution: bool,  # noqa: ARG002
    ) -> IpAddress | None:
        """The platform's first address, None when it knows none."""
        return self._platform(host)


@dataclass(frozen=True, slots=True)
class NameEntry:
    """A row of the table: a name, and the hosts that stand for it at first and later."""

    name: str
    initial_host: str
    re_resolution_host: str

    @property
    def counter_key(self) -> bytes:
        """Key of the entry's counter: length and name."""
        name = self.name.encode()
        return len(name).to_bytes(4, "little") + name

    @property
    def counter_label(self) -> str:
        """Label of the entry's counter."""
        return (
            f"NameEntry{{name='{self.name}', initialResolutionHost='{self.initial_host}', "
            f"reResolutionHost='{self.re_resolution_host}'}}"
        )


def parse_name_table(text: str) -> tuple[NameEntry, ...]:
    """Rows of ``name,initial host,re-resolution host`` separated by ``|``.

    Raises:
        ConfigurationError: a row without three values, or a name that stands there twice.
    """
    entries: dict[str, NameEntry] = {}
    for row in text.split("|") if text else ():
        values = row.split(",")
        if len(values) != 3 or not all(values):
            raise ConfigurationError(
                f"name table: {row!r} is not 'name,initial host,re-resolution host'"
            )
        if values[0] in entries:
            raise ConfigurationError(f"name table: {values[0]!r} stands there twice")
        entries[values[0]] = NameEntry(*values)
    return tuple(entries.values())


class CsvTableResolver:
    """Names of a table, switched between two hosts by an operator; others go to the next resolver.

    Args:
        entries: the table.
        switches: for each entry what its counter says now: 0 the initial host, 1 the
            re-resolution host, -1 unknown.
        delegate: knows the hosts of the table and every other name.
    """

    name = "csv_table"
    reference_class = "csv_table"

    def __init__(
        self,
        entries: Sequence[NameEntry],
        switches: Sequence[Callable[[], int]],
        delegate: NameResolver,
    ) -> None:
        self._table = {
            entry.name: (entry, switch) for entry, switch in zip(entries, switches, strict=True)
        }
        self._delegate = delegate

    def lookup(self, value: str, param: str, *, is_re_lookup: bool) -> str:
        """What the next resolver makes of the value."""
        return self._delegate.lookup(value, param, is_re_lookup=is_re_lookup)

    def resolve(self, host: str, param: str, *, is_re_resolution: bool) -> IpAddress | None:
        """The address of the host that the entry's switch selects."""
        found = self._table.get(host)
        if found is not None:
            entry, switch = found
            selected = switch()
            if selected == FAIL_RESOLUTION:
                return None
            host = (
                entry.re_resolution_host
                if selected == USE_RE_RESOLUTION_HOST
                else entry.initial_host
            )
        return self._delegate.resolve(host, param, is_re_resolution=is_re_resolution)


class GossipNameResolver:
    """Names that drivers told each other, then those of the next resolver.

    Args:
        gossip: what drivers told.
        delegate: knows every other name.
    """

    name = GOSSIP_CLASS
    reference_class = GOSSIP_CLASS

    def __init__(self, gossip: NameGossip, delegate: NameResolver) -> None:
        self._gossip = gossip
        self._delegate = delegate

    def lookup(self, value: str, param: str, *, is_re_lookup: bool) -> str:
        """What the next resolver makes of the value; the port is the channel's, never the cache's.

        See spec wire-protocol 15.2.
        """
        return self._delegate.lookup(value, param, is_re_lookup=is_re_lookup)

    def resolve(self, host: str, param: str, *, is_re_resolution: bool) -> IpAddress | None:
        """The address that was told last, else what the next resolver knows."""
        told = self._gossip.address_of(host)
        if told is not None:
            return told
        return self._delegate.resolve(host, param, is_re_resolution=is_re_resolution)


class TimedNameResolver:
    """Reports how long a resolver takes; it is the one that a driver asks.

    Args:
        delegate: does the work.
        now_ns: a monotonic clock.
        on_duration: told each duration in nanoseconds and the host, on the thread that asked.
    """

    reference_class = TIMED_CLASS

    def __init__(
        self,
        delegate: NameResolver,
        now_ns: Callable[[], int],
        on_duration: Callable[[int, str], None],
    ) -> None:
        self._delegate = delegate
        self._now_ns = now_ns
        self._on_duration = on_duration

    @property
    def name(self) -> str:
        """Names the resolver that is timed, as the reference does."""
        return f"TimeTracking({self._delegate.name})"

    def lookup(self, value: str, param: str, *, is_re_lookup: bool) -> str:
        """What the delegate makes of the value."""
        start_ns = self._now_ns()
        try:
            return self._delegate.lookup(value, param, is_re_lookup=is_re_lookup)
        finally:
            self._on_duration(self._now_ns() - start_ns, value)

    def resolve(self, host: str, param: str, *, is_re_resolution: bool) -> IpAddress | None:
        """The delegate's address of the host."""
        start_ns = self._now_ns()
        try:
            return self._delegate.resolve(host, param, is_re_resolution=is_re_resolution)
        finally:
            self._on_duration(self._now_ns() - start_ns, host)
