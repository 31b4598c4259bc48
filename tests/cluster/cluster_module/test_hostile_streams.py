"""What strangers send into the streams between consensus module and services; clients are served.

Every program beside a node's driver can publish there. What is no message of the protocol, or not
the next one, is reported and passed over.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, NamedTuple

import pytest
from cluster_echo import EchoService
from cluster_talk import misshapen, options, wait_for
from peer.cluster_node import our_node

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.files import ClusterMarkFile, service_mark_name
from aerolog.cluster.protocol import (
    MESSAGES,
    SCHEMA_ID,
    CancelTimer,
    CloseSession,
    ClusterMembersQuery,
    JoinLog,
    RequestServiceAck,
    ScheduleTimer,
    ServiceAck,
    ServiceTerminationPosition,
    SessionMessageHeader,
)
from aerolog.cluster.service import ServiceContainer
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.cluster_node import Node

    from aerolog.transport.client.publication import ExclusivePublication

pytestmark = pytest.mark.error_log("")  # whatever is hostile is reported: tests look at it here

TO_MODULE, TO_SERVICES = 105, 104
WIDE = "aeron:ipc?term-length=16m|sparse=true"
MANY = 2**63 - 1
SCHEMA_IDS = (SCHEMA_ID, 101, 0)  # a cluster's, an archive's, nobody's
# What each direction obeys from anybody, as the reference does: it cannot tell a forged one.
OBEYED = (ServiceTerminationPosition, RequestServiceAck)


class Scene(NamedTuple):
    """A node, its service, and a session that must not suffer."""

    node: Node
    service: EchoService
    container: ServiceContainer
    aeron: Aeron
    cluster: AeronCluster

    def errors(self, stream: int = TO_MODULE) -> str:
        """The error log of who reads a stream."""
        name = None if stream == TO_MODULE else service_mark_name(0)
        with closing(ClusterMarkFile.open(self.node.folder / "cluster", name=name)) as mark_file:
            return "\n".join(each.text for each in mark_file.errors())

    def wait_taken(self, publication: ExclusivePublication) -> None:
        """Wait until all that was sent has been read, by the one that reads it."""
        sent, session_id = publication.position, publication.session_id

        def is_read() -> bool:
            positions = [
                self.aeron.counters[info.counter_id].value
                for info in self.aeron.counters.infos()
                if info.label.startswith("sub-pos") and f" {session_id} " in info.label
            ]
            assert positions, "nobody reads what is sent"
            return min(positions) >= sent

        wait_for(is_read, "reading of what was sent")

    def check_echo(self) -> None:
        text = b"%d" % time.monotonic_ns()
        self.cluster.send(text)
        for message in self.cluster.messages():
            if message.data == text:
                break
        assert self.node.process.running
        assert self.container.failure is None


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as opened:
        node = opened.enter_context(
            our_node(
                tmp_path,
                "aeron.cluster.log.channel=aeron:udp?term-length=64k",
                "aeron.cluster.authorisation.service.supplier=ALLOW_ALL",
            )
        )
        service = EchoService()
        container = opened.enter_context(
            ServiceContainer(
                service, aeron_dir=node.aeron_dir, cluster_dir=str(node.folder / "cluster")
            )
        )
        aeron = opened.enter_context(Aeron(node.aeron_dir))
        cluster = opened.enter_context(AeronCluster(aeron, **options(node)))
        yield Scene(node, service, container, aeron, cluster)


@pytest.fixture(params=[TO_MODULE, TO_SERVICES], ids=["to-module", "to-services"])
def stranger(request: pytest.FixtureRequest, scene: Scene) -> Iterator[ExclusivePublication]:
    with scene.aeron.add_exclusive_publication(WIDE, request.param) as publication:
        publication.wait_connected(10)
        yield publication


@pytest.fixture
def forger(scene: Scene) -> Iterator[ExclusivePublication]:
    with scene.aeron.add_exclusive_publication(WIDE, TO_MODULE) as publication:
        publication.wait_connected(10)
        yield publication


def test_random_and_oversized_bytes(scene: Scene, stranger: ExclusivePublication) -> None:
    dice = random.Random(17)
    for number in range(2000):
        stranger.send(dice.randbytes(dice.choice((0, 1, 7, 8, 9, 31, 32, 33, 200, 5000))))
        if number % 500 == 0:
            scene.check_echo()
    stranger.send(dice.randbytes(stranger.max_message_length))
    scene.wait_taken(stranger)
    scene.check_echo()


def test_every_message_cut_and_longer_and_of_other_versions(
    scene: Scene, stranger: ExclusivePublication
) -> None:
    dice = random.Random(19)
    for made in MESSAGES.values():
        if made in OBEYED:
            continue
        for message in misshapen(made, dice, SCHEMA_IDS):
            stranger.send(message)
    for template_id in (0, 9999, 65535):  # no message has these
        stranger.send(b"\x08\x00" + template_id.to_bytes(2, "little") + b"\x6f\x00\x10\x00" * 5)
    scene.wait_taken(stranger)
    scene.check_echo()
    assert scene.errors(stranger.stream_id)


@pytest.mark.parametrize("ack_id", [0, 1, 3, 1000, -1, MANY, -(2**63)])
def test_an_acknowledgement_out_of_sequence(
    scene: Scene, forger: ExclusivePublication, ack_id: int
) -> None:
    forger.send(ServiceAck(log_position=0, timestamp=0, ack_id=ack_id, service_id=0).encode())
    wait_for(lambda: "ack out of sequence" in scene.errors(), "report of the acknowledgement")
    scene.check_echo()
    scene.cluster.take_snapshot()  # the service's own acknowledgement is the next one
    scene.check_echo()


@pytest.mark.parametrize("log_position", [-1, 0, 12345, MANY])
def test_acknowledgements_of_positions_that_nobody_awaits(
    scene: Scene, forger: ExclusivePublication, log_position: int
) -> None:
    """They have the right numbers, as a forger's do, or those of a second container."""
    for ack_id in range(2, 6):
        ack = ServiceAck(log_position=log_position, timestamp=0, ack_id=ack_id, service_id=0)
        forger.send(ack.encode())
    wait_for(lambda: f"log_position={log_position}" in scene.errors(), "report")
    scene.check_echo()
    scene.cluster.take_snapshot()
    scene.check_echo()


