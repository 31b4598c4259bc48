"""What is in the log and on the services' stream that no module of this version writes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from cluster_echo import EchoService
from cluster_scripted_module import ScriptedModule, message_bytes
from cluster_talk import wait_for
from peer.artifact import toolchain
from peer.process import ServerProcess
from shared_memory import memory_folder

from aerolog.cluster.protocol import (
    CloseReason,
    ClusterAction,
    ClusterActionRequest,
    MembershipChangeEvent,
    RequestServiceAck,
    ServiceAck,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    TimerEvent,
)
from aerolog.cluster.service import ServiceContainer
from aerolog.transport.client import Aeron
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import MediaDriver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]
SETTINGS = ("-Daeron.threading.mode=SHARED", "-Daeron.ipc.term.buffer.length=64k")


@pytest.fixture(params=["reference", "ours"])
def scripted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScriptedModule]:
    """A scripted module with a container of the reference or of ours that has started."""
    with (
        memory_folder() as home,
        MediaDriver(home / "driver", properties=Properties.from_command_line(SETTINGS)),
        Aeron(home / "driver") as aeron,
        ScriptedModule(aeron) as module,
        running(request.param, str(home / "driver"), tmp_path),
    ):
        assert module.hear(ServiceAck).ack_id == 0
        yield module


@pytest.fixture
def module(scripted: ScriptedModule) -> ScriptedModule:
    """The same, which leads with a session."""
    scripted.lead()
    return scripted


@contextmanager
def running(whose: str, aeron_dir: str, folder: Path) -> Iterator[None]:
    if whose == "ours":
        with ServiceContainer(EchoService(), aeron_dir=aeron_dir, cluster_dir=f"{folder}/cluster"):
            yield
        return
    command = toolchain().command(
        "ClusterContainer", str(folder), aeron_dir, "ClusterEcho", properties={}
    )
    with ServerProcess("java-service", command) as process:
        yield
        process.kill()


def term(version: int, unit: int = 0) -> bytes:
    """A NewLeadershipTermEvent of an application's version."""
    number = version.to_bytes(4, "little") + unit.to_bytes(4, "little")
    return message_bytes(24, bytes(40) + number[4:] + number[:4])


#: What is appended to the log, and how many errors it is for a container.
LOG = {
    "unknown template": (message_bytes(9999, bytes(24)), 0),
    "member's message": (message_bytes(51, bytes(32)), 0),
    "foreign schema": (message_bytes(1, bytes(24), schema=101), 1),
    "foreign schema, other template": (message_bytes(20, bytes(24), schema=999), 1),
    "newer version with a longer block": (
        message_bytes(1, SessionMessageHeader(leadership_term_id=0, cluster_session_id=1)
                      .encode()[8:] + bytes(16) + b"more", block=40, version=17),
        0,
    ),
    "message of an unknown session": (
        SessionMessageHeader(leadership_term_id=0, cluster_session_id=99).encode() + b"x", 0,
    ),
    "opening that clashes": (
        SessionOpenEvent(
            leadership_term_id=0, correlation_id=1, cluster_session_id=1, timestamp=2,
            response_stream_id=102, response_channel="aeron:ipc",
            encoded_principal=b"",
        ).encode(),
        1,
    ),
    "close of an unknown session": (
        SessionCloseEvent(
            leadership_term_id=0, cluster_session_id=99, timestamp=1,
            close_reason=CloseReason.TIMEOUT,
        ).encode(),
        1,
    ),
    "unknown timer": (
        TimerEvent(leadership_term_id=0, correlation_id=99, timestamp=1).encode(), 0,
    ),
    "suspension": (
        ClusterActionRequest(
            leadership_term_id=0, log_position=0, timestamp=1, action=ClusterAction.SUSPEND
        ).encode(),
        0,
    ),
    "snapshot of a standby": (
        ClusterActionRequest(
            leadership_term_id=0, log_position=0, timestamp=1, action=ClusterAction.SNAPSHOT,
            flags=1,
        ).encode(),
        0,
    ),
    "change of members": (
        MembershipChangeEvent(
            leadership_term_id=0, log_position=0, timestamp=1, leader_member_id=0, cluster_size=1,
            change_type=0, member_id=0, cluster_members="",
        ).encode(),
        0,
    ),
    "unknown action": (message_bytes(23, bytes(24) + b"\x07\0\0\0" + bytes(4)), 1),
    "unknown reason": (message_bytes(22, bytes(8) + b"\x01" + bytes(15) + b"\x07\0\0\0"), 1),
    "unknown unit of time": (term(1, unit=7), 1),
}  # fmt: skip
#: The same for the stream from the module.
TO_SERVICES = {
    "unknown template": (message_bytes(9999, bytes(24)), 0),
    "foreign schema": (message_bytes(40, bytes(40), schema=101), 1),
    "message to the module": (
        ServiceAck(log_position=0, timestamp=0, ack_id=0, service_id=0).encode(), 0,
    ),
    "message of a session": (
        SessionMessageHeader(leadership_term_id=0, cluster_session_id=1).encode(), 0,
    ),
}  # fmt: skip


