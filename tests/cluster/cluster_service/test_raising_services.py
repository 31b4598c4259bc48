"""A service that raises in each of its methods: the reference's container and ours do the same."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from cluster_conversation import LINGER, TO_MODULE, Tape, spoken
from cluster_talk import answers, talk, the_counter, toggle, wait_for
from peer.cluster_node import java_service, our_node

from aerolog.cluster.counter_types import ClusterCounterType, Toggle
from aerolog.cluster.files import CLUSTER_MARK_NAME, ClusterMarkFile, service_mark_name
from aerolog.cluster.service import ClusteredService, ClusterError
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AerologError

from .conftest import container

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.cluster_node import Node

pytestmark = [
    pytest.mark.interop,
    pytest.mark.usefixtures("reference"),
    pytest.mark.error_log(""),
    pytest.mark.processes_end,
]
SERVICE_MARK = service_mark_name(0)


class Raiser(ClusteredService):
    """The same service as ClusterRaiser among the reference's peers."""

    def __init__(self, *, at_start: bool) -> None:
        self.at_start = at_start
        self.raised: set[str] = set()

    def raise_in(self, where: str) -> None:
        if where not in self.raised:
            self.raised.add(where)
            raise ValueError(f"raised in {where}")

    def on_start(self, cluster: object, snapshot: object) -> None:
        if self.at_start:
            self.raise_in("start")

    def on_session_open(self, session: object, timestamp: int) -> None:
        self.raise_in("session open")

    def on_session_close(self, session: object, timestamp: int, reason: object) -> None:
        self.raise_in("session close")

    def on_session_message(self, session: Any, timestamp: int, data: memoryview) -> None:
        self.raise_in("session message")
        session.send(data)
        self.cluster.schedule_timer(1, timestamp)

    def on_timer(self, correlation_id: int, timestamp: int) -> None:
        self.raise_in("timer")

    def on_take_snapshot(self, snapshot: object) -> None:
        self.raise_in("take snapshot")

    def on_role_change(self, role: object) -> None:
        self.raise_in("role change")

    def on_new_leadership_term(self, event: object) -> None:
        self.raise_in("new leadership term")

    def do_background_work(self, now_ns: int) -> int:
        self.raise_in("background work")
        return 0

    def on_terminate(self, cluster: object) -> None:
        self.raise_in("terminate")


@contextmanager
def raiser(whose: str, node: Node, *, at_start: bool) -> Iterator[None]:
    if whose == "reference":
        properties = {"raise.at.start": "true"} if at_start else {}
        with java_service(node, "ClusterRaiser", properties=properties):
            yield
    else:
        with container(node, Raiser(at_start=at_start)):
            yield


def errors(node: Node, name: str) -> list[str]:
    """Where a service raised, by the error log of a mark file, and what else is in that."""
    with closing(ClusterMarkFile.open(node.folder / "cluster", name=name)) as mark:
        texts = [each.text for each in mark.errors()]
    found = [re.search("raised in ([a-z ]+)", text) for text in texts]
    return sorted(each[1] if each else text for each, text in zip(found, texts, strict=True))


def life(whose: str, folder: Path) -> dict[str, Any]:
    """All that a service can raise in, once each, and what became of it."""
    with ExitStack() as opened:
        node = opened.enter_context(our_node(folder, "=".join(LINGER)))
        aeron = opened.enter_context(Aeron(node.aeron_dir))
        tape = opened.enter_context(Tape(aeron))
        opened.enter_context(raiser(whose, node, at_start=False))
        with talk(node) as cluster:
            cluster.send(b"lost")
            assert answers(cluster, b"hello") == [b"hello"]
            wait_for(lambda: "timer" in errors(node, SERVICE_MARK), "error in the timer")
            toggle(aeron, Toggle.SNAPSHOT)
            toggle(aeron, Toggle.SNAPSHOT)
        wait_for(lambda: "session close" in errors(node, SERVICE_MARK), "error at the end")
        counted = the_counter(aeron, ClusterCounterType.SERVICE_ERRORS).value
        tape.look()
        toggle(aeron, Toggle.SHUTDOWN)
        for name in (CLUSTER_MARK_NAME, SERVICE_MARK):
            with closing(ClusterMarkFile.open(folder / "cluster", name=name)) as mark:
                wait_for(lambda: mark.activity_timestamp == -1, f"end of {name}")
        return {
            "counted": counted,
            "errors": errors(node, SERVICE_MARK),
            "said": spoken(tape, TO_MODULE),
        }


def test_a_service_raises_everywhere(tmp_path: Path) -> None:
    theirs, ours = (life(whose, tmp_path / whose) for whose in ("reference", "ours"))
    # An end that the module has asked for is an entry in the reference's error log, too.
    expected = [text for text in theirs["errors"] if "expected termination" in text]
    assert len(expected) == 1
    theirs["errors"].remove(expected[0])
    assert ours == theirs
    assert len(ours["errors"]) == 9
    assert ours["counted"] == 8


