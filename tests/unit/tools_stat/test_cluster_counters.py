"""Names for the values of clusters' counters, and whose they are."""

from __future__ import annotations

import struct

import pytest

from aerolog.cluster.counter_types import (
    OF_CLUSTERS,
    OF_SERVICES,
    BackupState,
    ClusterCounterType,
    ElectionState,
    ModuleState,
    NodeToggle,
    Role,
    Toggle,
)
from aerolog.tools.views import cluster_counters as seen

KEY = struct.pack("<ii", 9, 3)


@pytest.mark.parametrize(
    ("type_id", "states"),
    [
        (ClusterCounterType.MODULE_STATE, ModuleState),
        (ClusterCounterType.NODE_ROLE, Role),
        (ClusterCounterType.CONTROL_TOGGLE, Toggle),
        (ClusterCounterType.ELECTION_STATE, ElectionState),
        (ClusterCounterType.BACKUP_STATE, BackupState),
        (ClusterCounterType.NODE_TOGGLE, NodeToggle),
    ],
)
def test_each_value_has_its_name(type_id, states):
    assert [state.value for state in states] == list(range(len(states)))
    assert [seen.value_name(type_id, state) for state in states] == [one.name for one in states]
    assert seen.value_name(type_id, len(states)) == ""
    assert seen.value_name(type_id, -1) == ""


def test_counters_without_states_have_no_names():
    assert seen.value_name(ClusterCounterType.COMMIT_POSITION, 1) == ""
    assert seen.value_name(1, 1) == ""


def test_keys_say_whose_a_counter_is():
    for type_id in OF_CLUSTERS:
        assert seen.cluster_id_of(type_id, KEY) == 9
        is_service = type_id in OF_SERVICES
        assert seen.service_id_of(type_id, KEY) == (3 if is_service else None)
        assert seen.component_of(type_id, KEY) == (
            "service 3" if is_service else "consensus module"
        )
    recovery = struct.pack("<qqqii", -1, 0, 0, 9, 2)
    assert seen.cluster_id_of(ClusterCounterType.RECOVERY_STATE, recovery) == 9
    assert seen.cluster_id_of(1, KEY) is None


@pytest.mark.parametrize(
    ("type_id", "component", "cluster"),
    [
        (ClusterCounterType.BACKUP_STATE, "backup", 9),
        (ClusterCounterType.BACKUP_LOG_POSITION, "backup", 9),
        (ClusterCounterType.BACKUP_ERRORS, "backup", 9),
        (ClusterCounterType.BACKUP_SNAPSHOTS_RETRIEVED, "backup", 9),
        (ClusterCounterType.STANDBY_STATE, "standby", None),
        (ClusterCounterType.STANDBY_SOURCE_MEMBER, "standby", 9),
        (ClusterCounterType.TRANSITION_ERRORS, "transition module", None),
        (ClusterCounterType.TRANSITION_MAX_CYCLE, "transition module", 9),
        (ClusterCounterType.STANDBY_SNAPSHOTS, "consensus module", 9),
    ],
)
def test_backups_and_standbys_are_told_apart(type_id, component, cluster):
    assert seen.component_of(type_id, KEY) == component
    assert seen.cluster_id_of(type_id, KEY) == cluster
