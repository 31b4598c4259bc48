"""Which metric each of a driver's system counters is (spec counters 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from aerolog.tools.metrics.families import FAMILIES
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter

if TYPE_CHECKING:
    from aerolog.tools.metrics.samples import Samples
    from aerolog.tools.views.counters_snapshot import CountersSnapshot

_NS: Final = 1e-9


class _Of(NamedTuple):
    """A metric, the values of its further labels, and its unit in that of the counter."""

    name: str
    labels: tuple[str, ...] = ()
    scale: float = 1


#: System counter -> what tells it, as the table of metrics says.
SYSTEM_METRICS: Final[dict[SystemCounter, _Of]] = {
    counter: _Of(
        family.name.removeprefix("aerolog_"), labels, _NS if family.unit == "seconds" else 1
    )
    for family in FAMILIES.values()
    for counter, labels in family.system.items()
}


def add_system_metrics(samples: Samples, aeron_dir: str, snapshot: CountersSnapshot) -> None:
    """Adds what the system counters say; one that a driver does not have is left out."""
    for counter, metric in SYSTEM_METRICS.items():
        row = snapshot.row_of(counter)
        if row is not None and snapshot.type_ids[row] == CounterType.SYSTEM:
            value = max(snapshot.values[row], 0) * metric.scale
            samples.add(metric.name, value, aeron_dir, *metric.labels)


def driver_version(snapshot: CountersSnapshot) -> str:
    """The driver's version as major.minor.patch, nothing when it has no counter for it."""
    packed = snapshot.system(SystemCounter.AERON_VERSION)
    return f"{packed >> 16 & 0xFF}.{packed >> 8 & 0xFF}.{packed & 0xFF}" if packed > 0 else ""
