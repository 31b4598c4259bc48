"""The life of a service: start, recovery, snapshots, errors, the end."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from cluster_echo import BatchEchoService, DiceService, EchoService
from cluster_talk import answers, heard, talk, tool, wait_for
from peer.cluster_node import free_ports, java_service

from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.cluster.files import ClusterMarkFile, RecordingLog, service_mark_name
from aerolog.cluster.module import ClusteredMediaDriver
from aerolog.cluster.service import (
    ActiveClusterError,
    ClusteredService,
    ClusterError,
    ServiceContainer,
)
from aerolog.transport.client import Aeron, CountersReader
from aerolog.transport.config.sources import Properties

from .conftest import container, node_of_ours, reference_node

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.cluster.service import Cluster, SessionMessage, SnapshotReader

    from .conftest import NodeMaker

pytestmark = [
    pytest.mark.interop,
    pytest.mark.error_log(
        "asked to raise",
        "asked to spoil the snapshot",
        "failed to take snapshot",
        "failed to start clustered service",
        "cannot start",
        "did not start",
        "expected termination",
        "incompatible version",
        "interrupted",
        "the media driver in",
    ),
    pytest.mark.error_log("closed unexpectedly", "service termination position"),
    pytest.mark.processes_end,
]


def mark_file(folder: Path, service_id: int = 0) -> ClusterMarkFile:
    return ClusterMarkFile.open(folder / "cluster", name=service_mark_name(service_id))


def test_a_service_goes_on_where_it_was(tmp_path: Path, make_node: NodeMaker) -> None:
    """From the log alone, and from a snapshot with a log behind it, after an end and a kill."""
    for round_number in range(3):
        service = EchoService()
        with make_node(tmp_path) as node, container(node, service):
            with talk(node) as cluster:
                assert answers(cluster, b"count") == [b"count %d" % (2 * round_number)]
                assert answers(cluster, b"one") == [b"one"]
                if round_number == 1:
                    assert "SNAPSHOT applied" in tool(node, "snapshot")
                assert answers(cluster, b"two") == [b"two"]
            if round_number == 1 and make_node is node_of_ours:
                node.process.kill()
        start = "start from snapshot" if round_number == 2 else "start"
        assert service.calls == [start, "LEADER", "terminate"]


def test_sessions_and_timers_outlive_a_snapshot(tmp_path: Path, make_node: NodeMaker) -> None:
    with make_node(tmp_path) as node, container(node, EchoService()), talk(node) as cluster:
        cluster.send(b"timer 5 100")
        cluster.send(b"timer 6 3600000")
        assert heard(cluster) == [b"timer 5"]
        assert "SNAPSHOT applied" in tool(node, "snapshot")
        session_id = cluster.cluster_session_id
    opened: list[int] = []

    class Witness(EchoService):
        def on_start(self, cluster: Cluster, snapshot: SnapshotReader | None) -> None:
            super().on_start(cluster, snapshot)
            opened.extend(cluster.sessions)

    with make_node(tmp_path) as node, container(node, Witness()), talk(node) as cluster:
        assert answers(cluster, b"hello") == [b"hello"]
        assert opened == [session_id]


@pytest.mark.parametrize("serializer", ["json", "pickle"])
def test_a_state_is_what_it_was(tmp_path: Path, make_node: NodeMaker, serializer: str) -> None:
    """Random numbers and times are the same from the log and from a snapshot."""

    def made() -> DiceService:
        service = DiceService()
        if serializer == "pickle":
            service.serializer = pickle
        return service

    first, second, third = made(), made(), made()
    with make_node(tmp_path) as node, container(node, first), talk(node) as cluster:
        for number in range(5):
            assert answers(cluster, b"roll") == [b"%d 0" % (number + 1)]
    assert len({tuple(roll) for roll in first.rolls}) == 5
    with make_node(tmp_path) as node, container(node, second), talk(node) as cluster:
        assert answers(cluster, b"fill 3000000") == [b"5 3000000"]
        assert second.rolls == first.rolls
        assert "SNAPSHOT applied" in tool(node, "snapshot")
        assert answers(cluster, b"roll") == [b"6 3000000"]
    with make_node(tmp_path) as node, container(node, third), talk(node) as cluster:
        assert answers(cluster, b"hello") == [b"6 3000000"]
        assert third.rolls == second.rolls
        assert third.rolls[:5] == first.rolls


@pytest.mark.parametrize("ours_first", [True, False])
def test_the_reference_s_service_and_ours_take_turns(
    tmp_path: Path, reference: object, ours_first: bool
) -> None:
    """One goes on from the other's snapshot, and from the log behind it."""
    for number, ours in enumerate([ours_first, not ours_first, ours_first]):
        with (
            reference_node(tmp_path) as node,
            container(node, EchoService()) if ours else java_service(node),
            talk(node) as cluster,
        ):
            assert answers(cluster, b"count") == [b"count %d" % (2 * number)]
            assert answers(cluster, b"one") == [b"one"]
            assert "SNAPSHOT applied" in tool(node, "snapshot")
            assert answers(cluster, b"two") == [b"two"]


