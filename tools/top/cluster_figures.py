"""What a driver's counters and streams tell of the clusters whose nodes use it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.cluster.counter_types import (
    OF_CLUSTERS,
    ClusterCounterType,
    ElectionState,
    ModuleState,
)
from aerolog.tools.top.series import Meter
from aerolog.tools.top.text_lines import clean
from aerolog.tools.views import cluster_counters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aerolog.tools.top.measurement import Reading
    from aerolog.tools.views.counters_snapshot import CountersSnapshot
    from aerolog.tools.views.stream_views import StreamView

_TYPES: Final = OF_CLUSTERS | {ClusterCounterType.RECOVERY_STATE}
_PARAMETERS: Final = re.compile(r"[?|]")
_SESSION: Final = re.compile(r"^cluster-session: | - clusterId=-?\d+$")


@dataclass(slots=True)
class AgentFigures:
    """The figures of a consensus module or of a service's container; None where no counter tells.

    Attributes:
        errors: how many it has counted.
        longest_ns: its longest duty cycle.
        slow_cycles: cycles above its threshold.
        snapshot_ns: its longest snapshot.
        slow_snapshots: snapshots above their threshold.
        position: of a service: read up to in the log, bytes.
    """

    errors: int | None = None
    longest_ns: int | None = None
    slow_cycles: int | None = None
    snapshot_ns: int | None = None
    slow_snapshots: int | None = None
    position: int | None = None


@dataclass(slots=True)
class ClusterFigures:
    """A cluster's node as it is now.

    Attributes:
        values: the module's counters by type.
        module: the figures of the consensus module.
        services: those of the services, by id.
        awaited: how many services a module that recovers waits for, 0 when it does not.
        sessions: what the counters of open sessions say of their clients.
        appended: written to the log, bytes; None where this driver has no log of the cluster.
        recorded: recorded of it by the archive.
    """

    cluster_id: int
    values: dict[int, int] = field(default_factory=dict)
    module: AgentFigures = field(default_factory=AgentFigures)
    services: dict[int, AgentFigures] = field(default_factory=dict)
    awaited: int = 0
    sessions: list[str] = field(default_factory=list)
    appended: int | None = None
    recorded: int | None = None

    def named(self, type_id: int) -> str:
        """The value of a state, a role or a toggle in words; "?" where no counter tells."""
        if type_id not in self.values:
            return "?"
        value = self.values[type_id]
        name = cluster_counters.value_name(type_id, value)
        return name.lower().replace("_", " ") or str(value)

    @property
    def is_electing(self) -> bool:
        """Whether an election is under way."""
        state = self.values.get(ClusterCounterType.ELECTION_STATE, ElectionState.CLOSED)
        return state != ElectionState.CLOSED

    @property
    def is_active(self) -> bool:
        """Whether it answers clients."""
        is_open = self.values.get(ClusterCounterType.MODULE_STATE) == ModuleState.ACTIVE
        return is_open and not self.is_electing

    @property
    def committed(self) -> int | None:
        """How far the services may read the log, bytes."""
        return self.values.get(ClusterCounterType.COMMIT_POSITION)

    def total(self, name: str) -> int:
        """The sum of a figure of the module and all services."""
        agents = (self.module, *self.services.values())
        return sum(getattr(one, name) or 0 for one in agents)


class ClusterTrack:
    """A cluster over time.

    Attributes:
        figures: as they are now.
        meter: how fast the commit position moves.
    """

    __slots__ = ("figures", "meter")

    def __init__(self, figures: ClusterFigures) -> None:
        self.figures = figures
        self.meter = Meter()


def tracks_of(
    reading: Reading, known: Mapping[int, ClusterTrack], interval_s: float
) -> dict[int, ClusterTrack]:
    """The clusters of a reading, by id, each with its history.

    Args:
        reading: the newest look.
        known: the tracks of the look before.
        interval_s: seconds between the two, 0 when nobody knows.
    """
    tracks = {}
    for figures in clusters_of(reading.snapshot, reading.streams):
        track = known.get(figures.cluster_id) or ClusterTrack(figures)
        track.figures = figures
        track.meter.take(figures.committed or 0, interval_s)
        tracks[figures.cluster_id] = track
    return tracks


def clusters_of(
    snapshot: CountersSnapshot | None, streams: Iterable[StreamView]
) -> list[ClusterFigures]:
    """The clusters that have a module or a service on a driver, by id."""
    if snapshot is None:
        return []
    found: dict[int, ClusterFigures] = {}
    # The cluster and the service, -1 for the module, that a client of the driver is.
    clients: dict[int, tuple[int, int]] = {}
    for row in snapshot.rows_of(_TYPES):
        type_id, key = snapshot.type_ids[row], snapshot.key(row)
        cluster_id = cluster_counters.cluster_id_of(type_id, key)
        assert cluster_id is not None
        figures = found.setdefault(cluster_id, ClusterFigures(cluster_id))
        service_id = cluster_counters.service_id_of(type_id, key)
        _take(figures, snapshot, row, service_id)
        clients[snapshot.owner_ids[row]] = (cluster_id, -1 if service_id is None else service_id)
    _find_logs(found, clients, streams)
    return [found[cluster_id] for cluster_id in sorted(found)]


#: Types of the counters of a module, and of a service -> what they tell.
_AGENT_FIELDS: Final = {
    ClusterCounterType.MODULE_ERRORS: "errors",
    ClusterCounterType.MODULE_MAX_CYCLE: "longest_ns",
    ClusterCounterType.MODULE_CYCLES_EXCEEDED: "slow_cycles",
    ClusterCounterType.MODULE_MAX_SNAPSHOT: "snapshot_ns",
    ClusterCounterType.MODULE_SNAPSHOTS_EXCEEDED: "slow_snapshots",
    ClusterCounterType.SERVICE_ERRORS: "errors",
    ClusterCounterType.SERVICE_MAX_CYCLE: "longest_ns",
    ClusterCounterType.SERVICE_CYCLES_EXCEEDED: "slow_cycles",
    ClusterCounterType.SERVICE_MAX_SNAPSHOT: "snapshot_ns",
    ClusterCounterType.SERVICE_SNAPSHOTS_EXCEEDED: "slow_snapshots",
}


def _take(
    figures: ClusterFigures, snapshot: CountersSnapshot, row: int, service_id: int | None
) -> None:
    """Takes in one counter of a cluster."""
    type_id, value = ClusterCounterType(snapshot.type_ids[row]), snapshot.values[row]
    agent = figures.module
    if service_id is not None:
        agent = figures.services.setdefault(service_id, AgentFigures())
    if type_id in _AGENT_FIELDS:
        setattr(agent, _AGENT_FIELDS[type_id], value)
    elif type_id == ClusterCounterType.RECOVERY_STATE:
        figures.awaited = cluster_counters.services_awaited(snapshot.counter(row))
    elif type_id == ClusterCounterType.SESSION:
        figures.sessions.append(clean(_SESSION.sub("", snapshot.label(row))))
    else:
        figures.values[type_id] = value


def _find_logs(
    clusters: Mapping[int, ClusterFigures],
    clients: Mapping[int, tuple[int, int]],
    streams: Iterable[StreamView],
) -> None:
    """Finds the log of each cluster: the stream of that alias that its module publishes."""
    for view in streams:
        publisher = view.publisher
        if publisher is None:
            continue
        cluster_id, who = clients.get(publisher.client_id, (0, None))
        if who != -1 or "alias=log" not in _PARAMETERS.split(view.channel):
            continue
        figures = clusters[cluster_id]
        figures.appended = view.position if publisher.position is None else publisher.position
        figures.recorded = max((one.position for one in view.recordings), default=None)
        for one in view.subscribers:
            reader_of, service_id = clients.get(one.client_id, (None, -1))
            if reader_of == cluster_id and service_id in figures.services:
                figures.services[service_id].position = one.position
