"""Timers that are due at one time expire in the reference's order, with both kinds of timers."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from cluster_talk import heard, options, tool, wait_for
from peer.cluster_node import java_node, java_service, our_node

from aerolog.cluster.client import AeronCluster
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from pathlib import Path

    from peer.cluster_node import Node

pytestmark = pytest.mark.interop
PROPERTY = "aeron.cluster.timer.service.supplier"
#: Within a tick of 8 ms, ticks apart, and a turn of the wheel apart.
OFFSETS = (0, 3, 3, 5, 8, 9, 12, 30, 31, 1024, 1025)


def program(seed: int) -> tuple[str, int]:
    """What the service is asked for, and how many timers will expire."""
    dice = random.Random(seed)
    words: list[str] = []
    live: set[int] = set()
    for number in range(1, 61):
        what = dice.random()
        if live and what < 0.12:
            taken_back = dice.choice(sorted(live))
            live.remove(taken_back)
            words.append(f"-{taken_back}")
            continue
        moved = dice.choice(sorted(live)) if live and what < 0.2 else number
        live.add(moved)
        words.append(f"{moved}:{dice.choice(OFFSETS)}")
    return " ".join(words), len(live)


def start(stack: ExitStack, make: str, folder: Path, kind: str) -> Node:
    supplier = f"io.aeron.cluster.{kind}TimerServiceSupplier"
    folder.mkdir()
    if make == "ours":
        return stack.enter_context(our_node(folder, f"{PROPERTY}={supplier}"))
    properties = {PROPERTY: supplier}
    return stack.enter_context(java_node(folder, "aeron:udp", elsewhere=1, properties=properties))


def expiries(make: str, folder: Path, kind: str) -> list[list[str]]:
    """The ids of timers that expired, for each of some programs, in their order."""
    found = []
    with ExitStack() as stack:
        node = start(stack, make, folder, kind)
        stack.enter_context(java_service(node, "ClusterTimers"))
        aeron = stack.enter_context(Aeron(node.aeron_dir))
        cluster = stack.enter_context(AeronCluster(aeron, **options(node)))
        for seed in range(2):
            text, count = program(seed)
            cluster.send(text.encode())
            (scheduled,) = heard(cluster)
            due_ms = int(scheduled.split()[1]) + max(OFFSETS)
            assert "SUSPEND applied" in tool(node, "suspend")

            def is_due(due_ms: int = due_ms) -> bool:
                cluster.keep_alive()
                return time.time_ns() // 1_000_000 > due_ms

            wait_for(is_due, "end of the last timer's time")
            assert "RESUME applied" in tool(node, "resume")
            found.append([message.split()[1].decode() for message in heard(cluster, count)])
    return found


@pytest.mark.parametrize("kind", ["Wheel", "PriorityHeap"])
def test_timers_of_one_time_expire_as_the_reference_s(
    tmp_path: Path, reference: object, kind: str
) -> None:
    ours, theirs = (expiries(make, tmp_path / make, kind) for make in ("ours", "reference"))
    assert ours == theirs
