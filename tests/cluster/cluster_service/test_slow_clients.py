"""Clients that leave, die, stop or never read: how long a service waits for them, and what is lost.

Waits are taken from the container's own counters, since a busy machine makes every wait longer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from cluster_echo import BatchEchoService, EchoService, NativeEchoService
from cluster_talk import answers, options, the_counter, wait_for

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.transport.client import Aeron
from aerolog.transport.time_units import NS_PER_S

from .conftest import container, node_of_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from peer.cluster_node import Node

pytestmark = [pytest.mark.interop, pytest.mark.error_log("")]

SERVICES = (EchoService, BatchEchoService, NativeEchoService)
#: Nanoseconds that all clients may make the others wait within a second, with some for the clock.
MOST_NS = 100_000_000
SLACK_NS = 20_000_000
CLIENTS = 10
ROUND_TRIPS = 30
# A small egress, so that it is full soon; the session stays open for the whole test.
EGRESS = "aeron:udp?endpoint=localhost:0|term-length=64k|rcv-wnd=64k"
SETTINGS = ("aeron.cluster.session.timeout=120s", "aeron.cluster.max.sessions=100")
LEAVING = """
import os, sys
from aerolog.cluster.client import AeronCluster
aeron_dir, endpoints, egress, end = sys.argv[1:]
client = AeronCluster(
    aeron_dir=aeron_dir, ingress_channel="aeron:udp", ingress_endpoints=endpoints,
    egress_channel=egress, message_timeout=60,
)
for _ in range(5):
    client.send(b"unread", timeout=60)
print("sent", flush=True)
sys.stdin.readline()
if end == "close":
    client.close()
