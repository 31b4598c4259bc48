"""The counters of a service container (spec cluster 23)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from aerolog._version import __version__
from aerolog.transport.config.values import format_duration

if TYPE_CHECKING:
    from aerolog.cluster.service.options import ServiceContainerOptions
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.client_counters import Counter

ERRORS: Final = 215
MAX_CYCLE_TIME: Final = 218
CYCLE_TIME_EXCEEDED: Final = 219
MAX_SNAPSHOT_TIME: Final = 236
SNAPSHOT_TIME_EXCEEDED: Final = 237

_KEY: Final = struct.Struct("<ii")


class ServiceCounters:
    """The counters that live as long as the container.

    Attributes:
        errors: counts the errors of the container and its service.
    """

    def __init__(self, aeron: Aeron, options: ServiceContainerOptions) -> None:
        key = _KEY.pack(options.cluster_id, options.service_id)
        suffix = f" - clusterId={options.cluster_id} serviceId={options.service_id}"
        slow_cycle = format_duration(options.service_cycle_threshold)
        slow_snapshot = format_duration(options.service_snapshot_threshold)

        def add(type_id: int, text: str, end: str = "") -> Counter:
            return aeron.add_counter(type_id, f"{text}{suffix}{end}", key)

        self.errors = add(ERRORS, "Cluster Container Errors", f" version={__version__}")
        self._cycle = _Duration(
            add(MAX_CYCLE_TIME, "Cluster container max cycle time in ns"),
            add(
                CYCLE_TIME_EXCEEDED,
                f"Cluster container work cycle time exceeded count: threshold={slow_cycle}",
            ),
            options.service_cycle_threshold,
        )
        self._snapshot = _Duration(
            add(MAX_SNAPSHOT_TIME, "Clustered service max snapshot duration in ns"),
            add(
                SNAPSHOT_TIME_EXCEEDED,
                "Clustered service max snapshot duration exceeded count:"
                f" threshold={slow_snapshot}",
            ),
            options.service_snapshot_threshold,
        )
        self._last_cycle_ns = 0

    def on_cycle(self, now_ns: int) -> None:
        """Measure the duty cycle that ends now."""
        if self._last_cycle_ns:
            self._cycle.measured(now_ns - self._last_cycle_ns)
        self._last_cycle_ns = now_ns

    def on_snapshot(self, duration_ns: int) -> None:
        """Measure a snapshot."""
        self._snapshot.measured(duration_ns)


class _Duration:
    """The longest duration, and how many were above a threshold."""

    def __init__(self, longest: Counter, exceeded: Counter, threshold_ns: int) -> None:
        self._longest = longest
        self._exceeded = exceeded
        self._threshold_ns = threshold_ns
        self._most_ns = 0

    def measured(self, duration_ns: int) -> None:
        if duration_ns > self._most_ns:
            self._most_ns = duration_ns
            self._longest.value = duration_ns
        if duration_ns > self._threshold_ns:
            self._exceeded.add(1)
