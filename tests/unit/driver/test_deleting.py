"""Deleting logs: some at a time, and fewer when it takes long, because clients wait meanwhile."""

from itertools import pairwise
from pathlib import PurePath

import pytest

from aerolog.transport.protocol import commands as c

LOGS = 25
LIMIT = 10  # aeron.driver.resource.free.limit
LINGER_S = 5
S = 1_000_000_000


def logs_that_end_together(bench):
    """Publications that a client has closed, a moment before their logs may go."""
    ready = [bench.publication(f"aeron:ipc?alias={i}", stream_id=i) for i in range(LOGS)]
    for one in ready:
        bench.do(lambda i, n, one=one: c.RemovePublication(i, n, one.registration_id))
    return PurePath(bench.driver.aeron_dir, "publications")


@pytest.mark.parametrize(("took_ns", "at_once"), [(0, LIMIT), (100_000, 3), (4_000_000, 1)])
def test_deleting_stops_for_commands(bench, monkeypatch, took_ns, at_once):
    folder = str(logs_that_end_together(bench))
    remove = bench.files.remove

    def slow_remove(path):
        bench.clock.advance_ns(took_ns)
        remove(path)

    monkeypatch.setattr(bench.files, "remove", slow_remove)
    left = [len(bench.files.list_dir(folder))]
    assert left == [LOGS]
    deadline = bench.clock.now_ns() + 4 * LINGER_S * S
    while left[-1]:
        assert bench.clock.now_ns() < deadline
        if not bench.driver.do_work():
            bench.clock.advance_ns(bench.STEP_NS)
            bench.beat(bench.client_id)
        now = len(bench.files.list_dir(folder))
        if now != left[-1]:
            left.append(now)
    assert max(before - after for before, after in pairwise(left)) == at_once
