"""The objects that all parts of a consensus module use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerolog.cluster.module.members import ingress_endpoints, members_string
from aerolog.cluster.module.uncommitted import Uncommitted

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client.aeron_archive import SteppedArchive
    from aerolog.cluster.files import FolderSums, NodeStateFile, RecordingLog
    from aerolog.cluster.module.counters import ModuleCounters
    from aerolog.cluster.module.event_log import ClusterEvents
    from aerolog.cluster.module.extension import ConsensusModuleExtension
    from aerolog.cluster.module.log_publisher import LogPublisher
    from aerolog.cluster.module.properties import ModuleConfig
    from aerolog.transport.agents.reporter import Reporter
    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.concurrent.clock import Clock


@dataclass(slots=True)
class ModuleContext:
    """The clients, files, clocks and settings that each part of a module is given.

    Attributes:
        aeron: the module's client, whose duty cycle the agent runs.
        archive: the node's archive, whose operations are steps.
        sums: checksums of the recording log and of the module's snapshots.
        events: logs what operators ask for by ``aeron.event.cluster.log``.
        cluster_time: returns the cluster's time, in its unit.
        leadership_term_id: the present term, -1 before the first.
        leader_member_id: who leads it, -1 while nobody does.
        is_leader: whether this node leads and may write the log.
        log: the log that it writes, None while it writes none.
        extension: what takes the place of services, if anything does.
        uncommitted: what the leader has changed by events that are not committed yet.
    """

    config: ModuleConfig
    aeron: Aeron
    archive: SteppedArchive
    clock: Clock
    counters: ModuleCounters
    recording_log: RecordingLog
    node_state: NodeStateFile
    sums: FolderSums
    reporter: Reporter
    events: ClusterEvents
    cluster_time: Callable[[], int]
    leadership_term_id: int = -1
    leader_member_id: int = -1
    is_leader: bool = False
    log: LogPublisher | None = None
    extension: ConsensusModuleExtension | None = None
    uncommitted: Uncommitted = field(default_factory=Uncommitted)

    @property
    def ingress_endpoints(self) -> str:
        """Where clients reach each member."""
        return ingress_endpoints(self.config.members)

    @property
    def members_string(self) -> str:
        """All members, as in the configuration."""
        return members_string(self.config.members)
