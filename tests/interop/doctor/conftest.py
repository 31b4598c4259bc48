"""What breaks drivers and archives of either kind, and a doctor who looks until he finds it."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from waits import wait_until

from aerolog.tools.doctor.check_groups import examine
from aerolog.tools.doctor.examination import Examination
from aerolog.tools.doctor.system_snapshot import Case
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peer.servers import Server

    from aerolog.tools.doctor.findings import Finding

PATIENCE_S = 60.0
INTERVAL_NS = 300_000_000


class Doctor:
    """Two looks at a driver, an archive and a cluster's node; findings by code."""

    def __init__(
        self, aeron_dir: object = None, archive_dir: object = None, cluster_dir: object = None
    ) -> None:
        given = (aeron_dir, archive_dir, cluster_dir)
        self.names = tuple(None if one is None else str(one) for one in given)

    def look(self, *, deep: bool = False) -> list[Finding]:
        """Everything that is found now."""
        examination = Examination(*self.names, deep=deep)
        before = examination.look(inside=False)
        # The second look has to lie an interval behind the first: that is what is tested.
        wait_until(
            lambda: time.monotonic_ns() - before.monotonic_ns >= INTERVAL_NS, "the second look"
        )
        return examine(Case(examination.settle(examination.look()), before))

    def find(
        self, code: str, that: Callable[[Finding], object] = lambda _: True, *, deep: bool = False
    ) -> Finding:
        """Looks until something is found that fits."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = self.look(deep=deep)
            for one in found:
                if one.code == code and that(one):
                    return one
            assert time.monotonic() < deadline, f"no {code} in {[f.as_json() for f in found]}"


@pytest.fixture
def doctor() -> type[Doctor]:
    """``doctor(aeron_dir, archive_dir).find("driver-dead")``."""
    return Doctor


@pytest.fixture(params=["ours", "reference"])
def implementation(request: pytest.FixtureRequest) -> str:
    """Each test breaks ours and the reference's."""
    name: str = request.param
    return name


@contextmanager
def client_process(server: Server) -> Iterator[subprocess.Popen[str]]:
    """A client in a process of its own that subscribes, and waits to be killed."""
    code = f"""
import sys, time
from aerolog.transport.client import Aeron
aeron = Aeron({server.aeron_dir!r}, name="victim")
subscription = aeron.add_subscription("aeron:ipc", 7)
print("ready", flush=True)
time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture
def connect() -> Iterator[Callable[[Server], Aeron]]:
    """``connect(server)``: a client of ours, closed after the test even if its driver is gone."""
    clients: list[Aeron] = []

    def make(server: Server) -> Aeron:
        clients.append(Aeron(server.aeron_dir, name="tester"))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
