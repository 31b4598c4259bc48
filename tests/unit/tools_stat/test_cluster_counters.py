"""Names for the values of clusters' counters, and whose they are."""

from __future__ import annotations

import struct

import pytest

from aerolog.cluster import counter_types
from aerolog.tools.views import cluster_counters as seen

KEY = struct.pack("<ii", 9, 3)


@pytest.mark.parametrize(
    ("type_id", "states"),
    [
        (counter_types.MODULE_STATE, counter_types.ModuleState),
        (counter_types.NODE_ROLE, counter_types.Role),
        (counter_types.CONTROL_TOGGLE, counter_types.Toggle),
        (counter_types.ELECTION_STATE, counter_types.ElectionState),
        (counter_types.BACKUP_STATE, counter_types.BackupState),
        (counter_types.NODE_TOGGLE, counter_types.NodeToggle),
    ],
)
def test_each_value_has_its_name(type_id, states):
    assert [state.value for state in states] == list(range(len(states)))
    assert [seen.value_name(type_id, state) for state in states] == [one.name for one in states]
    assert seen.value_name(type_id, len(states)) == ""
    assert seen.value_name(type_id, -1) == ""


def test_counters_without_states_have_no_names():
    assert seen.value_name(counter_types.COMMIT_POSITION, 1) == ""
    assert seen.value_name(1, 1) == ""


def test_keys_say_whose_a_counter_is():
    for type_id in counter_types.OF_CLUSTERS:
        assert seen.cluster_id_of(type_id, KEY) == 9
        is_service = type_id in counter_types.OF_SERVICES
        assert seen.service_id_of(type_id, KEY) == (3 if is_service else None)
        assert seen.component_of(type_id, KEY) == (
            "service 3" if is_service else "consensus module"
        )
    recovery = struct.pack("<qqqii", -1, 0, 0, 9, 2)
    assert seen.cluster_id_of(counter_types.RECOVERY_STATE, recovery) == 9
    assert seen.cluster_id_of(1, KEY) is None


@pytest.mark.parametrize(
    ("type_id", "component", "cluster"),
    [
        (counter_types.BACKUP_STATE, "backup", 9),
        (counter_types.BACKUP_LOG_POSITION, "backup", 9),
        (counter_types.BACKUP_ERRORS, "backup", 9),
        (counter_types.BACKUP_SNAPSHOTS_RETRIEVED, "backup", 9),
        (counter_types.STANDBY_STATE, "standby", None),
        (counter_types.STANDBY_SOURCE_MEMBER, "standby", 9),
        (counter_types.TRANSITION_ERRORS, "transition module", None),
        (counter_types.TRANSITION_MAX_CYCLE, "transition module", 9),
        (counter_types.STANDBY_SNAPSHOTS, "consensus module", 9),
    ],
)
def test_backups_and_standbys_are_told_apart(type_id, component, cluster):
    assert seen.component_of(type_id, KEY) == component
    assert seen.cluster_id_of(type_id, KEY) == cluster
