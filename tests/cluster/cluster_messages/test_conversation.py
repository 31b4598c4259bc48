"""A node's conversation with clients and services: the reference's parts, ours, and both mixed.

The same steps are gone through with the reference's module, services and client, and with ours in
their places. What was said on each stream, in the log and in the snapshots is the same, field by
field, but for what `cluster_conversation` leaves out.
"""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pytest
from cluster_conversation import EGRESS, INGRESS, LINGER, STREAMS, TO_MODULE, Tape, recorded, spoken
from cluster_echo import EchoService
from cluster_talk import toggle, wait_for
from peer.artifact import toolchain
from peer.cluster_node import free_ports, java_node, java_service, our_node
from peer.process import ServerProcess

from aerolog.cluster.counter_types import ClusterCounterType, Toggle
from aerolog.cluster.files import (
    CLUSTER_MARK_NAME,
    ClusterMarkFile,
    RecordingLog,
    service_mark_name,
)
from aerolog.cluster.protocol import (
    CLIENT_PROTOCOL_VERSION,
    Challenge,
    ChallengeResponse,
    EventCode,
    Message,
    ServiceAck,
    SessionCloseRequest,
    SessionConnectRequest,
    SessionEvent,
    SessionMessageHeader,
    semantic_version,
)
from aerolog.cluster.service import ServiceContainer
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node

M = TypeVar("M", bound=Message)
pytestmark = [pytest.mark.interop, pytest.mark.processes_end]
SUPPORT = Path(__file__).resolve().parents[2] / "support"
UDP = ("aeron:udp", "aeron:udp?endpoint=localhost:0")
IPC = ("aeron:ipc", "aeron:ipc")
REFUSING = {
    "aeron.cluster.session.timeout": "5s",
    "aeron.cluster.max.sessions": "1",
    "aeron.cluster.authenticator.supplier": (
        "io.aeron.samples.archive.SampleAuthenticatorSupplier"
    ),
}


class Parts(NamedTuple):
    """Whose parts a node consists of: `reference` or `ours`.

    Attributes:
        module: driver, archive and consensus module.
        services: the containers, by service id.
        client: the client; empty for one that a test makes of bytes.
    """

    module: str
    services: tuple[str, ...]
    client: str


