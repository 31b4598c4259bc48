"""The counters of a service container (spec cluster 23)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog._version import __version__
from aerolog.cluster.counter_types import SERVICE_KEY, ClusterCounterType
from aerolog.transport.config.values import format_duration

if TYPE_CHECKING:
    from aerolog.cluster.service.options import ServiceContainerOptions
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.client_counters import Counter


class ServiceCounters:
    """The counters that live as long as the container.

    Attributes:
        errors: counts the errors of the container and its service.
        max_cycle_time: the longest duty cycle, nanoseconds.
        cycle_time_exceeded: how many were longer than the threshold.
    """

    def __init__(self, aeron: Aeron, options: ServiceContainerOptions) -> None:
        key = SERVICE_KEY.numbers.pack(options.cluster_id, options.service_id)
        suffix = f" - clusterId={options.cluster_id} serviceId={options.service_id}"
        slow_cycle = format_duration(options.service_cycle_threshold)
        slow_snapshot = format_duration(options.service_snapshot_threshold)

        def add(type_id: ClusterCounterType, end: str = "", **fields: str) -> Counter:
            text = type_id.label.format(**fields)
            return aeron.add_counter(type_id, f"{text}{suffix}{end}", key)

        self.errors = add(ClusterCounterType.SERVICE_ERRORS, f" version={__version__}")
        self.max_cycle_time = add(ClusterCounterType.SERVICE_MAX_CYCLE)
        self.cycle_time_exceeded = add(
            ClusterCounterType.SERVICE_CYCLES_EXCEEDED, threshold=slow_cycle
        )
        self._max_snapshot_time = add(ClusterCounterType.SERVICE_MAX_SNAPSHOT)
        self._snapshot_time_exceeded = add(
            ClusterCounterType.SERVICE_SNAPSHOTS_EXCEEDED, threshold=slow_snapshot
        )
        self._missed = add(ClusterCounterType.SERVICE_MISSED)
        self._egress_wait = add(ClusterCounterType.SERVICE_EGRESS_WAIT)
        self._threshold_ns = options.service_snapshot_threshold

    def on_egress(self, missed: int, wait_ns: int) -> None:
        """Show how many messages clients have missed, and how long the service waited for them."""
        self._missed.value = missed
        self._egress_wait.value = wait_ns

    def on_snapshot(self, duration_ns: int) -> None:
        """Measure a snapshot."""
        self._max_snapshot_time.value = max(self._max_snapshot_time.value, duration_ns)
        if duration_ns > self._threshold_ns:
            self._snapshot_time_exceeded.add(1)
