"""The types of counters are those of the reference's table, each known by a name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from peer.artifact import program, run

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.transport.counters.counter_types import CounterType

if TYPE_CHECKING:
    from peer.artifact import Toolchain

    from aerolog.transport.counters.counter_kind import CounterKind

pytestmark = pytest.mark.interop
CONSTANT = re.compile(r"int (\w+)_TYPE_ID = (\d+);")
CLUSTER_PARTS = ("BACKUP", "STANDBY", "TRANSITION", "ERROR", "ELECTION", "TOGGLE")
ARCHIVE_PARTS = ("ERROR", "CONTROL_SESSION", "MAX_", "LIVE_", "JOIN", "REPLAY_SESSION")
DRIVER_PARTS = ("PUBLISHER", "SENDER", "RECEIVER", "NAKS", "HEARTBEAT", "NEIGHBOR", "CHANNEL")


@pytest.mark.parametrize(
    ("table", "numbers", "parts"),
    [
        (CounterType, range(50), DRIVER_PARTS),
        (ArchiveCounterType, range(100, 200), ARCHIVE_PARTS),
        (ClusterCounterType, range(200, 300), CLUSTER_PARTS),
    ],
)
def test_all_types_have_names(
    reference: Toolchain, table: type[CounterKind], numbers: range, parts: tuple[str, ...]
) -> None:
    javap = program("javap", "openjdk-17-jdk-headless")
    command = [javap, "-constants", "-cp", str(reference.jar), "io.aeron.AeronCounters"]
    found = CONSTANT.findall(run(command, "javap", 60))
    theirs = {int(number): name for name, number in found if int(number) in numbers}
    ours = {each.value: each.name for each in table if each in numbers}
    assert len(theirs) > 15
    assert ours.keys() == theirs.keys()
    for part in parts:
        named = [{each for each, name in names.items() if part in name} for names in (ours, theirs)]
        assert named[0] == named[1], part
