"""What the counters of clusters say: whose they are, and names for their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.counter_types import (
    CLUSTER_KEY,
    OF_BACKUPS,
    OF_SERVICES,
    OF_STANDBYS,
    OF_TRANSITIONS,
    RECOVERY_KEY,
    SERVICE_KEY,
    WITH_CLUSTER_ID,
    BackupState,
    ClusterCounterType,
    ElectionState,
    ModuleState,
    NodeToggle,
    Role,
    Toggle,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerolog.tools.views.counters_snapshot import Counter

#: Type of a counter -> the names of its values, from 0 on.
VALUE_NAMES: Final[Mapping[int, tuple[str, ...]]] = {
    type_id: tuple(states.__members__)
    for type_id, states in (
        (ClusterCounterType.MODULE_STATE, ModuleState),
        (ClusterCounterType.NODE_ROLE, Role),
        (ClusterCounterType.CONTROL_TOGGLE, Toggle),
        (ClusterCounterType.ELECTION_STATE, ElectionState),
        (ClusterCounterType.BACKUP_STATE, BackupState),
        (ClusterCounterType.NODE_TOGGLE, NodeToggle),
    )
}
#: Components beside modules and services -> the types of their counters.
_COMPONENTS: Final[Mapping[str, frozenset[int]]] = {
    "backup": OF_BACKUPS,
    "standby": OF_STANDBYS,
    "transition module": OF_TRANSITIONS,
}


def value_name(type_id: int, value: int) -> str:
    """The name of a state, a role or a toggle; "" for other counters and unknown values."""
    names = VALUE_NAMES.get(type_id, ())
    return names[value] if 0 <= value < len(names) else ""


def cluster_id_of(type_id: int, key: bytes) -> int | None:
    """The id of the cluster that a counter is of; None when it is of none."""
    if type_id == ClusterCounterType.RECOVERY_STATE:
        return int(RECOVERY_KEY.numbers.unpack_from(key)[3])
    return int(CLUSTER_KEY.numbers.unpack_from(key)[0]) if type_id in WITH_CLUSTER_ID else None


def service_id_of(type_id: int, key: bytes) -> int | None:
    """The service that a counter is of; None when it is of none."""
    return int(SERVICE_KEY.numbers.unpack_from(key)[1]) if type_id in OF_SERVICES else None


def services_awaited(counter: Counter) -> int:
    """How many services a recovering module waits for, by its recovery-state counter."""
    return int(RECOVERY_KEY.numbers.unpack_from(counter.key)[4])


def component_of(type_id: int, key: bytes) -> str:
    """The component that a counter is of, in words."""
    for name, types in _COMPONENTS.items():
        if type_id in types:
            return name
    service_id = service_id_of(type_id, key)
    return "consensus module" if service_id is None else f"service {service_id}"


def component_name(counter: Counter) -> str:
    """The same of a counter as a whole."""
    return component_of(counter.type_id, counter.key)


def cluster_id(counter: Counter) -> int:
    """The id of the cluster that a counter is of, -1 when it is of none."""
    found = cluster_id_of(counter.type_id, counter.key)
    return -1 if found is None else found