def test_two_services_of_a_node(tmp_path: Path, make_node: NodeMaker) -> None:
    with (
        make_node(tmp_path, 2) as node,
        container(node, EchoService()),
        container(node, BatchEchoService(), service_id=1),
        talk(node) as cluster,
    ):
        assert answers(cluster, b"hello", 2) == [b"hello", b"hello"]
        assert answers(cluster, b"offer it", 4) == [b"offered it"] * 4
        assert "SNAPSHOT applied" in tool(node, "snapshot")
        with RecordingLog(tmp_path / "cluster") as log:
            assert len(log.latest_snapshot(2)) == 3


def test_only_responders_answer(tmp_path: Path, make_node: NodeMaker) -> None:
    silent = EchoService()
    with (
        make_node(tmp_path, 2) as node,
        container(node, silent, service_responder=False),
        container(node, EchoService(), service_id=1),
        talk(node) as cluster,
    ):
        assert answers(cluster, b"one") == [b"one"]
        assert answers(cluster, b"two") == [b"two"]
        wait_for(lambda: silent.count == 2, "second message")


def test_a_service_that_raises_goes_on(tmp_path: Path, make_node: NodeMaker) -> None:
    """As the reference's: the error is logged and counted, and the next message comes."""
    with make_node(tmp_path) as node, container(node, EchoService()), talk(node) as cluster:
        assert answers(cluster, b"raise me not") == [b"raise me not"]
        cluster.send(b"raise")
        assert answers(cluster, b"hello") == [b"hello"]
        (error,) = mark_file(tmp_path).errors()
        assert error.text.startswith("builtins.ValueError: asked to raise\n\tat is_command(")
        found = CountersReader(node.aeron_dir).find(type_id=ClusterCounterType.SERVICE_ERRORS)
        assert found is not None
        assert found.value == 1
        assert found.label.startswith("Cluster Container Errors - clusterId=0 serviceId=0 ")


def test_a_batch_that_raises_ends_the_container(tmp_path: Path, make_node: NodeMaker) -> None:
    service = BatchEchoService()
    with make_node(tmp_path) as node, container(node, service) as running, talk(node) as cluster:
        cluster.send(b"raise")
        with pytest.raises(ClusterError, match="a batch of 1 messages up to position .* failed"):
            running.wait(20)
        (error,) = mark_file(tmp_path).errors()
        assert error.text.startswith("builtins.ValueError: asked to raise\n\tat is_command(")
    assert service.calls == ["start", "LEADER", "terminate"]


def test_a_snapshot_that_fails(tmp_path: Path, make_node: NodeMaker) -> None:
    with make_node(tmp_path) as node, container(node, EchoService()), talk(node) as cluster:
        cluster.send(b"spoil")
        assert "SNAPSHOT applied" in tool(node, "snapshot")
        assert answers(cluster, b"hello") == [b"hello"]
        (error,) = mark_file(tmp_path).errors()
        assert "asked to spoil the snapshot" in error.text
        (event,) = ClusterMarkFile.open(tmp_path / "cluster").errors()
        assert "service=0 failed to take snapshot" in event.text
        with RecordingLog(tmp_path / "cluster") as log:
            assert log.latest_snapshot(1) == []
        assert "SNAPSHOT applied" in tool(node, "snapshot")
        with RecordingLog(tmp_path / "cluster") as log:
            assert len(log.latest_snapshot(1)) == 2


