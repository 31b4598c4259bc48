"""Every message of the protocol with hostile values, lengths and versions, into a whole node.

They come into the ingress and to the consensus endpoint, as from any client or member. Never a
crash: each is taken, passed over or refused, and no error of Python's own is met. Never a leak: the
sessions are those that were let in. The session of somebody else is served all the while.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, NamedTuple

import pytest
from archive_hostile import message_of, spoiled
from cluster_echo import EchoService
from cluster_talk import answers, wait_for
from peer.cluster_node import free_ports
from shared_memory import memory_folder

from aerolog.archive.service import ArchivingMediaDriver
from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.files import ClusterMarkFile
from aerolog.cluster.module import ConsensusModule
from aerolog.cluster.protocol import (
    MESSAGES,
    SessionConnectRequest,
)
from aerolog.cluster.service import ServiceContainer
from aerolog.transport.client import Aeron
from aerolog.transport.config.sources import Properties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aerolog.cluster.protocol import Message
    from aerolog.transport.client.publication import ExclusivePublication

CASES = int(os.environ.get("AEROLOG_FUZZ_CASES", "0")) or 30
INGRESS, CONSENSUS = 101, 108
LENGTH_MAX = 60_000
MAX_SESSIONS = 6


class Node(NamedTuple):
    """A node in this process with an echo service.

    Attributes:
        consensus: the consensus endpoint.
    """

    folder: Path
    module: ConsensusModule
    container: ServiceContainer
    consensus: str
    aeron: Aeron

    def errors(self) -> list[str]:
        with closing(ClusterMarkFile.open(self.folder / "cluster")) as mark_file:
            return [each.text for each in mark_file.errors()]

    def counted(self, type_id: int) -> list[int]:
        return [info.value for info in self.aeron.counters.infos() if info.type_id == type_id]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    folder = tmp_path_factory.mktemp("node")
    places = [f"localhost:{port}" for port in free_ports(5)]
    properties = Properties.from_command_line(
        [
            f"-Daeron.cluster.dir={folder}/cluster",
            f"-Daeron.cluster.members=0,{','.join(places)}",
            "-Daeron.cluster.ingress.channel=aeron:ipc",
            "-Daeron.cluster.replication.channel=aeron:udp?endpoint=localhost:0",
            "-Daeron.cluster.session.timeout=5s",
            f"-Daeron.cluster.max.sessions={MAX_SESSIONS}",
        ]
    )
    with ExitStack() as opened:
        home = opened.enter_context(memory_folder())
        driver = opened.enter_context(
            ArchivingMediaDriver(
                f"{home}/aeron",
                folder / "archive",
                driver_options={"threading_mode": "SHARED"},
                archive_options={"threading_mode": "SHARED"},
            )
        )
        module = opened.enter_context(
            ConsensusModule(
                aeron_dir=driver.aeron_dir,
                properties=properties,
                archive_channel=driver.archive.local_control_channel,
            )
        )
        container = opened.enter_context(
            ServiceContainer(
                EchoService(), aeron_dir=driver.aeron_dir, cluster_dir=f"{folder}/cluster"
            )
        )
        aeron = opened.enter_context(Aeron(driver.aeron_dir))
        running = Node(folder, module, container, places[1], aeron)
        # The sessions of tests get numbers that no hostile message has by chance: who knows the
        # number of a session may close it.
        with aeron.add_exclusive_publication("aeron:ipc", INGRESS) as publication:
            publication.wait_connected(10)
            for number in range(40):
                refused = SessionConnectRequest(
                    correlation_id=number,
                    response_stream_id=5,
                    version=2**16,
                    response_channel="aeron:ipc?term-length=64k",
                )
                publication.send(refused.encode())
            wait_read(running, publication)
        yield running


@pytest.fixture
def session(node: Node) -> Iterator[AeronCluster]:
    """A session that must not suffer; the strangers of the test before may still hold some."""

    found: list[AeronCluster] = []

    def has_come() -> bool:
        try:
            found.append(
                AeronCluster(
                    node.aeron,
                    ingress_channel="aeron:ipc",
                    egress_channel="aeron:ipc",
                    egress_stream_id=999,
                    message_timeout=2,
                )
            )
        except ClusterError as error:
            if "concurrent session limit" not in str(error):
                raise
        return bool(found)

    wait_for(has_come, "room for a session")
    with found[0] as opened:
        yield opened


@pytest.fixture(params=[INGRESS, CONSENSUS], ids=["ingress", "consensus"])
def stranger(request: pytest.FixtureRequest, node: Node) -> Iterator[ExclusivePublication]:
    is_ingress = request.param == INGRESS
    channel = "aeron:ipc" if is_ingress else f"aeron:udp?endpoint={node.consensus}"
    with node.aeron.add_exclusive_publication(channel, request.param) as publication:
        publication.wait_connected(10)
        yield publication


def check_served(node: Node, session: AeronCluster) -> None:
    text = b"%d" % time.monotonic_ns()
    assert answers(session, text) == [text]
    assert node.module.failure is None
    assert node.container.failure is None
    unexpected = [text for text in node.errors() if text.startswith("builtins.")]
    assert unexpected == []
    assert len(node.errors()) < 20  # however many were sent
    assert len(node.counted(ClusterCounterType.SESSION)) <= MAX_SESSIONS


def wait_read(node: Node, publication: ExclusivePublication) -> None:
    """Wait until the module has read all that was sent."""
    sent, session_id = publication.position, publication.session_id

    def is_read() -> bool:
        read = [
            info.value
            for info in node.aeron.counters.infos()
            if info.label.startswith("sub-pos")
            and f" {session_id} {publication.stream_id} " in info.label
        ]
        return bool(read) and min(read) >= sent

    wait_for(is_read, "reading of what was sent")


def hostile(source: random.Random, made: type[Message], session: AeronCluster) -> Message:
    """A message with values that may be anything, also the term and the session of somebody."""
    message = message_of(source, made, 0, source.choice([0, 1, -1, 2**63 - 1]))
    values = {f.name for f in made.LAYOUT.fixed}
    if "leadership_term_id" in values and source.random() < 0.5:
        message.leadership_term_id = session.leadership_term_id
    if "cluster_session_id" in values:
        others = [-1, 0, session.cluster_session_id + 1000, 2**63 - 1, -(2**63)]
        message.cluster_session_id = source.choice(others)
    return message


@pytest.mark.parametrize(
    "change",
    [lambda _source, data: data, spoiled],
    ids=["hostile-values", "spoiled"],
)
def test_every_message(
    node: Node,
    session: AeronCluster,
    stranger: ExclusivePublication,
    change: Callable[[random.Random, bytes], bytes],
) -> None:
    source = random.Random(stranger.stream_id)
    for made in MESSAGES.values():
        for _ in range(CASES):
            data = change(source, hostile(source, made, session).encode())
            if len(data) <= LENGTH_MAX:
                stranger.send(data)
        check_served(node, session)
    wait_read(node, stranger)
    check_served(node, session)


def test_broken_messages_are_counted_and_reported(
    node: Node, session: AeronCluster, stranger: ExclusivePublication
) -> None:
    (before,) = node.counted(ClusterCounterType.MODULE_ERRORS)
    for data in (b"", b"\0", b"\xff" * 8, b"\x10\0\x03\0\x6f\0\x10\0", b"\x10\0\x4d\0\x65\0\x10\0"):
        stranger.send(data)
    wait_read(node, stranger)
    wait_for(
        lambda: node.counted(ClusterCounterType.MODULE_ERRORS) == [before + 5],
        "count of five errors",
    )
    assert any("AeronException" in text for text in node.errors())
    check_served(node, session)


def test_messages_as_long_as_a_log_takes(
    node: Node, session: AeronCluster, stranger: ExclusivePublication
) -> None:
    source = random.Random(5)
    for _ in range(3):
        stranger.send(source.randbytes(stranger.max_message_length))
        wait_read(node, stranger)
    check_served(node, session)


def test_a_flood_of_connects_and_silence(node: Node, session: AeronCluster) -> None:
    """Nobody listens: no session but those that were there, and room again after the time-out."""
    with node.aeron.add_exclusive_publication("aeron:ipc", INGRESS) as publication:
        publication.wait_connected(10)
        for number in range(400):
            publication.send(
                SessionConnectRequest(
                    correlation_id=number,
                    response_stream_id=5000 + number,
                    response_channel="aeron:ipc?term-length=64k|sparse=true",
                    client_info="x" * 2000,
                ).encode()
            )
            if number % 100 == 0:
                check_served(node, session)
        wait_read(node, publication)
    check_served(node, session)
    assert len(node.counted(ClusterCounterType.SESSION)) == 1
    # One entry for all clients that were refused for one reason, in the reference's words.
    for text in ("concurrent session limit", "invalid client version 1.0.0, cluster is 0.3.0"):
        (entry,) = [each for each in node.errors() if text in each]
        assert f"WARN - ERROR {text}, clusterMemberId=0, id=" in entry
