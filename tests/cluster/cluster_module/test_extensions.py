"""Extensions of a consensus module: the same life of a node with the reference's and with ours."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import peer
import pytest
from cluster_talk import wait_for
from peer.artifact import toolchain
from peer.cluster_node import free_ports
from peer.process import ServerProcess
from shared_memory import memory_folder

from aerolog.archive.service import ArchivingMediaDriver
from aerolog.cluster.client import AeronCluster, SessionClosedError
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.files import ClusterMarkFile, RecordingLog
from aerolog.cluster.module import (
    ConsensusModule,
    ConsensusModuleExtension,
    ControlState,
    ExtensionMessage,
    ModuleControl,
)
from aerolog.cluster.module.extension import extension_of
from aerolog.cluster.module.properties import ModuleConfig
from aerolog.cluster.protocol import CloseReason, SessionMessageHeader
from aerolog.transport.client import Aeron
from aerolog.transport.client.message import Action
from aerolog.transport.config.sources import Properties
from aerolog.transport.errors import AeronTimeoutError, ConfigurationError
from aerolog.transport.security import plug_ins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

pytestmark = pytest.mark.interop
SCHEMA_ID = 999
PAGE = Path(__file__).parents[3] / "docs" / "cluster" / "module.md"


class Extension(ConsensusModuleExtension):
    """Does what the peer ``ClusterExtension`` does, and notes the same calls."""

    supported_schema_id = SCHEMA_ID

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.has_waited = False
        self.raising = ""
        self.ticks = 0
        self.works = 0

    def counters(self) -> list[str]:
        """What the module has published: states, role, toggles and leadership term."""
        return [
            f"{info.type_id}={info.value}"
            for info in self.control.aeron.counters.infos()
            if info.type_id
            in {
                ClusterCounterType.MODULE_STATE,
                ClusterCounterType.NODE_ROLE,
                ClusterCounterType.CONTROL_TOGGLE,
                ClusterCounterType.ELECTION_STATE,
                ClusterCounterType.NODE_TOGGLE,
                ClusterCounterType.LEADERSHIP_TERM,
            }
        ]

    def say(self, *words: object) -> None:
        texts = [str(word).lower() if isinstance(word, bool) else str(word) for word in words]
        self.lines.append(" ".join(["call", *texts]))
        if self.raising == words[0]:
            raise ValueError("asked to raise")

    def on_start(self, control: ModuleControl, snapshot: Sequence[bytes] | None) -> None:
        self.control = control
        self.say(
            "start",
            control.member.member_id,
            control.cluster_id,
            snapshot is not None,
            *self.counters(),
        )
        for message in snapshot or ():
            self.say("restore", message.decode())
            self.count = int(message.split()[1])

    def do_work(self, now_ns: int) -> int:
        self.works += 1
        if self.raising == "work":
            raise ValueError("asked to raise")
        return 0

    def slow_tick_work(self, now_ns: int) -> int:
        self.ticks += 1
        return 0

    def consensus_work(self, now_ns: int) -> int:
        assert self.state.log_subscription is not None
        (image,) = self.state.log_subscription.images
        messages = image.poll_messages(10, until=self.control.commit_position)
        for message in messages:
            if message.data[4:6] == SCHEMA_ID.to_bytes(2, "little"):
                self.say("read", len(message.data), message.position)
        return len(messages)

    def on_election_complete(self, state: ControlState) -> None:
        self.state = state
        assert state.log_publication is not None
        self.say(
            "elected",
            state.is_leader,
            state.leadership_term_id,
            state.log_recording_id,
            state.log_publication.position,
            *self.counters(),
        )

    def on_new_leadership_term(self, state: ControlState) -> None:
        facts = state.is_leader, state.leadership_term_id, state.log_recording_id
        self.say("term", *facts, *self.counters())
        assert state.log_publication is None
        assert state.log_subscription is None

    def on_ingress_message(self, message: ExtensionMessage) -> Action | None:
        assert self.state.log_publication is not None
        self.say("ingress", *message[:4], len(message.data))
        match message.data[8:].decode("latin-1").split(" "):
            case ["append", *_]:
                if self.state.log_publication.offer(message.data) < 0:
                    return Action.ABORT
                self.count += 1
            case ["raise"]:
                raise ValueError("asked to raise")
            case ["later"]:
                self.has_waited = not self.has_waited
                return Action.ABORT if self.has_waited else None
            case ["answer", number]:
                session = self.control.session(int(number))
                assert session is not None
                assert session.is_connected()
                header = SessionMessageHeader(
                    leadership_term_id=self.state.leadership_term_id, cluster_session_id=int(number)
                )
                assert session.send_bytes(header.encode() + b"answered")
            case ["close", number]:
                self.control.close_session(int(number))
        return None

    def on_log_message(self, message: ExtensionMessage) -> None:
        self.count += 1
        self.say("log", *message[:4], len(message.data), message.position, *self.counters())

    def on_session_opened(self, session_id: int) -> None:
        self.say("opened", session_id)

    def on_session_closed(self, session_id: int, reason: CloseReason) -> None:
        self.say("closed", session_id, reason.name)

    def take_snapshot(self) -> Iterable[bytes]:
        self.say("snapshot", self.count, *self.counters())
        yield b"count %d" % self.count

    def close(self) -> None:
        self.say("close")


@dataclass
class Running:
    """A node with an extension.

    Attributes:
        lines: gives the calls of the extension so far.
        module: our module, None for the reference's.
    """

    folder: Path
    aeron_dir: str
    lines: Callable[[], list[str]]
    module: ConsensusModule | None = None
    extension: Extension = field(default_factory=Extension)

    def wait(self, line: str) -> None:
        def has_come() -> bool:
            return any(f"{each} ".startswith(f"call {line} ") for each in self.lines())

        wait_for(has_come, f"call {line} among {self.lines()}")

    def tool(self, command: str) -> str:
        return peer.java_tool("io.aeron.cluster.ClusterTool", f"{self.folder}/cluster", command)


@contextmanager
def reference_node(folder: Path, aeron_dir: str) -> Iterator[Running]:
    members = f"0,{','.join(f'localhost:{port}' for port in free_ports(5))}"
    command = toolchain().command(
        "ClusterExtension", str(folder), aeron_dir, members, properties={}
    )
    process = ServerProcess("java-extension", command)

    def lines() -> list[str]:
        return [line for line in process.log().splitlines() if line.startswith("call ")]

    try:
        process.wait_line("ready")
        yield Running(folder, aeron_dir, lines)
    finally:
        process.stop()


@contextmanager
def our_node(folder: Path, aeron_dir: str, extension: Extension | None = None) -> Iterator[Running]:
    found = extension or Extension()
    properties = Properties.from_command_line(
        [
            f"-Daeron.cluster.dir={folder}/cluster",
            f"-Daeron.cluster.members=0,{','.join(f'localhost:{p}' for p in free_ports(5))}",
            "-Daeron.cluster.ingress.channel=aeron:ipc",
            "-Daeron.cluster.replication.channel=aeron:udp?endpoint=localhost:0",
            "-Daeron.cluster.service.count=0",
        ]
    )
    with (
        ArchivingMediaDriver(
            aeron_dir,
            f"{folder}/archive",
            driver_options={"threading_mode": "SHARED"},
            archive_options={"threading_mode": "SHARED"},
        ) as driver,
        ConsensusModule(
            aeron_dir=aeron_dir,
            properties=properties,
            extension=found,
            archive_channel=driver.archive.local_control_channel,
        ) as module,
    ):
        yield Running(folder, aeron_dir, lambda: list(found.lines), module, found)


NODES = {"reference": reference_node, "ours": our_node}


class Talk(NamedTuple):
    """A client of a running node, and a stranger without a session."""

    node: Running
    aeron: Aeron

    def send(self, text: bytes, schema_id: int = SCHEMA_ID, times: int = 1) -> None:
        """Send a message to the extension, and wait until it was called with it so many times."""

        def calls() -> int:
            return sum(line.startswith("call ingress") for line in self.node.lines())

        header = b"".join(word.to_bytes(2, "little") for word in (4, 7, schema_id, 3))
        before = calls()
        with self.aeron.add_exclusive_publication("aeron:ipc", 101) as publication:
            publication.wait_connected(10)
            publication.send(header + text)
            wait_for(lambda: calls() == before + times, f"{times} calls with {text[:99]!r}")

    def session(self, **options: Any) -> AeronCluster:
        return AeronCluster(
            self.aeron, ingress_channel="aeron:ipc", egress_channel="aeron:ipc", **options
        )


@contextmanager
def talk(node: Running) -> Iterator[Talk]:
    with Aeron(node.aeron_dir) as aeron:
        yield Talk(node, aeron)


def live(makes: tuple[str, ...], folder: Path) -> list[list[str]]:
    """The calls of three starts: afresh, from the log, and from a snapshot with a log behind it."""
    calls = []
    for number, make in enumerate(makes):
        with (
            memory_folder() as home,
            NODES[make](folder, f"{home}/aeron") as node,
        ):
            with talk(node) as talking:
                talking.send(b"append before a session %d" % number)
                with talking.session() as session:
                    node.wait(f"opened {number + 1}")
                    talking.send(b"append one")
                    talking.send(b"append " + b"x" * 5000)
                    talking.send(b"raise")
                    talking.send(b"later", times=2)
                    talking.send(b"foreign", schema_id=998)
                    talking.send(b"")
                    session.send(b"into the log, for nobody")
                    talking.send(b"answer %d" % (number + 1))
                    assert next(iter(session.messages())).data == b"answered"
                    if number == 1:
                        assert "SNAPSHOT applied" in node.tool("snapshot")
                        talking.send(b"append behind the snapshot")
                    talking.send(b"close %d" % (number + 1))
                    with pytest.raises(SessionClosedError, match="SERVICE_ACTION"):
                        list(session.messages())
                node.wait(f"closed {number + 1} SERVICE_ACTION")
                talking.send(b"append the last one of start %d" % number)
                wait_for(lambda: count(node, "read") == count(node, "appended"), "reading")
            if number == 2:
                assert "SHUTDOWN applied" in node.tool("shutdown")
                node.wait("snapshot")
        assert node.lines()[-1] == "call close"
        calls.append(node.lines())
    return calls


def count(node: Running, what: str) -> int:
    """How many messages the extension appended, which have lengths of their own, or read."""
    if what == "read":
        return sum(line.startswith("call read") for line in node.lines())
    lengths = {len(b"append before a session 0"), len(b"append one"), 5007}
    lengths |= {len(b"append behind the snapshot"), len(b"append the last one of start 0")}
    lines = [line.split() for line in node.lines() if line.startswith("call ingress")]
    return sum(int(words[-1]) - 8 in lengths for words in lines)


def by_kind(calls: list[str]) -> dict[str, list[str]]:
    """What the extension read runs beside the rest, so that only each kind has an order."""
    kinds: dict[str, list[str]] = {"read": [], "other": []}
    for line in calls:
        kinds["read" if line.startswith("call read") else "other"].append(line)
    return kinds


def test_an_extension_is_called_as_by_the_reference(tmp_path: Path, reference: object) -> None:
    """Ingress of other schemas is its own, its log is replayed, and its snapshot comes back.

    Each start is of the other make than the one before, so that each reads what the other wrote.
    """
    found = {}
    for makes in (("ours", "reference", "ours"), ("reference", "ours", "reference")):
        (tmp_path / makes[0]).mkdir()
        found[makes[0]] = live(makes, tmp_path / makes[0])
    first, second, third = found["ours"]
    assert first[0].startswith("call start 0 0 false ")
    assert sum(line.startswith("call log") for line in second) == 4
    assert third[0].startswith("call start 0 0 true ")
    assert third[1] == "call restore count 7"
    assert sum(line.startswith("call log") for line in third) == 2
    for one, other in zip(found["ours"], found["reference"], strict=True):
        for kind, lines in by_kind(one).items():
            assert "\n".join(lines) == "\n".join(by_kind(other)[kind])


@pytest.fixture
def extension() -> Extension:
    return Extension()


@pytest.fixture
def node(tmp_path: Path, aeron_dir: str, extension: Extension) -> Iterator[Running]:
    with our_node(tmp_path, aeron_dir, extension) as running:
        yield running


def errors(folder: Path) -> str:
    mark_file = ClusterMarkFile.open(folder / "cluster")
    try:
        return "\n".join(each.text for each in mark_file.errors())
    finally:
        mark_file.close()


def test_work_that_raises_is_reported_and_goes_on(node: Running, extension: Extension) -> None:
    node.wait("elected true 0 0 96")
    extension.raising = "work"
    wait_for(lambda: "asked to raise" in errors(node.folder), "report")
    works, ticks = extension.works, extension.ticks
    wait_for(lambda: extension.works > works and extension.ticks > ticks, "further work")
    extension.raising = ""
    with talk(node) as talking:
        talking.send(b"append one")


def test_a_snapshot_that_raises_is_none(node: Running, extension: Extension) -> None:
    node.wait("elected true 0 0 96")
    extension.raising = "snapshot"
    node.tool("snapshot")
    assert "raised in take_snapshot: ValueError('asked to raise')" in errors(node.folder)
    with RecordingLog(node.folder / "cluster") as log:
        assert log.latest_snapshot(0) == []
    extension.raising = ""
    node.tool("snapshot")
    with RecordingLog(node.folder / "cluster") as log:
        assert len(log.latest_snapshot(0)) == 1


@pytest.mark.parametrize("call", ["start", "elected", "opened"])
def test_a_call_that_raises_ends_the_module(tmp_path: Path, aeron_dir: str, call: str) -> None:
    extension = Extension()
    extension.raising = call
    with our_node(tmp_path, aeron_dir, extension) as node:
        module = node.module
        assert module is not None
        with Aeron(aeron_dir) as aeron:
            if call == "opened":
                node.wait("elected true 0 0 96")
                with pytest.raises(AeronTimeoutError), talk(node) as talking:
                    talking.session(message_timeout=1)
            wait_for(lambda: module.is_closed, "end of the module")
            assert not aeron.closed
        assert isinstance(module.failure, ClusterError)
        assert "asked to raise" in str(module.failure)
    assert extension.lines[-1] == "call close"


def config(**options: Any) -> ModuleConfig:
    return ModuleConfig(
        Properties(),
        {
            "members": "0,a:1,b:2,c:3,d:4,e:5",
            "ingress_channel": "aeron:udp",
            "replication_channel": "aeron:udp?endpoint=localhost:0",
            **options,
        },
    )


def test_services_and_an_extension_exclude_each_other() -> None:
    with pytest.raises(ConfigurationError, match="service count must be zero"):
        config(extension=Extension())
    with pytest.raises(ConfigurationError, match="none only with an extension"):
        config(service_count=0)
    assert config(extension=Extension(), service_count=0).extension is not None


def test_an_extension_that_is_none(tmp_path: Path, aeron_dir: str) -> None:
    with (
        pytest.raises(ConfigurationError, match="is no ConsensusModuleExtension"),
        our_node(tmp_path, aeron_dir, object()),  # type: ignore[arg-type]  # on purpose
    ):
        pass


class Installed(Extension):
    """What an entry point names."""

    def __init__(self, settings: ModuleConfig) -> None:
        super().__init__()
        self.settings = settings


def test_an_extension_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    group = "aerolog.cluster_extensions"
    declared = metadata.EntryPoints([metadata.EntryPoint("mine", f"{__name__}:Installed", group)])
    monkeypatch.setattr(plug_ins, "entry_points", declared.select)
    monkeypatch.setattr("importlib.metadata.entry_points", declared.select)
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda _: Installed)
    named = config(consensus_module_extension="mine", service_count=0)
    found = extension_of(named)
    assert isinstance(found, Installed)
    assert found.settings is named
    assert extension_of(config()) is None
    with pytest.raises(ConfigurationError, match=r"entry point group aerolog\.cluster_extensions"):
        config(consensus_module_extension="com.example.Extension", service_count=0)


def test_the_extension_of_the_page_counts_through_log_and_snapshot(
    tmp_path: Path, aeron_dir: str
) -> None:
    shown = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert shown is not None
    program, _, made = shown[1].partition("\n\nnode = ")
    options = '{"extension": Counting(), "service_count": 0}'
    assert made.strip() == f"ClusteredMediaDriver(module_options={options})"
    names: dict[str, Any] = {}
    exec(program, names)

    def count_more(start: int, before: int) -> None:
        counting = names["Counting"]()
        with (
            our_node(tmp_path, f"{aeron_dir}-{start}", counting) as node,
            Aeron(node.aeron_dir) as aeron,
            aeron.add_exclusive_publication("aeron:ipc", 101) as publication,
        ):
            publication.wait_connected(10)
            for number in range(1, 4):
                publication.send(b"".join(n.to_bytes(2, "little") for n in (0, 1, SCHEMA_ID, 0)))
                wait_for(lambda n=number: counting.count == before + n, f"message {number}")
                if number == 2:
                    assert "SNAPSHOT applied" in node.tool("snapshot")

    count_more(0, 0)
    count_more(1, 3)
    count_more(2, 6)