def start(whose: str, folder: Path) -> tuple[Any, ...]:
    """What becomes of a container whose service raises at its start."""
    with (
        our_node(folder) as node,
        Aeron(node.aeron_dir) as aeron,
        Tape(aeron) as tape,
        raiser(whose, node, at_start=True),
    ):

        def has_ended() -> bool:
            tape.look()
            with closing(ClusterMarkFile.open(folder / "cluster", name=SERVICE_MARK)) as mark:
                return mark.activity_timestamp == -1

        wait_for(has_ended, "end of the container")
        wait_for(lambda: bool(errors(node, CLUSTER_MARK_NAME)), "word of the module")
        # The node ends then, which a container may notice.
        assert "start" in errors(node, SERVICE_MARK)
        return spoken(tape, TO_MODULE), errors(node, CLUSTER_MARK_NAME)


def test_a_service_raises_at_its_start(tmp_path: Path) -> None:
    theirs, ours = (start(whose, tmp_path / whose) for whose in ("reference", "ours"))
    assert ours == theirs
    assert "services [0] did not start" in ours[1][0]


class Ending(ClusteredService):
    """Ends its container, where a test says, by what another test says."""

    kind: type[BaseException] = SystemExit
    where = "on_session_message"

    def _end(self, where: str) -> None:
        if where == self.where:
            raise self.kind("broken")

    def on_start(self, cluster: object, snapshot: object) -> None:
        self._end("on_start")

    def on_session_message(self, session: Any, timestamp: int, data: memoryview) -> None:
        self._end("on_session_message")

    def on_session_open(self, session: object, timestamp: int) -> None:
        self._end("on_session_open")

    def do_background_work(self, now_ns: int) -> int:
        self._end("do_background_work")
        return 0

    def state(self) -> int:
        return 0

    def restore(self, state: object) -> None:
        pass


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError])
@pytest.mark.parametrize(
    "where", ["on_start", "on_session_open", "on_session_message", "do_background_work"]
)
def test_what_no_program_goes_on_after_ends_the_container(
    tmp_path: Path, kind: type[BaseException], where: str, capfd: pytest.CaptureFixture[str]
) -> None:
    service = Ending()
    service.kind, service.where = kind, where
    with our_node(tmp_path) as node, container(node, service) as running:
        if where.startswith("on_session"):
            with suppress(AerologError), talk(node) as cluster:
                cluster.send(b"one")
                running.wait(20)
        with pytest.raises(ClusterError, match="the service has ended"):
            running.wait(20)
        assert type(running.failure) is kind
        assert "Traceback" in capfd.readouterr().err
        with closing(ClusterMarkFile.open(node.folder / "cluster", name=SERVICE_MARK)) as mark:
            assert [kind.__name__ in error.text for error in mark.errors()] == [True]
        assert node.process.wait() == 1


def test_the_command_says_what_a_service_has_raised(tmp_path: Path) -> None:
    with our_node(tmp_path) as node:
        done = subprocess.run(
            [
                sys.executable, "-m", "aerolog.tools.main", "service-container",
                "exiting:Exiting",
                f"-Daeron.dir={node.aeron_dir}", f"-Daeron.cluster.dir={tmp_path}/cluster",
            ],
            cwd=exiting(tmp_path), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.endswith("SystemExit: 0\nERROR: SystemExit: 0\n")
        assert node.process.wait() == 1


def exiting(tmp_path: Path) -> Path:
    """A folder with a service that ends its program, as it thinks in good order."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "exiting.py").write_text(
        "from aerolog.cluster.service import ClusteredService\n"
        "class Exiting(ClusteredService):\n"
        "    def on_start(self, cluster, snapshot):\n"
        "        raise SystemExit(0)\n"
        "    def on_session_message(self, session, timestamp, data):\n"
        "        pass\n"
        "    def state(self):\n"
        "        return 0\n"
        "    def restore(self, state):\n"
        "        pass\n"
    )
    return folder


heard: list[BaseException] = []


class Listener:
    """What the property of a delegating error handler names."""

    def __call__(self, error: BaseException) -> None:
        heard.append(error)
        raise TypeError("raised in handler")


def test_an_error_handler_hears_of_each_error(tmp_path: Path) -> None:
    """What it raises itself is logged as well, and the container goes on."""
    handler = f"{__name__}:{Listener.__name__}"
    with (
        our_node(tmp_path) as node,
        container(node, Raiser(at_start=False), error_handler=handler),
        talk(node) as cluster,
    ):
        cluster.send(b"lost")
        assert answers(cluster, b"hello") == [b"hello"]
        texts = [str(error) for error in heard]
        assert [text for text in texts if "message" in text] == ["raised in session message"]
        assert {"session message", "handler"} <= set(errors(node, SERVICE_MARK))
