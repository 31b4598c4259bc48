"""The recording of the log ends: it is stopped by somebody, or its disk is full."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

import prerequisites
import pytest
from cluster_echo import EchoService
from cluster_talk import answers, options, talk, the_counter, tool, wait_for
from lone_modules import archive_alone, archiving_driver, command, lone_module
from peer.cluster_node import java_node, java_service, our_node
from prerequisites import needs_mounts
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import ClusterCounterType, ElectionState, ModuleState, Toggle
from aerolog.cluster.files import ClusterMarkFile, EntryType, RecordingLog
from aerolog.cluster.module.flow import Flow
from aerolog.cluster.module.lone_member import LoneMember
from aerolog.cluster.module.steady_agent import SteadyAgent
from aerolog.cluster.protocol import SCHEMA, EventCode, SessionConnectRequest, SessionEvent
from aerolog.cluster.service import ServiceContainer
from aerolog.transport.agents.doorbell import Doorbell
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.agent_runner import AgentInvoker
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import MediaDriver
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.counters import CountersManager
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from peer.cluster_node import Node

    from aerolog.transport.client import Subscription

pytestmark = [
    pytest.mark.interop,
    pytest.mark.usefixtures("reference"),
    pytest.mark.error_log(""),
    pytest.mark.processes_end,
]
STRANGER = 1999
SHARED = ("-Daeron.threading.mode=SHARED", "-Daeron.ipc.term.buffer.length=64k")


def node_of(whose: str, folder: Path) -> AbstractContextManager[Node]:
    return java_node(folder, "aeron:udp", elsewhere=1) if whose == "reference" else our_node(folder)


def echo_container(node: Node, folder: Path) -> ServiceContainer:
    return ServiceContainer(
        EchoService(), aeron_dir=node.aeron_dir, cluster_dir=f"{folder}/cluster"
    )


def service_of(whose: str, node: Node) -> AbstractContextManager[object]:
    return java_service(node) if whose == "reference" else echo_container(node, node.folder)


def counted(node: Node) -> int:
    """How many messages the service has counted."""
    with talk(node) as cluster:
        (found,) = answers(cluster, b"count")
        return int(found.split()[1])


def log_recording(node: Node) -> int:
    with RecordingLog(node.folder / "cluster", writable=False) as log:
        assert log.last_term is not None
        return log.last_term.recording_id


def terms(folder: Path) -> list[tuple[int, int, int]]:
    """Of each term: its id, and where it begins and ends in the log."""
    with RecordingLog(folder / "cluster", writable=False) as log:
        return [
            (entry.leadership_term_id, entry.term_base_log_position, entry.log_position)
            for entry in log.entries
            if entry.type == EntryType.TERM
        ]


def take_freed_counters(aeron: Aeron) -> None:
    """Have another program use ids that were freed, for values that look like positions."""
    for number in range(40):
        aeron.add_counter(STRANGER, f"stranger {number}").value = 1 << 40


class Talker:
    """Sends numbered messages as fast as it may, and notes which are answered."""

    def __init__(self, cluster: AeronCluster, length: int = 100) -> None:
        self._cluster = cluster
        self._length = length
        self.sent = 0
        self.answered: list[int] = []

    def hear(self) -> int:
        """Take what has come; returns how many answers."""
        found = [int(received.data) for received in self._cluster.poll_messages()]
        self.answered += found
        return len(found)

    def send(self, count: int) -> None:
        """Offer so many messages; those for which there is no room are left out."""
        for _ in range(count):
            if self._cluster.offer(b"%0*d" % (self._length, self.sent)) > 0:
                self.sent += 1
            self.hear()

    def is_answered(self) -> bool:
        """Send one more, and return whether anything was answered."""
        before = len(self.answered)
        self.send(1)
        return len(self.answered) > before


@pytest.mark.parametrize("service", ["reference", "ours"])
@pytest.mark.parametrize("whose", ["reference", "ours"])
def test_a_log_whose_recording_was_stopped_is_recorded_again(
    tmp_path: Path, whose: str, service: str
) -> None:
    """A new term begins where the recording has ended, and no answered message is lost."""
    with (
        node_of(whose, tmp_path) as node,
        service_of(service, node),
        Aeron(node.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        talk(node) as cluster,
    ):
        talker = Talker(cluster)
        talker.send(200)
        # The reference ends a session whose opening was not recorded.
        wait_for(lambda: bool(talker.answered or talker.hear()), "answer in the first term")
        assert archive.stop_recording_by_identity(log_recording(node))
        talker.send(50)
        take_freed_counters(aeron)
        wait_for(lambda: len(terms(tmp_path)) == 2, "second term")
        election = the_counter(aeron, ClusterCounterType.ELECTION_STATE)
        wait_for(lambda: election.value == ElectionState.CLOSED, "end of the election")
        take_freed_counters(aeron)
        while talker.hear():
            pass
        wait_for(talker.is_answered, "answer in the second term")
        assert talker.answered == sorted(set(talker.answered))
        assert archive.recording_position(log_recording(node)) is not None
        errors = tool(node, "errors")
        assert "io.aeron.cluster.client.ClusterEvent: WARN - log recording stopped: eos=f" in errors
        node.process.kill()
    (_, _, end), (_, begin, _) = terms(tmp_path)
    assert begin == end
    for mark_file in tmp_path.glob("*/*mark*.dat"):
        mark_file.unlink()  # the reference takes its owner for alive for ten seconds
    with node_of(whose, tmp_path) as node, service_of(service, node):
        assert counted(node) >= len(talker.answered)


@pytest.fixture
def steady(tmp_path: Path) -> Iterator[tuple[SteadyAgent, CountersManager, int, int]]:
    """The native part, which leads: with its counters, and the ids of recording and commits."""
    with (
        memory_folder() as home,
        MediaDriver(home / "driver", properties=Properties.from_command_line(SHARED)),
        Aeron(home / "driver") as aeron,
    ):
        agent = SteadyAgent(
            "steady", Doorbell(), aeron.conductor.liveness, SystemClock(), time_divisor=1,
            ingress_limit=1,
        )  # fmt: skip
        mapped = MappedFile.anonymous(4 * 640)
        counters = CountersManager(mapped, 0, 4 * 512, 4 * 512, 4 * 128, SystemClock(), 0)
        recorded = counters.allocate(
            ArchiveCounterType.RECORDING_POSITION, "rec-pos", registration_id=7
        )
        commit = counters.allocate(ClusterCounterType.COMMIT_POSITION, "commit", registration_id=8)
        with aeron.add_exclusive_publication("aeron:ipc", 100) as log:
            agent.lead(0, log, counters, recorded, 7, commit)
            yield agent, counters, recorded, commit


@pytest.mark.parametrize("is_taken", [False, True])
def test_nothing_is_committed_by_a_counter_that_was_freed(
    steady: tuple[SteadyAgent, CountersManager, int, int], is_taken: bool
) -> None:
    """The module is told, whether another registration has taken the counter since or not."""
    agent, counters, recorded, commit = steady
    cycles = AgentInvoker(agent)
    cycles.start()
    counters.set_value(recorded, 4096)
    cycles.invoke()
    assert counters.counter_value(commit) == 4096
    assert not agent.is_log_ended
    counters.free(recorded)
    if is_taken:
        taken = counters.allocate(STRANGER, "stranger", registration_id=9, value=1 << 40)
        assert taken == recorded
    cycles.invoke()
    assert agent.is_log_ended
    assert counters.counter_value(commit) == 4096


def test_a_recording_that_ended_before_the_term_began(
    steady: tuple[SteadyAgent, CountersManager, int, int],
) -> None:
    agent, counters, recorded, commit = steady
    counters.set_value(recorded, 4096)
    counters.set_registration_id(recorded, 9)
    cycles = AgentInvoker(agent)
    cycles.start()
    cycles.invoke()
    assert agent.is_log_ended
    assert counters.counter_value(commit) == 0


class Client:
    """A client's messages one by one, so that a test can say when each is sent and heard."""

    STREAM = 777

    def __init__(self, aeron: Aeron) -> None:
        self._aeron = aeron
        self._ingress = aeron.add_exclusive_publication("aeron:ipc", 101)
        self._egress: Subscription | None = None
        request = SessionConnectRequest(
            correlation_id=5, response_stream_id=self.STREAM, response_channel="aeron:ipc"
        )
        self._ingress.send(request.encode())

    def listen(self) -> None:
        self._egress = self._aeron.add_subscription("aeron:ipc", self.STREAM)

    def heard(self) -> list[object]:
        assert self._egress is not None
        return [SCHEMA.decode(received.data) for received in self._egress.poll_messages()]


