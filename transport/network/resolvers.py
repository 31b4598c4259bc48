"""Name resolvers: the platform's, the C driver's table, gossip, and one that measures times.

Each is a `NameResolver`. Because they may block, they do not run on the conductor's thread; the
values that they share with it are single attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

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


class DefaultNameResolver:
    """Resolves names by the platform.

    Args:
        platform: the platform's lookup of a host.
    """

    name = DEFAULT_CLASS
    reference_class = DEFAULT_CLASS

    def __init__(self, platform: Callable[[str], IpAddress | None] = platform_address) -> None:
        self._platform = platform

    def lookup(self, value: str, param: str, *, is_re_lookup: bool) -> str:  # noqa: ARG002
        """Return the value itself."""
        return value

    def resolve(
        self,
        host: str,
        param: str,  # noqa: ARG002
        *,
        is_re_resolution: bool,  # noqa: ARG002
    ) -> IpAddress | None:
        """Return the platform's first address, or None if it knows none."""
        return self._platform(host)


@dataclass(frozen=True, slots=True)
class NameEntry:
    """A row of the table: a name with its initial host and its host for re-resolution."""

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


def parse_name_table(text: str, report: Callable[[str], None]) -> tuple[NameEntry, ...]:
    """Parse rows of ``name,initial host,re-resolution host`` separated by ``|``.

    As in the C driver, an empty row is ignored, and a row that cannot be used is left out.

    Args:
        text: the rows.
        report: called with a sentence about every row that is left out.
    """
    entries: dict[str, NameEntry] = {}
    for row in filter(None, text.split("|")):
        values = row.split(",")
        if len(values) != 3 or not all(values):
            report(f"name table: {row!r} is not 'name,initial host,re-resolution host'")
        elif values[0] in entries:
            report(f"name table: {values[0]!r} stands there twice, the first row is used")
        else:
            entries[values[0]] = NameEntry(*values)
    return tuple(entries.values())


class CsvTableResolver:
    """Resolves the names of a table, each of which an operator can switch between two hosts.

    Args:
        entries: the rows of the table.
        switches: for each entry the value of its counter: 0 for the initial host, 1 for the
            re-resolution host, -1 for unknown.
        delegate: resolves the hosts of the table and all other names.
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
        """Return the next resolver's result for the value."""
        return self._delegate.lookup(value, param, is_re_lookup=is_re_lookup)

    def resolve(self, host: str, param: str, *, is_re_resolution: bool) -> IpAddress | None:
        """Return the address of the host that the entry's switch selects."""
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
    """Resolves names that drivers exchanged, and all others by the next resolver.

    Args:
        gossip: the names that drivers exchanged.
        delegate: resolves all other names.
    """

    name = GOSSIP_CLASS
    reference_class = GOSSIP_CLASS

    def __init__(self, gossip: NameGossip, delegate: NameResolver) -> None:
        self._gossip = gossip
        self._delegate = delegate

    def lookup(self, value: str, param: str, *, is_re_lookup: bool) -> str:
        """Return the next resolver's result; the port is the channel's, never the cache's.

        See spec wire-protocol 15.2.
        """
        return self._delegate.lookup(value, param, is_re_lookup=is_re_lookup)

    def resolve(self, host: str, param: str, *, is_re_resolution: bool) -> IpAddress | None:
        """Return the address received last, or else the result of the next resolver."""
        told = self._gossip.address_of(host)
        if told is not None:
            return told
        return self._delegate.resolve(host, param, is_re_resolution=is_re_resolution)


class TimedNameResolver:
    """Reports how long a resolver takes; a driver calls this resolver.

    Args:
        delegate: the resolver to time.
        now_ns: a monotonic clock.
        on_duration: called with each duration in nanoseconds and the host, on the caller's thread.
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
        """Name of the resolver that is timed, as in the reference."""
        return f"TimeTracking({self._delegate.name})"

    def lookup(self, value: str, param: str, *, is_re_lookup: bool) -> str:
        """Return the delegate's result."""
        start_ns = self._now_ns()
        try:
            return self._delegate.lookup(value, param, is_re_lookup=is_re_lookup)
        finally:
            self._on_duration(self._now_ns() - start_ns, value)

    def resolve(self, host: str, param: str, *, is_re_resolution: bool) -> IpAddress | None:
        """Return the delegate's address of the host."""
        start_ns = self._now_ns()
        try:
            return self._delegate.resolve(host, param, is_re_resolution=is_re_resolution)
        finally:
            self._on_duration(self._now_ns() - start_ns, host)