def test_a_service_whose_count_of_acknowledgements_is_another(scene: Scene) -> None:
    """As after a request for one that the module did not make: snapshots are taken nevertheless."""
    with scene.aeron.add_exclusive_publication(WIDE, TO_SERVICES) as publication:
        publication.wait_connected(10)
        publication.send(RequestServiceAck(log_position=0).encode())
        wait_for(lambda: "ack out of sequence" in scene.errors(), "report")
    for _ in range(2):
        scene.cluster.take_snapshot()
        scene.check_echo()


@pytest.mark.parametrize("service_id", [-1, 1, 127, 2**31 - 1, -(2**31)])
def test_services_that_the_node_does_not_have(
    scene: Scene, forger: ExclusivePublication, service_id: int
) -> None:
    forger.send(ServiceAck(log_position=0, timestamp=0, ack_id=2, service_id=service_id).encode())
    header = SessionMessageHeader(leadership_term_id=0, cluster_session_id=service_id)
    forger.send(header.encode() + b"from nobody")
    wait_for(lambda: f"message of service {service_id}," in scene.errors(), "report of the message")
    assert f"acknowledgement of service {service_id}," in scene.errors()
    scene.check_echo()


def test_a_service_s_message_that_is_longer_than_the_log_takes(
    scene: Scene, forger: ExclusivePublication
) -> None:
    header = SessionMessageHeader(leadership_term_id=0, cluster_session_id=0).encode()
    forger.send(header + b"x" * 20_000)
    forger.send(header + b"behind")
    wait_for(lambda: "exceeds maxMessageLength" in scene.errors(), "report of the message")
    for message in scene.cluster.messages():
        assert message.data == b"offered behind"
        break
    scene.check_echo()


def test_absurd_timers_and_unknown_sessions(scene: Scene, forger: ExclusivePublication) -> None:
    deadlines = (0, -1, -(2**63), MANY, MANY - 1, 2**53)
    for number, deadline in enumerate(deadlines):
        forger.send(ScheduleTimer(correlation_id=number, deadline=deadline).encode())
    for number in (-1, MANY, -(2**63), len(deadlines) - 1):
        forger.send(CancelTimer(correlation_id=number).encode())
    for session_id in (-1, 0, MANY, -(2**63), scene.cluster.cluster_session_id + 1000):
        forger.send(CloseSession(cluster_session_id=session_id).encode())
        forger.send(ClusterMembersQuery(correlation_id=session_id, extended=1).encode())
    scene.wait_taken(forger)
    scene.check_echo()
    scene.cluster.take_snapshot()
    scene.check_echo()


def test_a_service_that_is_sent_another_log(scene: Scene) -> None:
    """It reads its own to the end; and what it does not understand is in its error log."""
    scene.check_echo()
    with scene.aeron.add_exclusive_publication(WIDE, TO_SERVICES) as publication:
        publication.wait_connected(10)
        publication.send(
            JoinLog(
                log_position=-1,
                max_log_position=MANY,
                member_id=99,
                log_session_id=1,
                log_stream_id=1,
                is_startup=0,
                role=77,
                log_channel="nonsense",
            ).encode()
        )
        publication.send(
            JoinLog.LAYOUT.block_length.to_bytes(2, "little") + b"\x28\x00\x6f\x00\x10\x00"
        )
        wait_for(lambda: bool(scene.errors(TO_SERVICES)), "report of the container")
    scene.check_echo()
