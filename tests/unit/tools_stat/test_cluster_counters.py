"""Names for the values of clusters' counters: those of the module itself."""

from __future__ import annotations

import pytest

from aerolog.cluster.module import counters as module
from aerolog.cluster.module.election import ElectionState
from aerolog.cluster.service import service_counters as service
from aerolog.tools.views import cluster_counters as seen


@pytest.mark.parametrize(
    ("type_id", "states"),
    [
        (module.MODULE_STATE, module.ModuleState),
        (module.NODE_ROLE, module.Role),
        (module.CONTROL_TOGGLE, module.Toggle),
        (module.ELECTION_STATE, ElectionState),
    ],
)
def test_the_names_are_those_of_the_module(type_id, states):
    assert {state.value: seen.value_name(type_id, state) for state in states} == {
        state.value: state.name for state in states
    }
    assert seen.value_name(type_id, len(states)) == ""
    assert seen.value_name(type_id, -1) == ""


def test_the_types_are_those_of_module_and_service():
    for name in ("MODULE_STATE", "NODE_ROLE", "CONTROL_TOGGLE", "ELECTION_STATE", "SESSION"):
        assert getattr(seen, name) == getattr(module, name)
    assert seen.MODULE_ERRORS == module.ERRORS
    assert seen.SERVICE_ERRORS == service.ERRORS
    for name in ("MAX_CYCLE", "CYCLES_EXCEEDED", "MAX_SNAPSHOT", "SNAPSHOTS_EXCEEDED"):
        theirs = {"MAX_CYCLE": "MAX_CYCLE_TIME", "MAX_SNAPSHOT": "MAX_SNAPSHOT_TIME"}.get(
            name, name.replace("CYCLES", "CYCLE_TIME").replace("SNAPSHOTS", "SNAPSHOT_TIME")
        )
        assert getattr(seen, f"MODULE_{name}") == getattr(module, theirs)
        assert getattr(seen, f"SERVICE_{name}") == getattr(service, theirs)
    assert {
        service.ERRORS,
        service.MAX_CYCLE_TIME,
        service.CYCLE_TIME_EXCEEDED,
        service.MAX_SNAPSHOT_TIME,
        service.SNAPSHOT_TIME_EXCEEDED,
    } == seen.OF_SERVICES