def test_a_start_that_fails_ends_the_container(tmp_path: Path, make_node: NodeMaker) -> None:
    class Lame(ClusteredService):
        def on_start(self, cluster: Cluster, snapshot: SnapshotReader | None) -> None:
            raise ValueError("cannot start")

    with make_node(tmp_path) as node, container(node, Lame()) as running:
        node.process.expect_end()
        with pytest.raises(ClusterError, match="cannot start"):
            running.wait(20)
        assert not running.is_running
        assert "cannot start" in mark_file(tmp_path).errors()[0].text
        assert mark_file(tmp_path).activity_timestamp == -1


@pytest.mark.parametrize(("command", "snapshots"), [("shutdown", 2), ("abort", 0)])
def test_the_end_of_a_node(
    tmp_path: Path, make_node: NodeMaker, command: str, snapshots: int
) -> None:
    service = EchoService()
    with make_node(tmp_path) as node, container(node, service) as running:
        with talk(node) as cluster:
            assert answers(cluster, b"one") == [b"one"]
        assert running.is_running
        node.process.expect_end()
        assert f"{command.upper()} applied successfully" in tool(node, command)
        assert running.wait(20)
        assert service.calls == ["start", "LEADER", "terminate"]
        assert mark_file(tmp_path).activity_timestamp == -1
        assert mark_file(tmp_path).errors() == []
    with RecordingLog(tmp_path / "cluster") as log:
        assert len(log.latest_snapshot(1)) == snapshots


@pytest.mark.parametrize(("options", "runs"), [({}, False), ({"app_version": 2 << 16}, True)])
def test_an_application_of_another_major_version_is_not_run(
    tmp_path: Path, options: dict[str, int], runs: bool
) -> None:
    version = f"aerolog.cluster.app.version={2 << 16 | 7 << 8}"
    with (
        node_of_ours(tmp_path, settings=(version,)) as node,
        container(node, EchoService(), **options) as running,
    ):
        if runs:
            with talk(node) as cluster:
                assert answers(cluster, b"hello") == [b"hello"]
        else:
            with pytest.raises(ClusterError, match=r"incompatible version: 0\.0\.1 log=2\.7\.0"):
                running.wait(30)


def test_requests_need_an_event_of_the_log(tmp_path: Path, make_node: NodeMaker) -> None:
    refused: list[str] = []

    class Hasty(EchoService):
        def on_start(self, cluster: Cluster, snapshot: SnapshotReader | None) -> None:
            for request in (
                lambda: cluster.schedule_timer(1, 0),
                lambda: cluster.cancel_timer(1),
                lambda: cluster.offer(b"hello"),
            ):
                with pytest.raises(ClusterError) as caught:
                    request()
                refused.append(str(caught.value))

    with make_node(tmp_path) as node, container(node, Hasty()), talk(node) as cluster:
        assert answers(cluster, b"hello") == [b"hello"]
    assert refused[0] == (
        "a timer is not allowed in on_start: only where an event of the log is processed"
    )
    assert len(refused) == 3


def test_a_batch_has_no_time_of_its_own(tmp_path: Path, make_node: NodeMaker) -> None:
    found: list[Any] = []

    class Curious(ClusteredService):
        def on_session_messages(self, messages: list[SessionMessage]) -> None:
            for name in ("time", "log_position", "random"):
                with pytest.raises(ClusterError, match="is not known in on_session_messages"):
                    getattr(self.cluster, name)
            for message in messages:
                found.append((message.data, message.timestamp, message.position))
                assert message.session is not None
                message.session.send(message.data)

    with make_node(tmp_path) as node, container(node, Curious()), talk(node) as cluster:
        sent = [b"%d" % number for number in range(200)]
        for each in sent:
            cluster.send(each)
        assert heard(cluster, 200) == sent
    assert [data for data, _, _ in found] == sent
    assert [at for _, _, at in found] == sorted(at for _, _, at in found)
    now_ms = time.time() * 1000
    assert all(abs(timestamp - now_ms) < 60_000 for _, timestamp, _ in found)


def test_a_folder_has_one_container_of_a_service(tmp_path: Path, make_node: NodeMaker) -> None:
    with make_node(tmp_path) as node, container(node, EchoService()), talk(node) as cluster:
        assert answers(cluster, b"hello") == [b"hello"]
        with pytest.raises(ActiveClusterError, match="active mark file detected"):
            ServiceContainer(
                EchoService(), aeron_dir=node.aeron_dir, cluster_dir=str(tmp_path / "cluster")
            )
        assert answers(cluster, b"again") == [b"again"]


