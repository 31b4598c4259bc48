"""The module's counters, in the order in which the reference adds them (spec cluster 23)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog._version import __version__
from aerolog.cluster.counter_types import (
    CLUSTER_KEY,
    RECOVERY_KEY,
    SESSION_KEY,
    ClusterCounterType,
    ModuleState,
)
from aerolog.cluster.module import properties as p
from aerolog.transport.config.values import format_duration
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.counters import MAX_KEY_LENGTH, MAX_LABEL_LENGTH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from aerolog.cluster.module.properties import ModuleConfig
    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.client.client_counters import Counter


class ModuleCounters:
    """The counters that live as long as the module.

    Attributes:
        state: a ModuleState.
        election_state: a state of the election, 17 when none runs.
        role: a Role.
        commit_position: how far services may read the log, bytes.
        toggle: a Toggle.
        node_toggle: the toggle of this node alone.
        invalid_requests: messages in a session that another client sent, which the reference does
            not count, though it has a type for the counter.
    """

    def __init__(self, aeron: Aeron, config: ModuleConfig) -> None:
        self._aeron = aeron
        self.cluster_id = cluster_id = config[p.CLUSTER_ID]
        self._suffix = f" - clusterId={cluster_id}"
        self._key = CLUSTER_KEY.numbers.pack(cluster_id)
        for info in aeron.counters.infos():
            if info.type_id != ClusterCounterType.MODULE_STATE or info.key[:4] != self._key:
                continue
            if info.value != ModuleState.CLOSED:
                raise ConfigurationError(
                    f"existing consensus module detected for clusterId={cluster_id}: give this one"
                    " another aeron.cluster.id, or another driver"
                )
        self._own: list[Counter] = []
        threshold = format_duration(config[p.CYCLE_THRESHOLD])
        slow = format_duration(config[p.SNAPSHOT_THRESHOLD])
        self.errors = self._add(ClusterCounterType.MODULE_ERRORS, f" version={__version__}")
        self.state = self._add(ClusterCounterType.MODULE_STATE)
        self.election_state = self._add(ClusterCounterType.ELECTION_STATE)
        self.election_count = self._add(ClusterCounterType.ELECTION_COUNT)
        self.leadership_term = self._add(ClusterCounterType.LEADERSHIP_TERM)
        self.role = self._add(ClusterCounterType.NODE_ROLE)
        self.commit_position = self._add(ClusterCounterType.COMMIT_POSITION)
        self.toggle = self._add(ClusterCounterType.CONTROL_TOGGLE)
        self.node_toggle = self._add(ClusterCounterType.NODE_TOGGLE)
        self.snapshots = self._add(ClusterCounterType.SNAPSHOT_COUNT)
        self.timed_out_clients = self._add(ClusterCounterType.TIMED_OUT_CLIENTS)
        self.max_cycle_time = self._add(ClusterCounterType.MODULE_MAX_CYCLE)
        self.cycle_time_exceeded = self._add(
            ClusterCounterType.MODULE_CYCLES_EXCEEDED, threshold=threshold
        )
        self.max_snapshot_time = self._add(ClusterCounterType.MODULE_MAX_SNAPSHOT)
        self.snapshot_time_exceeded = self._add(
            ClusterCounterType.MODULE_SNAPSHOTS_EXCEEDED, threshold=slow
        )
        self.invalid_requests = self._add(ClusterCounterType.INVALID_REQUESTS)

    def _add(self, type_id: ClusterCounterType, more: str = "", **fields: str) -> Counter:
        text = type_id.label.format(**fields)
        label = f"{text}{self._suffix}{more}"[:MAX_LABEL_LENGTH]
        counter = self._aeron.add_counter(type_id, label, self._key)
        self._own.append(counter)
        return counter

    def close(self) -> None:
        """Remove the counters, for services and for a module that starts at once.

        The driver keeps the counters of a client that has closed until its next timer, which is up
        to a second away. A service that starts meanwhile would follow the commit position of the
        module that has ended.
        """
        if not self.state.closed:
            self.state.value = ModuleState.CLOSED
        for counter in self._own:
            counter.close()

    def add_recovery_state(
        self,
        leadership_term_id: int,
        log_position: int,
        timestamp: int,
        snapshot_ids: Sequence[int],
        service_count: int,
    ) -> Counter:
        """Add the counter that tells services what to recover from (spec cluster 12)."""
        key = RECOVERY_KEY.numbers.pack(
            leadership_term_id, log_position, timestamp, self.cluster_id, service_count
        ) + b"".join(
            recording_id.to_bytes(8, "little", signed=True) for recording_id in snapshot_ids
        )
        kind = ClusterCounterType.RECOVERY_STATE
        label = (
            f"{kind.label}: leadershipTermId={leadership_term_id} logPosition={log_position}"
            f" clusterId={self.cluster_id}"
        )
        return self._aeron.add_counter(kind, label, key)

    def add_session(
        self, session_id: int, client_info: str, identity: str, image_session_id: int
    ) -> Future[Counter]:
        """Add the counter of an open session, which exists on the leader only."""
        end = f" sourceIdentity={identity} sessionId={image_session_id}{self._suffix}"
        kind = ClusterCounterType.SESSION
        label = f"{kind.label}: {client_info}"[: MAX_LABEL_LENGTH - len(end)] + end
        key = SESSION_KEY.numbers.pack(self.cluster_id, session_id)[:MAX_KEY_LENGTH]
        return self._aeron.add_counter_async(kind, label, key)