def test_what_the_log_has_lost_is_done_in_the_next_term(
    tmp_path: Path, aeron_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Openings of sessions, timers and messages of services that were never recorded."""
    with (
        archiving_driver(tmp_path, aeron_dir),
        lone_module(tmp_path, aeron_dir) as module,
        ServiceContainer(EchoService(), aeron_dir=aeron_dir, cluster_dir=f"{tmp_path}/cluster"),
        Aeron(aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        AeronCluster(aeron, ingress_channel="aeron:ipc", egress_channel="aeron:ipc") as cluster,
    ):
        agent = module._agent
        lost = agent._context.uncommitted
        client = Client(aeron)
        cluster.send(b"timer 7 300")
        assert answers(cluster, b"hello") == [b"hello"]
        with monkeypatch.context() as held:
            held.setattr(LoneMember, "check_term", lambda _: 0)
            assert archive.stop_recording_by_identity(0)
            wait_for(lambda: agent.is_log_ended, "end of the recording")
            client.listen()
            wait_for(lambda: len(lost) == 2, "opening and timer that are not recorded")
            assert client.heard() == []
        heard: list[object] = []
        wait_for(lambda: bool(heard.extend(client.heard()) or heard), "opening of the session")
        (opened, *_) = heard
        assert isinstance(opened, SessionEvent)
        assert (opened.code, opened.leadership_term_id) == (EventCode.OK, 1)
        found: list[bytes] = []
        wait_for(
            lambda: bool(found.extend(m.data for m in cluster.poll_messages()) or found), "timer"
        )
        assert found == [b"timer 7"]
        wait_for(lambda: len(lost) == 0, "commits")


@pytest.mark.parametrize("asked", [Toggle.SNAPSHOT, Toggle.SHUTDOWN, Toggle.ABORT])
def test_what_is_asked_as_the_log_ends_is_done_in_the_next_term(
    tmp_path: Path, aeron_dir: str, monkeypatch: pytest.MonkeyPatch, asked: Toggle
) -> None:
    with (
        archiving_driver(tmp_path, aeron_dir),
        lone_module(tmp_path, aeron_dir) as module,
        ServiceContainer(EchoService(), aeron_dir=aeron_dir, cluster_dir=f"{tmp_path}/cluster"),
        Aeron(aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        AeronCluster(aeron, ingress_channel="aeron:ipc", egress_channel="aeron:ipc") as cluster,
    ):
        parts = module._agent._parts
        assert answers(cluster, b"hello") == [b"hello"]
        with monkeypatch.context() as held:
            held.setattr(Flow, "turn", lambda _: 0)
            number = the_counter(aeron, ClusterCounterType.CONTROL_TOGGLE).counter_id
            assert aeron.conductor.counters.compare_and_set(number, Toggle.NEUTRAL, asked)
            wait_for(lambda: parts.flow.is_under_way, "begin of what was asked")
            assert archive.stop_recording_by_identity(0)
            wait_for(lambda: parts.context.log is None, "end of the log")
        wait_for(lambda: len(terms(tmp_path)) == 2, "second term")
        if asked is Toggle.SNAPSHOT:
            wait_for(
                lambda: the_counter(aeron, ClusterCounterType.SNAPSHOT_COUNT).value == 1, "snapshot"
            )
            wait_for(
                lambda: bool(cluster.poll_messages() or cluster.leadership_term_id == 1),
                "word of the next term",
            )
            assert answers(cluster, b"after") == [b"after"]
        else:
            wait_for(lambda: module.state is ModuleState.CLOSED, "end of the cluster")
        assert module.failure is None


def test_operations_go_on_in_the_next_term(tmp_path: Path) -> None:
    """The cluster stays suspended, takes snapshots, and starts from them.

    The reference's node does not notice while it is suspended.
    """
    with (
        our_node(tmp_path) as node,
        service_of("ours", node),
        Aeron(node.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        talk(node) as cluster,
    ):
        assert answers(cluster, b"one") == [b"one"]
        assert "SUSPEND applied successfully" in tool(node, "suspend")
        stop_and_elect(archive, node, cluster)
        assert the_counter(aeron, ClusterCounterType.MODULE_STATE).value == ModuleState.SUSPENDED
        assert "RESUME applied successfully" in tool(node, "resume")
        assert "SNAPSHOT applied successfully" in tool(node, "snapshot")
        assert answers(cluster, b"two") == [b"two"]
        stop_and_elect(archive, node, cluster)
        assert "SNAPSHOT applied successfully" in tool(node, "snapshot")
        assert answers(cluster, b"three") == [b"three"]
    with our_node(tmp_path) as node, service_of("ours", node):
        assert counted(node) == 3
    assert [term_id for term_id, _, _ in terms(tmp_path)] == [0, 1, 2, 3]


def stop_and_elect(archive: AeronArchive, node: Node, cluster: AeronCluster) -> None:
    """Stop the recording of the log, and wait until the client knows the next term."""
    before = cluster.leadership_term_id
    assert archive.stop_recording_by_identity(log_recording(node))

    def is_told() -> bool:
        cluster.poll_messages()
        return cluster.leadership_term_id == before + 1

    wait_for(is_told, "next term")


@pytest.mark.parametrize("fate", [signal.SIGKILL, signal.SIGSTOP])
def test_an_archive_that_is_gone_ends_the_module(
    tmp_path: Path, aeron_dir: str, fate: signal.Signals
) -> None:
    with (
        command(
            "driver",
            f"aeron.dir={aeron_dir}",
            "aeron.threading.mode=SHARED",
            "aeron.client.liveness.timeout=2s",
        ),
        archive_alone(tmp_path, aeron_dir) as archive,
        lone_module(tmp_path, aeron_dir) as module,
        ServiceContainer(EchoService(), aeron_dir=aeron_dir, cluster_dir=f"{tmp_path}/cluster"),
        Aeron(aeron_dir) as aeron,
        AeronCluster(aeron, ingress_channel="aeron:ipc", egress_channel="aeron:ipc") as cluster,
    ):
        assert answers(cluster, b"hello") == [b"hello"]
        archive.process.send_signal(fate)
        wait_for(lambda: module.failure is not None, "end of the module")
        assert "local archive is not connected" in str(module.failure)
        archive.kill()


@needs_mounts
def test_a_full_disk_ends_the_node(tmp_path: Path) -> None:
    """It says why, and what it has answered is there when it is started with more room."""
    settings = (
        "aeron.cluster.log.channel=aeron:ipc?term-length=64k",
        "aeron.archive.low.storage.space.threshold=0",
        "aeron.archive.segment.file.length=64k",
        f"aeron.cluster.dir={tmp_path}/cluster",
    )
    with prerequisites.small_disk(tmp_path / "disk", 6 << 20) as disk:
        with (
            our_node(disk, *settings) as node,
            echo_container(node, tmp_path),
            Aeron(node.aeron_dir, on_error=lambda error: None) as aeron,
            AeronCluster(aeron, **options(node)) as cluster,
        ):
            talker = Talker(cluster, 4000)

            def has_ended() -> bool:
                talker.send(50)
                return not node.process.running

            with contextlib.suppress(AerologError):  # the node's end also ends the client
                wait_for(has_ended, "end of the node")
            assert node.process.wait() == 1
        assert (
            "the archive has ended recording 0, the log: java.io.IOException" in node.process.log()
        )
        errors = [each.text for each in ClusterMarkFile.open(tmp_path / "cluster").errors()]
        assert any("No space left on device" in text for text in errors)
        prerequisites.grow_disk(disk, 64 << 20)
        with our_node(disk, *settings) as node, echo_container(node, tmp_path):
            assert talker.answered
            assert counted(node) >= len(talker.answered)