def test_a_container_waits_for_its_module_and_can_be_closed(
    tmp_path: Path, make_node: NodeMaker
) -> None:
    service = EchoService()
    with make_node(tmp_path) as node:
        with container(node, service, cluster_id=7) as running:
            assert not running.wait(0.2)
        assert not running.is_running
    assert service.calls == []


def test_a_driver_that_is_gone_ends_the_container(tmp_path: Path, make_node: NodeMaker) -> None:
    with make_node(tmp_path) as node, container(node, EchoService()) as running:
        with talk(node) as cluster:
            assert answers(cluster, b"hello") == [b"hello"]
        node.process.kill()
        with pytest.raises(ClusterError, match="the service has ended"):
            running.wait(30)


def test_messages_of_all_sizes_and_claims(tmp_path: Path, make_node: NodeMaker) -> None:
    class Claimer(ClusteredService):
        def on_session_message(self, session: Any, timestamp: int, data: memoryview) -> None:
            if len(data) > 1000:
                while session.offer_vectors((b"<", data, b">")) <= 0:
                    self.cluster.idle()
                return
            while not (claim := session.try_claim(len(data))) or isinstance(claim, int):
                self.cluster.idle()
            with claim:
                claim.buffer[32:] = data

    with make_node(tmp_path) as node, container(node, Claimer()), talk(node) as cluster:
        assert answers(cluster, b"small") == [b"small"]
        assert answers(cluster, b"x" * 200_000) == [b"<" + b"x" * 200_000 + b">"]


def test_the_mark_file_is_as_the_reference_s(tmp_path: Path, reference: object) -> None:
    headers = []
    for ours in (True, False):
        with (
            reference_node(tmp_path) as node,
            Aeron(node.aeron_dir),
            container(node, EchoService()) if ours else java_service(node),
            talk(node) as cluster,
        ):
            assert answers(cluster, b"hello") == [b"hello"]
            header = mark_file(tmp_path).header
            assert header.aeron_directory == node.aeron_dir
            header.aeron_directory = ""
            header.activity_timestamp = header.start_timestamp = header.pid = 0
            headers.append(header)
    assert headers[0] == headers[1]


STILL_CLIENT = """
import sys, time
from aerolog.cluster.client import AeronCluster
with AeronCluster(
    aeron_dir=sys.argv[1], ingress_channel="aeron:ipc", egress_channel="aeron:ipc"
) as cluster:
    cluster.send(b"stand still")
    end = time.monotonic() + 4
    while time.monotonic() < end:
        assert cluster.keep_alive()
        time.sleep(0.1)
    cluster.send(b"hello")
    for number, message in enumerate(cluster.messages()):
        print(message.data.decode())
        if number == 1:
            break
"""


def test_a_service_in_the_module_s_process(tmp_path: Path) -> None:
    """A call that holds the interpreter lock beyond the session timeout ends no session."""

    class Still(EchoService):
        def on_session_message(self, session: Any, timestamp: int, data: memoryview) -> None:
            if data == b"stand still":
                ctypes.PyDLL(None).usleep(3_000_000)  # keeps the lock
            super().on_session_message(session, timestamp, data)

    properties = Properties.from_command_line(
        [
            f"-Daeron.dir={tmp_path}/aeron",
            "-Daeron.threading.mode=SHARED",
            f"-Daeron.archive.dir={tmp_path}/archive",
            "-Daeron.archive.threading.mode=SHARED",
            "-Daeron.archive.control.channel=aeron:udp?endpoint=localhost:0",
            "-Daeron.archive.replication.channel=aeron:udp?endpoint=localhost:0",
            f"-Daeron.cluster.dir={tmp_path}/cluster",
            f"-Daeron.cluster.members=0,{','.join(f'localhost:{p}' for p in free_ports(5))}",
            "-Daeron.cluster.ingress.channel=aeron:udp",
            "-Daeron.cluster.ingress.ipc.allowed=true",
            "-Daeron.cluster.replication.channel=aeron:udp?endpoint=localhost:0",
            "-Daeron.cluster.session.timeout=2s",
        ]
    )
    with (
        ClusteredMediaDriver(properties=properties) as node,
        ServiceContainer(Still(), properties=properties),
    ):
        done = subprocess.run(
            [sys.executable, "-c", STILL_CLIENT, node.aeron_dir],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.stdout, done.stderr) == ("stand still\nhello\n", "")