def test_strange_messages_in_the_log(module: ScriptedModule) -> None:
    found = {}
    for name, (data, _) in LOG.items():
        before = module.errors()
        module.append(data)
        module.check_echo(b"echo behind " + name.encode())
        found[name] = module.errors() - before
    assert found == {name: errors for name, (_, errors) in LOG.items()}


def test_strange_messages_of_the_module(module: ScriptedModule) -> None:
    """An acknowledgement is asked for behind each, and so is known to be read."""
    found = {}
    for number, (name, (data, _)) in enumerate(TO_SERVICES.items()):
        before = module.errors()
        module.to_services.send(data)
        module.to_services.send(RequestServiceAck(log_position=module.log.position).encode())
        assert module.hear(ServiceAck).ack_id == number + 2
        found[name] = module.errors() - before
    assert found == {name: errors for name, (_, errors) in TO_SERVICES.items()}
    module.check_echo()


def test_an_acknowledgement_that_is_asked_for_too_late(module: ScriptedModule) -> None:
    """It is sent, and is one error."""
    module.to_services.send(RequestServiceAck(log_position=96).encode())
    assert module.hear(ServiceAck).log_position == module.log.position
    wait_for(lambda: module.errors() == 1, "error of the request")
    module.check_echo()


@pytest.mark.parametrize(
    "others",
    [
        {"log_position": 64},
        {"log_position": -1},
        {"role": 77},
        {"log_channel": "nonsense"},
        {"log_channel": "aeron:udp?endpoint=nowhere.invalid:1"},
    ],
    ids=str,
)
def test_a_log_that_cannot_be_joined(scripted: ScriptedModule, others: dict[str, Any]) -> None:
    """It is one error, and the next log is joined."""
    scripted.join(**others)
    wait_for(lambda: scripted.errors() == 1, "error of the log")
    scripted.lead()
    assert scripted.errors() == 1


def test_a_log_that_begins_before_the_end_of_the_one_before(module: ScriptedModule) -> None:
    """A container leaves a log where the next one begins: the rest is never committed."""
    header = SessionMessageHeader(leadership_term_id=0, cluster_session_id=1, timestamp=3)
    begin = module.log.position
    for _ in range(3):
        module.log.send(header.encode() + b"never committed")
    module.begin_next_log()
    assert module.hear(ServiceAck).log_position == begin
    module.check_echo(b"in the next log")
    assert module.errors() == 0


@pytest.mark.parametrize("scripted", ["ours"], indirect=True)
def test_a_log_that_never_comes(scripted: ScriptedModule) -> None:
    """A container goes on waiting for it, and joins the log that is named in its place."""
    scripted.join(log_session_id=scripted.log.session_id + 1)
    scripted.lead()
    assert scripted.errors() == 0
