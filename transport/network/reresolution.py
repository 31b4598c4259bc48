"""When names are looked up again, because a peer went silent (spec wire-protocol 15.1).

Bookkeeping only: who owns it asks `due` once a check interval, has the names looked up off its
thread, and hands the results back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.network.addresses import SocketAddress

#: Silence after which a name is looked up again, and the least time between two attempts.
ACTIVITY_TIMEOUT_NS: Final = 5_000_000_000


class Lookup(NamedTuple):
    """A name to look up: the parameter, ``endpoint`` or ``control``, and its value."""

    param: str
    value: str


@dataclass(slots=True, eq=False)
class Watched:
    """One address that came from a name.

    Attributes:
        lookup: where it came from.
        address: what it is now.
        last_activity_ns: when its peer was heard last.
        on_change: told the new address.
    """

    lookup: Lookup
    address: SocketAddress
    last_activity_ns: Callable[[], int]
    on_change: Callable[[SocketAddress], None]
    _last_attempt_ns: int = field(default=0, init=False, repr=False)

    def is_due(self, now_ns: int) -> bool:
        """Whether its peer is silent, and the last attempt is long enough ago."""
        heard_ns = self.last_activity_ns()
        return (
            now_ns - heard_ns > ACTIVITY_TIMEOUT_NS
            and now_ns - self._last_attempt_ns > ACTIVITY_TIMEOUT_NS
        )

    def attempt(self, now_ns: int) -> None:
        """It is being looked up."""
        self._last_attempt_ns = now_ns


class ReResolutions:
    """Every address that is looked up again when its peer is silent.

    Args:
        check_interval_ns: least time between two checks.
    """

    def __init__(self, check_interval_ns: int) -> None:
        self._check_interval_ns = check_interval_ns
        self._next_check_ns = 0
        self._watched: list[Watched] = []
        self._pending: set[Lookup] = set()

    def add(self, watched: Watched, now_ns: int) -> Watched:
        """Watch an address that was resolved just now."""
        watched.attempt(now_ns)
        self._watched.append(watched)
        return watched

    def remove(self, watched: Watched) -> None:
        """Watch it no longer; one that is not watched is no error."""
        self._watched = [other for other in self._watched if other is not watched]

    def due(self, now_ns: int) -> list[Lookup]:
        """Names to look up now, each once and not again before its result is in."""
        if now_ns < self._next_check_ns:
            return []
        self._next_check_ns = now_ns + self._check_interval_ns
        found: dict[Lookup, None] = {}
        for watched in self._watched:
            if watched.lookup not in self._pending and watched.is_due(now_ns):
                watched.attempt(now_ns)
                found[watched.lookup] = None
        self._pending.update(found)
        return list(found)

    def on_resolved(self, lookup: Lookup, address: SocketAddress) -> int:
        """A name has been looked up; every address that came from it follows.

        Returns:
            The number of addresses that changed: each counts as one resolution change.
        """
        self._pending.discard(lookup)
        changed = [w for w in self._watched if w.lookup == lookup and w.address != address]
        for watched in changed:
            watched.address = address
            watched.on_change(address)
        return len(changed)

    def on_failed(self, lookup: Lookup) -> str:
        """A name is unknown now; its addresses stay, and it is tried again later.

        Returns:
            The error to record.
        """
        self._pending.discard(lookup)
        return f"could not re-resolve: {lookup.param}={lookup.value}"
