"""What a driver's counters say of the clusters whose nodes use it (spec cluster 23)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.tools.metrics.samples import OTHER, Bound
from aerolog.tools.views import cluster_counters

if TYPE_CHECKING:
    from aerolog.tools.metrics.samples import Labels, Samples
    from aerolog.tools.views.counters_snapshot import CountersSnapshot

_NS: Final = 1e-9

#: Type of a counter -> metric of a cluster, whose further label names the value.
_STATES: Final[dict[ClusterCounterType, str]] = {
    ClusterCounterType.MODULE_STATE: "cluster_module_state",
    ClusterCounterType.NODE_ROLE: "cluster_node_role",
    ClusterCounterType.ELECTION_STATE: "cluster_election_state",
    ClusterCounterType.CONTROL_TOGGLE: "cluster_control_toggle",
}
#: Type of a counter -> metric of a cluster.
_OF_CLUSTERS: Final[dict[ClusterCounterType, str]] = {
    ClusterCounterType.COMMIT_POSITION: "cluster_commit_position_bytes",
    ClusterCounterType.LEADERSHIP_TERM: "cluster_leadership_term",
    ClusterCounterType.ELECTION_COUNT: "cluster_elections_total",
    ClusterCounterType.SNAPSHOT_COUNT: "cluster_snapshots_total",
    ClusterCounterType.TIMED_OUT_CLIENTS: "cluster_client_timeouts_total",
    ClusterCounterType.INVALID_REQUESTS: "cluster_invalid_requests_total",
}
#: Type of a counter -> metric of a module or a service, and its unit in that of the counter.
_OF_COMPONENTS: Final[dict[ClusterCounterType, tuple[str, float]]] = {
    ClusterCounterType.MODULE_ERRORS: ("cluster_errors_total", 1),
    ClusterCounterType.SERVICE_ERRORS: ("cluster_errors_total", 1),
    ClusterCounterType.MODULE_MAX_CYCLE: ("cluster_cycle_time_max_seconds", _NS),
    ClusterCounterType.SERVICE_MAX_CYCLE: ("cluster_cycle_time_max_seconds", _NS),
    ClusterCounterType.MODULE_CYCLES_EXCEEDED: ("cluster_cycle_time_exceeded_total", 1),
    ClusterCounterType.SERVICE_CYCLES_EXCEEDED: ("cluster_cycle_time_exceeded_total", 1),
    ClusterCounterType.MODULE_MAX_SNAPSHOT: ("cluster_snapshot_time_max_seconds", _NS),
    ClusterCounterType.SERVICE_MAX_SNAPSHOT: ("cluster_snapshot_time_max_seconds", _NS),
    ClusterCounterType.MODULE_SNAPSHOTS_EXCEEDED: ("cluster_snapshot_time_exceeded_total", 1),
    ClusterCounterType.SERVICE_SNAPSHOTS_EXCEEDED: ("cluster_snapshot_time_exceeded_total", 1),
    ClusterCounterType.SERVICE_MISSED: ("cluster_missed_messages_total", 1),
    ClusterCounterType.SERVICE_EGRESS_WAIT: ("cluster_egress_wait_seconds_total", _NS),
}
_TYPES: Final = frozenset((*_STATES, *_OF_CLUSTERS, *_OF_COMPONENTS, ClusterCounterType.SESSION))


class ClusterMetrics:
    """Metrics of the clusters in one driver's counters.

    Attributes:
        bound: limits how many clusters are told apart.
        components: limits how many modules and services are.
    """

    def __init__(self, aeron_dir: str, limit: int) -> None:
        self._aeron_dir = aeron_dir
        self.bound = Bound(limit)
        self.components = Bound(limit)

    def add(self, samples: Samples, snapshot: CountersSnapshot) -> None:
        """Adds what the counters say now."""
        found = []
        for row in snapshot.rows_of(_TYPES):
            type_id, key = ClusterCounterType(snapshot.type_ids[row]), snapshot.key(row)
            cluster = str(cluster_counters.cluster_id_of(type_id, key))
            component = cluster_counters.component_of(type_id, key)
            found.append((type_id, snapshot.values[row], cluster, component))
        clusters = self.bound.admit((cluster,) for _, _, cluster, _ in found)
        components = self.components.admit(
            (cluster, component)
            for type_id, _, cluster, component in found
            if type_id in _OF_COMPONENTS
        )
        for type_id, value, cluster, component in found:
            if type_id in _OF_COMPONENTS:
                name, scale = _OF_COMPONENTS[type_id]
                where = components[cluster, component]
                samples.add(name, max(value, 0) * scale, self._aeron_dir, *where)
            else:
                self._add(samples, type_id, value, clusters[cluster,])

    def _add(
        self, samples: Samples, type_id: ClusterCounterType, value: int, cluster: Labels
    ) -> None:
        where = (self._aeron_dir, *cluster)
        if type_id in _STATES:
            name = cluster_counters.value_name(type_id, value).lower() or OTHER
            samples.add(_STATES[type_id], 1, *where, name)
        elif type_id in _OF_CLUSTERS:
            samples.add(_OF_CLUSTERS[type_id], max(value, 0), *where)
        else:
            samples.add("cluster_sessions", 1, *where)
        if type_id == ClusterCounterType.MODULE_STATE:
            samples.add("cluster_sessions", 0, *where)
