"""Rates of counters between two snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from aerolog.tools.views.counters_snapshot import CountersSnapshot


class Rates:
    """Changes from one snapshot to a later one of the same driver.

    A counter that is not the same in both (freed, or its id used anew) has no rate.

    Attributes:
        interval_s: seconds between the two.
    """

    def __init__(self, previous: CountersSnapshot, current: CountersSnapshot) -> None:
        self.previous = previous
        self.current = current
        self.interval_s = max(0.0, (current.taken_ns - previous.taken_ns) / NS_PER_S)

    def change(self, counter_id: int) -> int | None:
        """How much a counter changed, None where nobody can tell."""
        before = self.previous.row_of(counter_id)
        now = self.current.row_of(counter_id)
        if before is None or now is None:
            return None
        old, new = self.previous, self.current
        if (
            old.type_ids[before] != new.type_ids[now]
            or old.registration_ids[before] != new.registration_ids[now]
            or old.owner_ids[before] != new.owner_ids[now]
        ):
            return None
        return new.values[now] - old.values[before]

    def per_second(self, counter_id: int) -> float | None:
        """How fast a counter changes, None where nobody can tell."""
        change = self.change(counter_id)
        if change is None or self.interval_s <= 0:
            return None
        return change / self.interval_s