class Stage:
    """A node with everything around it, and what its streams say.

    Attributes:
        heard: what the client has printed.
    """

    def __init__(
        self,
        parts: Parts,
        folder: Path,
        opened: ExitStack,
        settings: dict[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.heard: list[str] = []
        count = len(parts.services)
        given = {
            **(settings or {}),
            LINGER[0]: LINGER[1],
            "aeron.cluster.service.count": str(count),
        }
        self.node: Node = opened.enter_context(
            java_node(folder, "aeron:udp", elsewhere=count, properties=given)
            if parts.module == "reference"
            else our_node(folder, *(f"{name}={value}" for name, value in given.items()))
        )
        self.aeron = opened.enter_context(Aeron(self.node.aeron_dir))
        self.tape = opened.enter_context(Tape(self.aeron))
        self.services = [
            opened.enter_context(service_of(whose, self.node, service_id))
            for service_id, whose in enumerate(parts.services)
        ]
        if parts.client:
            self.client = opened.enter_context(client_of(parts.client, self.node))

    def do(self, command: str, answers: int = 1) -> None:
        """Have the client do something, and wait for what it then prints."""
        self.client.write_line(command)
        for _ in range(answers):
            line = self.client.next_line()
            self.heard.append(re.sub(r"^message \d+", "message", line))
        self.tape.look()

    def connect(self, ingress: str, egress: str) -> None:
        endpoints = "-" if ingress == "aeron:ipc" else self.node.endpoints
        self.do(f"connect {ingress} {endpoints} {egress} 20000")

    def offer(self, text: str, answers: int = 1) -> None:
        """Have the client offer a message, and wait for what comes back."""
        self.do(f"offer {text}", 1 + answers)

    def close(self) -> None:
        """Have the client close its session, and wait until the module has."""
        self.wait_session()
        self.do("close")
        self.wait_no_session()

    def toggle(self, wanted: Toggle) -> None:
        """Have the node do something, and wait until it has."""
        toggle(self.aeron, wanted)
        self.tape.look()

    def wait_end(self) -> None:
        """Wait until the module and its services have ended."""
        names = [CLUSTER_MARK_NAME, *map(service_mark_name, range(len(self.services)))]
        for name in names:
            with closing(ClusterMarkFile.open(self.folder / "cluster", name=name)) as mark:
                wait_for(lambda: mark.activity_timestamp == -1, f"end of {name}")

    def wait_session(self) -> None:
        """Wait until a session is open, which its counter shows after its first messages."""
        wait_for(self._has_sessions, "counter of the session")

    def wait_no_session(self) -> None:
        """Wait until no session is open."""
        wait_for(lambda: not self._has_sessions(), "end of the session")

    def _has_sessions(self) -> bool:
        return any(
            info.type_id == ClusterCounterType.SESSION for info in self.aeron.counters.infos()
        )

    def said(self) -> dict[str, Any]:
        """What was said on each stream, and in each recording."""
        found: dict[str, Any] = {STREAMS[each]: spoken(self.tape, each) for each in STREAMS}
        for number, recording in enumerate(recorded(self.folder)):
            found[f"recording {number}"] = recording
        with RecordingLog(self.folder / "cluster") as log:
            found["recording.log"] = [
                (e.recording_id, e.leadership_term_id, e.log_position, e.service_id, e.type)
                for e in log.entries
            ]
        if len(self.services) > 1:
            self._without_order(found)
        return {**found, "client": self.heard}

    def _without_order(self, found: dict[str, Any]) -> None:
        """Leave out which of the services was first, which nobody decides."""
        (log,) = found[STREAMS[TO_MODULE]]
        for _, name, _, values, _ in log:
            if name == ServiceAck.__name__ and values.get("relevant_id", -1) >= 0:
                values["relevant_id"] = "a recording"
        log.sort(key=repr)
        found["recording.log"] = [
            (recording_id if service_id < 0 else "a recording", *others, service_id, kind)
            for recording_id, *others, service_id, kind in found["recording.log"]
        ]


@contextmanager
def service_of(whose: str, node: Node, service_id: int) -> Iterator[object]:
    if whose == "reference":
        with java_service(node, service_id=service_id) as process:
            yield process
    else:
        with ServiceContainer(
            EchoService(),
            aeron_dir=node.aeron_dir,
            cluster_dir=str(node.folder / "cluster"),
            service_id=service_id,
        ) as container:
            yield container


@contextmanager
def client_of(whose: str, node: Node) -> Iterator[ServerProcess]:
    if whose == "reference":
        command = toolchain().command("ClusterScripted", node.aeron_dir, properties={})
    else:
        command = [sys.executable, str(SUPPORT / "scripted_client.py"), "waiting", node.aeron_dir]
    with ServerProcess(f"{whose}-client", command) as client:
        client.wait_line("ready")
        yield client
        client.stop()


def with_one_service(stage: Stage) -> None:
    """All that a client, a service and an operator can ask for."""
    stage.connect(*UDP)
    for text in ("hello", "x" * 5000, ""):
        stage.offer(text)
    stage.offer("timer 7 0")
    for text in ("timer 8 10000000", "timer 9 10000000", "cancel 8", "cancel 77", "raise"):
        stage.offer(text, 0)
    stage.offer("offer text")
    stage.do("admin 42")
    stage.toggle(Toggle.SNAPSHOT)
    for wanted in (Toggle.SUSPEND, Toggle.RESUME):
        stage.toggle(wanted)
    stage.offer("spoil", 0)
    stage.offer("count")
    stage.toggle(Toggle.SNAPSHOT)
    stage.offer("close", 2)
    stage.connect(*UDP)
    stage.offer("again")
    stage.close()
    stage.toggle(Toggle.SHUTDOWN)


def with_two_services(stage: Stage) -> None:
    """The same steps for two services, each of which answers, by IPC."""
    stage.connect(*IPC)
    stage.offer("hello", 2)
    stage.offer("timer 7 500", 2)
    for text in ("timer 8 10000000", "timer 8 20000000", "cancel 9"):
        stage.offer(text, 0)
    stage.offer("x" * 5000, 2)
    stage.toggle(Toggle.SNAPSHOT)
    stage.offer("count", 2)
    stage.offer("close", 2)
    stage.connect(*IPC)
    stage.close()
    stage.toggle(Toggle.SHUTDOWN)


SCRIPTS = {1: with_one_service, 2: with_two_services}


def conversation(parts: Parts, folder: Path) -> dict[str, Any]:
    with ExitStack() as opened:
        stage = Stage(parts, folder, opened)
        SCRIPTS[len(parts.services)](stage)
        stage.wait_end()
        return stage.said()


@pytest.fixture(scope="module")
def references(reference: object) -> dict[int, dict[str, Any]]:
    """What the reference's parts said, by the number of services; filled by the tests."""
    return {}


@pytest.mark.error_log("asked to raise", "asked to spoil the snapshot")
@pytest.mark.parametrize(
    "parts",
    [
        Parts("ours", ("ours",), "ours"),
        Parts("ours", ("reference",), "reference"),
        Parts("reference", ("ours",), "ours"),
        Parts("ours", ("ours", "ours"), "ours"),
        Parts("ours", ("reference", "ours"), "reference"),
    ],
    ids=lambda parts: f"{parts.module}-{'-'.join(parts.services)}-{parts.client}",
)
def test_all_say_what_the_reference_s_parts_say(
    tmp_path: Path, parts: Parts, references: dict[int, dict[str, Any]]
) -> None:
    count = len(parts.services)
    if count not in references:
        theirs = Parts("reference", ("reference",) * count, "reference")
        references[count] = conversation(theirs, tmp_path / "theirs")
    check_same(conversation(parts, tmp_path / "said"), references[count])


def check_same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert ours.keys() == theirs.keys()
    for name, said in theirs.items():
        assert said, f"nothing was said in {name}"
        assert ours[name] == said, name


class ClientOfBytes:
    """A client that sends what a test has it send."""

    def __init__(self, stage: Stage, opened: ExitStack) -> None:
        self._tape = stage.tape
        _, _, endpoint = stage.node.endpoints.partition("=")
        self._ingress = opened.enter_context(
            stage.aeron.add_exclusive_publication(f"aeron:udp?endpoint={endpoint}", INGRESS)
        )
        (port,) = free_ports(1)
        self._channel = f"aeron:udp?endpoint=localhost:{port}"
        self._egress = opened.enter_context(stage.aeron.add_subscription(self._channel, EGRESS))
        self._ingress.wait_connected(20)
        self._number = 0
        self.session_id = 0

    def say(self, message: Message, payload: bytes = b"") -> None:
        self._ingress.send(message.encode() + payload)

    def hear(self, wanted: type[M]) -> M:
        """The next message, which has to be of a class."""
        found: list[bytes] = []

        def has_come() -> bool:
            found.extend(received.data for received in self._egress.poll_messages(1))
            return bool(found)

        wait_for(has_come, wanted.__name__)
        self._tape.look()
        return wanted.decode(found[0])

    def connect(self, credentials: bytes, version: int = CLIENT_PROTOCOL_VERSION) -> None:
        self._number += 1
        self.say(
            SessionConnectRequest(
                correlation_id=self._number,
                response_stream_id=EGRESS,
                version=version,
                response_channel=self._channel,
                encoded_credentials=credentials,
            )
        )

    def hear_event(self, code: EventCode, detail: str = "") -> None:
        event = self.hear(SessionEvent)
        assert (event.code, event.detail) == (code, detail)
        self.session_id = event.cluster_session_id

    def offer(self, text: bytes, term: int = 0) -> None:
        self.say(
            SessionMessageHeader(leadership_term_id=term, cluster_session_id=self.session_id), text
        )


def refusals(parts: Parts, folder: Path) -> dict[str, Any]:
    with ExitStack() as opened:
        stage = Stage(parts, folder, opened, REFUSING)

        def client() -> ClientOfBytes:
            return ClientOfBytes(stage, opened)

        other = client()
        other.connect(b"admin:admin", semantic_version(1, 3, 0))
        other.hear_event(EventCode.ERROR, "invalid client version 1.3.0, cluster is 0.3.0")
        other.connect(b"nobody:nothing")
        other.hear_event(EventCode.AUTHENTICATION_REJECTED, "session failed authentication")
        silent = client()
        silent.connect(b"admin:adminC")
        challenge = silent.hear(Challenge)
        silent.say(
            ChallengeResponse(
                correlation_id=7,
                cluster_session_id=challenge.cluster_session_id,
                encoded_credentials=b"admin:CSadmin",
            )
        )
        silent.hear_event(EventCode.OK)
        other.connect(b"admin:admin")
        other.hear_event(EventCode.ERROR, "concurrent session limit")
        silent.hear_event(EventCode.CLOSED, "TIMEOUT")
        last = client()
        last.connect(b"admin:admin")
        last.hear_event(EventCode.OK)
        last.offer(b"of another term", term=7)
        last.offer(b"hello")
        last.hear(SessionMessageHeader)
        stage.wait_session()
        close = SessionCloseRequest(leadership_term_id=0, cluster_session_id=last.session_id)
        for _ in range(2):
            last.say(close)
        stage.wait_no_session()
        stage.toggle(Toggle.SHUTDOWN)
        stage.wait_end()
        return stage.said()


def test_refusals_challenges_and_silence(tmp_path: Path, reference: object) -> None:
    theirs, ours = (
        refusals(Parts(whose, (whose,), ""), tmp_path / whose) for whose in ("reference", "ours")
    )
    del theirs["client"], ours["client"]
    check_same(ours, theirs)
