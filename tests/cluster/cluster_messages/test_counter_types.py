"""The types of a cluster's counters: those of the reference's table, each known by a name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from peer.artifact import program, run

from aerolog.cluster.counter_types import ClusterCounterType

if TYPE_CHECKING:
    from peer.artifact import Toolchain

pytestmark = pytest.mark.interop
CONSTANT = re.compile(r"int (\w+)_TYPE_ID = (2\d\d);")


def test_all_types_have_names(reference: Toolchain) -> None:
    javap = program("javap", "openjdk-17-jdk-headless")
    command = [javap, "-constants", "-cp", str(reference.jar), "io.aeron.AeronCounters"]
    theirs = {int(number): name for name, number in CONSTANT.findall(run(command, "javap", 60))}
    ours = {each.value: each.name for each in ClusterCounterType if each in range(200, 300)}
    assert len(theirs) > 35
    assert ours.keys() == theirs.keys()
    for part in ("BACKUP", "STANDBY", "TRANSITION", "ERROR", "ELECTION", "TOGGLE"):
        named = [{each for each, name in names.items() if part in name} for names in (ours, theirs)]
        assert named[0] == named[1], part
