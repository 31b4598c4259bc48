"""The archive is killed in each wait of the module and of the container; all of them end.

The table has a wait in each line: what a node does then, and the step in which its archive, a
process of its own, is killed.
"""

from __future__ import annotations

import functools
import threading
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from cluster_echo import EchoService
from cluster_talk import answers, the_counter, toggle
from lone_modules import archive_alone, command, lone_module
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import ClusterCounterType, Toggle
from aerolog.cluster.files import ClusterMarkFile, RecordingLog, service_mark_name
from aerolog.cluster.module import node_snapshot
from aerolog.cluster.module.election import Election
from aerolog.cluster.module.extension_turns import ExtensionTurns
from aerolog.cluster.module.lone_member import LoneMember
from aerolog.cluster.module.module_agent import ModuleAgent
from aerolog.cluster.module.recovery import Recovery
from aerolog.cluster.service import ServiceContainer, service_agent
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.process import ServerProcess

    from aerolog.cluster.module.consensus_module import ConsensusModule

pytestmark = [
    pytest.mark.interop,
    pytest.mark.usefixtures("reference"),
    pytest.mark.error_log(""),
    pytest.mark.processes_end,
]
IPC = {"ingress_channel": "aeron:ipc", "egress_channel": "aeron:ipc"}
ARCHIVE_GONE = "local archive is not connected"


class Wait(NamedTuple):
    """A wait: where the archive is killed, what the node has, and what it is asked.

    Attributes:
        owner: of the function that begins the wait.
        name: of the function.
        has: what the node starts with: nothing, a log, or a snapshot and a log.
        asked: of the node once it serves; NEUTRAL for a wait of the start.
        service: whether a service has found the node, and ends with it.
        reason: in the module's error log.
    """

    owner: Any
    name: str
    has: str = "log"
    asked: Toggle = Toggle.NEUTRAL
    service: bool = True
    reason: str = ARCHIVE_GONE


WAITS = {
    "session with the archive": Wait(ModuleAgent, "_start", service=False, reason="archive"),
    "plan of the start": Wait(Recovery, "_recovery_plan", service=False),
    "look for a log": Wait(Recovery, "_check_empty_log", "nothing"),
    "load of the module's snapshot": Wait(Recovery, "_load_snapshot", "snapshot", service=False),
    "load of a service's snapshot": Wait(service_agent, "load_snapshot", "snapshot"),
    "start of a service that does not come": Wait(ExtensionTurns, "start", service=False),
    "replay of the log": Wait(Election, "_replay"),
    "join of the replayed log": Wait(Election, "_join"),
    "opening of the log": Wait(Election, "_open_log"),
    "opening of the first log": Wait(Election, "_open_log", "nothing"),
    "join of the first log": Wait(Election, "_join", "nothing"),
    "snapshot of a service": Wait(service_agent, "take_snapshot", "nothing", Toggle.SNAPSHOT),
    "snapshot of the module": Wait(node_snapshot, "write_snapshot", "nothing", Toggle.SNAPSHOT),
    "snapshot before a shutdown": Wait(node_snapshot, "write_snapshot", "log", Toggle.SHUTDOWN),
    "next election": Wait(LoneMember, "_lead_again", "nothing", Toggle.INACTIVE),
}


@pytest.fixture
def driver(aeron_dir: str) -> Iterator[ServerProcess]:
    with command(
        "driver",
        f"aeron.dir={aeron_dir}",
        "aeron.threading.mode=SHARED",
        "aeron.client.liveness.timeout=2s",
    ) as process:
        yield process


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def a_service(folder: Path, aeron_dir: str) -> ServiceContainer:
    return ServiceContainer(EchoService(), aeron_dir=aeron_dir, cluster_dir=f"{folder}/cluster")


def prepare(has: str, folder: Path, aeron_dir: str) -> None:
    """Leaves what a node starts with."""
    if has == "nothing":
        return
    with (
        archive_alone(folder, aeron_dir),
        lone_module(folder, aeron_dir),
        a_service(folder, aeron_dir),
        Aeron(aeron_dir) as aeron,
        AeronCluster(aeron, **IPC) as cluster,
    ):
        for number in range(20):
            assert answers(cluster, b"%d" % number) == [b"%d" % number]
        if has == "snapshot":
            toggle(aeron, Toggle.SNAPSHOT)
            assert answers(cluster, b"after it") == [b"after it"]


def ask(asked: Toggle, module: ConsensusModule, aeron_dir: str, answered: threading.Event) -> None:
    """Asks a node for something once it serves, and notes that its archive has answered."""
    with Aeron(aeron_dir) as aeron, AeronCluster(aeron, **IPC) as cluster:
        assert answers(cluster, b"hello") == [b"hello"]
        if asked is not Toggle.INACTIVE:
            number = the_counter(aeron, ClusterCounterType.CONTROL_TOGGLE).counter_id
            assert aeron.conductor.counters.compare_and_set(number, Toggle.NEUTRAL, asked)
            wait_until(lambda: module.failure is not None, "end of the module")
            return
        with (
            RecordingLog(module.cluster_dir, writable=False) as log,
            AeronArchive(aeron) as archive,
        ):
            assert log.last_term is not None
            assert archive.stop_recording_by_identity(log.last_term.recording_id)
            answered.set()
        wait_until(lambda: module.failure is not None, "end of the module")


def errors(folder: Path, **name: str) -> list[str]:
    with closing(ClusterMarkFile.open(folder / "cluster", **name)) as mark_file:
        return [each.text for each in mark_file.errors()]


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_wait_ends_with_the_archive(
    wait: Wait,
    tmp_path: Path,
    aeron_dir: str,
    driver: ServerProcess,
    opened: ExitStack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepare(wait.has, tmp_path, aeron_dir)
    archive = opened.enter_context(archive_alone(tmp_path, aeron_dir))
    begin = getattr(wait.owner, wait.name)
    begun: list[object] = []
    answered = threading.Event()
    if wait.asked is not Toggle.INACTIVE:
        answered.set()

    @functools.wraps(begin)
    def kill(*given: Any, **named: Any) -> Any:
        assert answered.wait(60), "no answer of the archive to the stop of the recording"
        begun.append(archive.process.kill())
        return begin(*given, **named)

    monkeypatch.setattr(wait.owner, wait.name, kill)
    module = opened.enter_context(closing(lone_module(tmp_path, aeron_dir)))
    service = opened.enter_context(a_service(tmp_path, aeron_dir)) if wait.service else None
    if wait.asked is not Toggle.NEUTRAL:
        ask(wait.asked, module, aeron_dir, answered)
    wait_until(lambda: module.failure is not None, "end of the module")
    assert begun
    assert any(wait.reason in text for text in errors(tmp_path)), errors(tmp_path)
    if service is not None:
        module.close()  # as its process does, whose exit code is then 1
        wait_until(lambda: not service.is_running, "end of the service")
        assert service.failure is not None
        assert errors(tmp_path, name=service_mark_name(0))
