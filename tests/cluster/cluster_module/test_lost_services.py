"""A node ends when a service's container has ended or stands still, ours and the reference's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest
from cluster_echo import EchoService
from cluster_talk import answers, talk, wait_for
from peer.cluster_node import java_node, java_service, our_node

from aerolog.cluster.counter_types import ClusterCounterType, ModuleState
from aerolog.cluster.errors import SERVICE_LOST
from aerolog.cluster.files import ClusterMarkFile
from aerolog.cluster.service import ServiceContainer
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from pathlib import Path

    from peer.cluster_node import Node

pytestmark = [pytest.mark.interop, pytest.mark.error_log(""), pytest.mark.processes_end]
TOOL = [sys.executable, "-m", "aerolog.tools.main"]
#: The driver's, which says how long a container may be silent.
TIMEOUT = ("aeron.client.liveness.timeout", "3s")


def a_node(whose: str, folder: Path, opened: ExitStack, services: int = 1) -> Node:
    name, value = TIMEOUT
    if whose == "reference":
        properties = {name: value}
        node = java_node(folder, "aeron:udp", elsewhere=services, properties=properties)
    else:
        node = our_node(folder, f"{name}={value}", f"aeron.cluster.service.count={services}")
    return opened.enter_context(node)


def errors(node: Node) -> list[str]:
    """The module's, in words."""
    with closing(ClusterMarkFile.open(node.folder / "cluster")) as mark:
        return [error.text for error in mark.errors()]


def lost(node: Node) -> bool:
    return any(SERVICE_LOST in text for text in errors(node))


@pytest.mark.parametrize("whose", ["reference", "ours"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_a_node_ends_with_its_service(
    tmp_path: Path, reference: object, whose: str, number: signal.Signals
) -> None:
    with ExitStack() as opened:
        node = a_node(whose, tmp_path, opened)
        container = opened.enter_context(java_service(node))
        with talk(node) as cluster:
            assert answers(cluster, b"one") == [b"one"]
        os.kill(container.pid, number)
        wait_for(lambda: lost(node), "word of the lost service")
        if number == signal.SIGSTOP:
            os.kill(container.pid, signal.SIGCONT)
        if whose == "ours":
            assert node.process.wait() == 1
            assert f"ERROR: {SERVICE_LOST}0" in node.process.log()
            assert len(errors(node)) == 1


@pytest.mark.parametrize("whose", ["reference", "ours"])
def test_a_service_that_stands_still_for_a_moment_goes_on(
    tmp_path: Path, reference: object, whose: str
) -> None:
    with ExitStack() as opened:
        node = a_node(whose, tmp_path, opened)
        container = opened.enter_context(java_service(node))
        with talk(node) as cluster:
            assert answers(cluster, b"one") == [b"one"]
            os.kill(container.pid, signal.SIGSTOP)
            cluster.send(b"two")
            os.kill(container.pid, signal.SIGCONT)
            assert next(iter(cluster.messages())).data == b"two"
        assert not lost(node)


def test_one_of_two_services_leaves_before_the_other_has_come(tmp_path: Path) -> None:
    """The module waits for a service that has not come; one that was there has gone."""
    with ExitStack() as opened:
        node = a_node("ours", tmp_path, opened, services=2)
        with ServiceContainer(
            EchoService(), aeron_dir=node.aeron_dir, cluster_dir=str(tmp_path / "cluster")
        ) as container:
            agent = container._agent
            wait_for(lambda: agent is not None and agent.is_started, "start of the service")
        assert node.process.wait() == 1
        assert lost(node)


@pytest.mark.parametrize("asked", ["snapshot", "shutdown"])
def test_no_wait_outlives_a_stopped_service(tmp_path: Path, reference: object, asked: str) -> None:
    """The tool says why the node has not done what it was asked for."""
    with ExitStack() as opened:
        node = a_node("ours", tmp_path, opened)
        container = opened.enter_context(java_service(node))
        with talk(node) as cluster:
            assert answers(cluster, b"one") == [b"one"]
        os.kill(container.pid, signal.SIGSTOP)
        folder = str(node.folder / "cluster")
        done = subprocess.run(
            [*TOOL, "cluster", asked, folder, "--yes"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        os.kill(container.pid, signal.SIGCONT)
        assert done.returncode == 1
        assert f"the node ended before it had done {asked}" in done.stderr
        assert SERVICE_LOST in done.stderr
        assert node.process.wait() == 1


def test_a_service_that_goes_while_the_cluster_ends_does_not_hold_it_up(
    tmp_path: Path, reference: object
) -> None:
    """An abort waits for a stopped service no longer than its client is there."""
    with ExitStack() as opened:
        node = a_node("ours", tmp_path, opened)
        container = opened.enter_context(java_service(node))
        with talk(node) as cluster:
            assert answers(cluster, b"one") == [b"one"]
        with Aeron(node.aeron_dir) as aeron:
            os.kill(container.pid, signal.SIGSTOP)
            state = aeron.counters.find(type_id=ClusterCounterType.MODULE_STATE)
            assert state is not None
            assert state.value == ModuleState.ACTIVE
        folder = str(node.folder / "cluster")
        done = subprocess.run([*TOOL, "cluster", "abort", folder, "--yes"], timeout=60, check=False)
        assert done.returncode == 0
        assert node.process.wait() == 0
        container.kill()


def test_the_driver_of_a_node_is_killed_while_it_waits(tmp_path: Path, reference: object) -> None:
    """A container that still waits for its module ends with the driver."""
    with ExitStack() as opened:
        node = a_node("ours", tmp_path, opened, services=2)
        container = opened.enter_context(java_service(node, service_id=0))
        node.process.kill()
        container.wait_line("terminated")