os._exit(0)
"""


class Scene:
    """A node with a service, a client that must not suffer, and what the container counts."""

    def __init__(self, node: Node, aeron: Aeron, cluster: AeronCluster) -> None:
        self.node = node
        self.aeron = aeron
        self.cluster = cluster
        self.missed = the_counter(aeron, ClusterCounterType.SERVICE_MISSED)
        self.waited = the_counter(aeron, ClusterCounterType.SERVICE_EGRESS_WAIT)

    def check_echo(self) -> None:
        assert answers(self.cluster, b"own") == [b"own"]

    @contextmanager
    def clients(self, count: int, end: str) -> Iterator[list[subprocess.Popen[str]]]:
        """Processes that have sent messages and read no answer; they go on by a line."""
        arguments = [self.node.aeron_dir, self.node.endpoints, EGRESS, end]
        command = [sys.executable, "-W", "ignore", "-c", LEAVING, *arguments]
        pipe = subprocess.PIPE
        started = [
            subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(count)
        ]
        try:
            for client in started:
                assert client.stdout is not None
                assert client.stdout.readline() == "sent\n"
            yield started
            for client in started:
                client.communicate("go on\n", timeout=60)
                assert client.returncode == 0
        finally:
            for client in started:
                client.kill()
                client.communicate()

    def fill(self, client: AeronCluster, until: Callable[[], bool]) -> None:
        """Have the service send to a client that reads nothing, until a condition holds."""

        def sends() -> bool:
            client.offer(b"y" * 1_000)
            return until()

        wait_for(sends, "end of the filling")


@contextmanager
def a_scene(folder: Path, service: Any, **given: Any) -> Iterator[Scene]:
    with (
        node_of_ours(folder, settings=SETTINGS) as node,
        container(node, service(), **given),
        Aeron(node.aeron_dir) as aeron,
        AeronCluster(aeron, **options(node, message_timeout=60)) as cluster,
    ):
        yield Scene(node, aeron, cluster)


@pytest.fixture(params=SERVICES, ids=lambda service: service.__name__)
def scene(request: pytest.FixtureRequest, tmp_path: Path, reference: object) -> Iterator[Scene]:
    with a_scene(tmp_path, request.param) as made:
        yield made


def unread_client(scene: Scene) -> AeronCluster:
    given = options(scene.node, egress_channel=EGRESS, message_timeout=60)
    return AeronCluster(scene.aeron, **given)


@pytest.mark.parametrize("end", ["close", "die"])
def test_ten_clients_that_leave_at_once(scene: Scene, end: str) -> None:
    with scene.clients(CLIENTS, end):
        scene.check_echo()
    scene.check_echo()
    assert scene.waited.value <= CLIENTS * MOST_NS + SLACK_NS


def test_ten_clients_that_never_read(scene: Scene) -> None:
    with ExitStack() as opened:
        clients = [opened.enter_context(unread_client(scene)) for _ in range(CLIENTS)]
        for client in clients:
            missed = scene.missed.value
            scene.fill(client, lambda missed=missed: scene.missed.value > missed)
        waited, missed = scene.waited.value, scene.missed.value
        assert waited > 0
        for client in clients:  # they do not read, so the service does not wait for them again
            scene.fill(client, lambda missed=missed: scene.missed.value > missed)
        scene.check_echo()
        assert scene.waited.value == waited


@pytest.mark.parametrize("reads", [False, True], ids=["never", "now and then"])
def test_ten_slow_clients_leave_time_for_one_that_reads(scene: Scene, reads: bool) -> None:
    """Together they make it wait for as long as one may, also when they have read a little."""
    with ExitStack() as opened:
        clients = [opened.enter_context(unread_client(scene)) for _ in range(CLIENTS)]
        watch = Watch(scene)

        def all_miss() -> bool:
            for client in clients:
                for _ in range(10):
                    client.offer(b"y" * 1_000)
                if reads:
                    client.poll_batch(5)
            watch.round_trip()
            return scene.missed.value > 10 * CLIENTS and watch.round_trips >= ROUND_TRIPS

        wait_for(all_miss, "messages that the slow clients miss")
        watch.check()
        assert scene.waited.value > 0


class Watch:
    """A client that reads: how long the service has waited for others during its messages."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._began_ns = time.monotonic_ns()
        self._waited_ns = scene.waited.value
        self._longest_ns = 0
        self.round_trips = 0

    def round_trip(self) -> None:
        before = self._scene.waited.value
        self._scene.check_echo()
        self._longest_ns = max(self._longest_ns, self._scene.waited.value - before)
        self.round_trips += 1

    def check(self) -> None:
        took_ns = time.monotonic_ns() - self._began_ns
        waited_ns = self._scene.waited.value - self._waited_ns
        assert waited_ns <= MOST_NS + took_ns * MOST_NS // NS_PER_S + SLACK_NS
        assert self._longest_ns <= MOST_NS + SLACK_NS


def test_a_client_that_reads_again_gets_messages_again(scene: Scene) -> None:
    with unread_client(scene) as slow:
        scene.fill(slow, lambda: scene.missed.value > 0)
        missed = scene.missed.value

        def has_read() -> bool:
            return slow.poll_batch() is not None and scene.missed.value == missed

        def hears_again() -> bool:
            slow.offer(b"again")
            return any(each.data == b"again" for each in slow.poll_batch())

        wait_for(has_read, "end of the reading")
        wait_for(hears_again, "message after the reading")


def test_a_stopped_client(scene: Scene) -> None:
    with scene.clients(1, "die") as (client,):
        os.kill(client.pid, signal.SIGSTOP)
        try:
            for _ in range(20):
                scene.check_echo()
        finally:
            os.kill(client.pid, signal.SIGCONT)
        assert scene.waited.value <= MOST_NS + SLACK_NS


def test_the_timeout_is_an_option(tmp_path: Path, reference: object) -> None:
    with (
        a_scene(tmp_path, EchoService, send_timeout=0) as scene,
        unread_client(scene) as slow,
    ):
        scene.fill(slow, lambda: scene.missed.value > 10)
        assert scene.waited.value <= SLACK_NS  # for a term of the egress log that ended
        scene.check_echo()
