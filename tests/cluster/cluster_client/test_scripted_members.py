"""Clients of a cluster toward members that follow a script: ours, and the reference's."""

from __future__ import annotations

import struct
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from cluster_script import SESSION_ID, TERM, ScriptedMember, scripted_aeron
from live_archive import until
from peer.cluster_node import free_ports
from peer.process import ServerProcess

from aerolog.cluster.protocol import (
    AdminRequest,
    AdminRequestType,
    AdminResponse,
    AdminResponseCode,
    Challenge,
    ChallengeResponse,
    EventCode,
    NewLeaderEvent,
    SessionCloseRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peer.artifact import Toolchain

    from aerolog.transport.client import Aeron

pytestmark = pytest.mark.interop
SUPPORT = Path(__file__).resolve().parents[2] / "support"
EGRESS = "aeron:udp?endpoint=localhost:0|term-length=64k"
UDP = "aeron:udp?term-length=64k"
HEARTBEAT_NS = 200_000_000


@pytest.fixture(scope="module")
def aeron() -> Iterator[Aeron]:
    with scripted_aeron() as client:
        yield client


class Client:
    """A client in a process of its own."""

    def __init__(self, form: str, process: ServerProcess) -> None:
        self.form = form
        self.process = process

    @property
    def is_ours(self) -> bool:
        return self.form != "reference"

    def do(self, command: str) -> None:
        self.process.write_line(command)

    def line(self) -> str:
        """The next line."""
        return self.process.next_line(10)

    def hears(self, expected: str) -> None:
        """The next line is this one."""
        assert self.line() == expected

    def begin(self, endpoints: str, ingress: str = UDP, millis: int = 5000) -> None:
        self.do(f"connect {ingress} {endpoints or '-'} {EGRESS} {millis}")


@pytest.fixture(scope="module", params=["waiting", "asyncio", "reference"])
def process(request: pytest.FixtureRequest, aeron: Aeron, reference: Toolchain) -> Iterator[Client]:
    place = str(aeron.aeron_dir)
    if request.param == "reference":
        command = reference.command("ClusterScripted", place, properties={})
    else:
        command = [sys.executable, str(SUPPORT / "scripted_client.py"), request.param, place]
    with ServerProcess(f"{request.param}-client", command) as running:
        running.wait_line("ready")
        yield Client(request.param, running)
        running.stop()


@pytest.fixture
def client(process: Client) -> Iterator[Client]:
    yield process
    process.do("close")
    process.process.wait_line("closed", 10)


class Members(NamedTuple):
    """Two members and their endpoints."""

    first: ScriptedMember
    second: ScriptedMember
    endpoints: str


@pytest.fixture
def places() -> list[str]:
    return [f"localhost:{port}" for port in free_ports(2)]


@pytest.fixture
def member(aeron: Aeron, places: list[str]) -> Iterator[Callable[[int], ScriptedMember]]:
    """Starts a member by its number."""
    with ExitStack() as started:
        yield lambda number: started.enter_context(
            ScriptedMember(aeron, number, f"aeron:udp?endpoint={places[number]}")
        )


@pytest.fixture
def members(member: Callable[[int], ScriptedMember], places: list[str]) -> Members:
    return Members(member(0), member(1), f"0={places[0]},1={places[1]}")


def connected(client: Client, leader: ScriptedMember, endpoints: str, **others: int) -> None:
    client.begin(endpoints)
    leader.await_connect()
    leader.event(EventCode.OK, **others)
    client.hears(f"connected {SESSION_ID} {TERM} {leader.member}")


def test_messages_go_both_ways(client: Client, members: Members, places: list[str]) -> None:
    connected(client, members.first, f"0={places[0]}")
    client.do("offer bid")
    client.hears("offered")
    assert members.first.await_text() == (TERM, SESSION_ID, b"bid")
    members.first.text(b"taken", timestamp=99)
    client.hears("message 99 taken")


def test_a_redirect_to_another_member(client: Client, members: Members, places: list[str]) -> None:
    client.begin(f"0={places[0]}")
    first = members.first.await_connect()
    members.first.event(
        EventCode.REDIRECT, members.endpoints, cluster_session_id=-1, leader_member_id=1
    )
    again = members.second.await_connect()
    assert again.correlation_id != first.correlation_id
    assert again.encoded_credentials == b"me"
    members.second.event(EventCode.OK)
    client.hears(f"connected {SESSION_ID} {TERM} 1")
    client.do("offer bid")
    client.hears("offered")
    assert members.second.await_text() == (TERM, SESSION_ID, b"bid")


def test_a_new_leader(client: Client, members: Members, places: list[str]) -> None:
    """The event comes from the new leader; until its ingress is connected offers are refused."""
    connected(client, members.first, f"0={places[0]}")
    for text in ("one", "two"):
        client.do(f"offer {text}")
        client.hears("offered")
    members.second.ingress.close()
    members.first.close_egress()
    assert members.first.request is not None
    members.second.open_egress(members.first.request)
    members.second.lead(TERM + 1, members.endpoints)
    client.hears(f"leader {TERM + 1} 1 {members.endpoints}")
    client.do("offer meanwhile")
    assert client.line().startswith("refused ")
    with ScriptedMember(members.second._aeron, 1, f"aeron:udp?endpoint={places[1]}") as again:
        offer_until_taken(client, "bid")
        assert again.await_text() == (TERM + 1, SESSION_ID, b"bid")
    if client.is_ours:
        client.do("uncertain")
        client.hears("uncertain 2")


def offer_until_taken(client: Client, text: str) -> None:
    def is_taken() -> bool:
        client.do(f"offer {text}")
        line = client.line()
        assert line == "offered" or line.startswith("refused "), line
        return line == "offered"

    until(is_taken, "an offer that is taken", patience_s=10)


def test_a_leader_of_an_older_term_is_passed_over(client: Client, members: Members) -> None:
    """By ours; the reference's follows it, though it may be late news of a leader that was."""
    connected(client, members.first, members.endpoints.split(",")[0])
    members.first.say(
        NewLeaderEvent(
            leadership_term_id=TERM - 1,
            cluster_session_id=SESSION_ID,
            leader_member_id=1,
            ingress_endpoints=members.endpoints,
        )
    )
    members.first.text(b"after")
    if not client.is_ours:
        client.hears(f"leader {TERM - 1} 1 {members.endpoints}")
    client.hears("message 1 after")
    offer_until_taken(client, "bid")
    if client.is_ours:
        assert members.first.await_text() == (TERM, SESSION_ID, b"bid")
    else:
        assert members.second.await_text() == (TERM - 1, SESSION_ID, b"bid")


def test_a_leader_of_the_same_term(client: Client, members: Members) -> None:
    connected(client, members.first, members.endpoints.split(",")[0])
    members.second.open_egress(members.first.request)  # type: ignore[arg-type]
    members.second.lead(TERM, members.endpoints)
    client.hears(f"leader {TERM} 1 {members.endpoints}")
    offer_until_taken(client, "bid")
    assert members.second.await_text() == (TERM, SESSION_ID, b"bid")


def test_an_error_in_an_open_session(client: Client, members: Members, places: list[str]) -> None:
    connected(client, members.first, f"0={places[0]}")
    members.first.event(EventCode.ERROR, "oh")
    client.hears("event ERROR oh")
    members.first.text(b"on")
    assert client.line() == "message 1 on"


def test_no_new_leader_comes(client: Client, members: Members, places: list[str]) -> None:
    connected(client, members.first, f"0={places[0]}", leader_heartbeat_timeout_ns=HEARTBEAT_NS)
    client.do("offer bid")
    client.hears("offered")
    members.first.await_text()
    members.first.close_egress()
    client.hears("ended")


def test_what_is_meant_for_others(client: Client, members: Members, places: list[str]) -> None:
    connected(client, members.first, f"0={places[0]}")
    leader, other = members.first, SESSION_ID + 1
    leader.text(b"not for you", session_id=other)
    leader.event(EventCode.CLOSED, "not you", cluster_session_id=other)
    leader.lead(TERM, members.endpoints, session_id=other)
    leader.text(b"for you")
    assert client.line() == "message 1 for you"


@pytest.mark.parametrize("version", [0, 99])
@pytest.mark.parametrize("term", [TERM - 1, TERM + 1])
def test_messages_of_any_version_and_term(
    client: Client, members: Members, places: list[str], version: int, term: int
) -> None:
    connected(client, members.first, f"0={places[0]}")
    header = struct.Struct("<HHHHqqq").pack(24, 1, 111, version, term, SESSION_ID, 5)
    members.first.say(header, b"text")
    assert client.line() == "message 5 text"


def test_bad_egress_is_skipped(client: Client, members: Members, places: list[str]) -> None:
    connected(client, members.first, f"0={places[0]}")
    leader = members.first
    if client.is_ours:  # the reference's raises from its poll
        for data in (b"", b"\0", b"\xff" * 40, b"\x18\0\x01\0\x6f\0\x10\0short", b"x" * 2000):
            leader.say(data)
    # An unknown template of the schema; the reference passes over it as well.
    leader.say(b"\x08\0\xe7\x03\x6f\0\x10\0" + bytes(8))
    leader.text(b"sound")
    assert client.line() == "message 1 sound"


def test_a_challenge_is_answered(client: Client, members: Members, places: list[str]) -> None:
    client.begin(f"0={places[0]}")
    request = members.first.await_connect()
    members.first.say(
        Challenge(
            correlation_id=request.correlation_id, cluster_session_id=9, encoded_challenge=b"whom"
        )
    )
    answer, _ = members.first.await_message(ChallengeResponse)
    assert answer.cluster_session_id == 9
    assert answer.encoded_credentials == b"proof of whom"
    assert answer.correlation_id != request.correlation_id
    members.first.event(EventCode.OK, correlation_id=answer.correlation_id)
    client.hears(f"connected {SESSION_ID} {TERM} 0")


@pytest.mark.parametrize("code", [EventCode.AUTHENTICATION_REJECTED, EventCode.ERROR])
def test_a_refused_session(
    client: Client, members: Members, places: list[str], code: EventCode
) -> None:
    client.begin(f"0={places[0]}")
    members.first.await_connect()
    members.first.event(code, "not today")
    line = client.line()
    assert line.startswith("failed ")
    assert "not today" in line
    assert ("Authentication" in line) is (code is EventCode.AUTHENTICATION_REJECTED)


def test_the_cluster_closes_the_session(
    client: Client, members: Members, places: list[str]
) -> None:
    connected(client, members.first, f"0={places[0]}")
    members.first.text(b"last")
    members.first.event(EventCode.CLOSED, "TIMEOUT")
    # Ours gives messages when it is asked for them, and tells of events at once.
    lines = {client.line() for _ in range(2)}
    assert lines == {"message 1 last", "event CLOSED TIMEOUT"}
    client.hears("ended")


def test_the_client_closes_the_session(client: Client, members: Members, places: list[str]) -> None:
    connected(client, members.first, f"0={places[0]}")
    client.do("close")
    client.hears("closed")
    request, _ = members.first.await_message(SessionCloseRequest)
    assert (request.leadership_term_id, request.cluster_session_id) == (TERM, SESSION_ID)


@pytest.mark.parametrize("code", [AdminResponseCode.OK, AdminResponseCode.UNAUTHORISED_ACCESS])
def test_an_administrator_s_request(
    client: Client, members: Members, places: list[str], code: AdminResponseCode
) -> None:
    connected(client, members.first, f"0={places[0]}")
    client.do("admin 5")
    request, _ = members.first.await_message(AdminRequest)
    assert request.request_type == AdminRequestType.SNAPSHOT
    text = "" if code is AdminResponseCode.OK else "not you"
    members.first.say(
        AdminResponse(
            cluster_session_id=SESSION_ID,
            correlation_id=request.correlation_id,
            request_type=request.request_type,
            response_code=code,
            message=text,
        )
    )
    client.hears(f"answer {code.name} {text}")


@pytest.mark.parametrize("kind", ["ipc", "single", "multicast"])
def test_ingress_without_endpoints(
    client: Client, aeron: Aeron, places: list[str], kind: str
) -> None:
    port = places[0].rpartition(":")[2]
    channel = {
        "ipc": "aeron:ipc",
        "single": f"aeron:udp?endpoint={places[0]}",
        "multicast": f"aeron:udp?endpoint=224.20.30.39:{port}|interface=localhost",
    }[kind]
    with ScriptedMember(aeron, 0, channel) as member:
        client.begin("", channel)
        member.await_connect()
        member.event(EventCode.OK)
        client.hears(f"connected {SESSION_ID} {TERM} 0")
        client.do("offer bid")
        client.hears("offered")
        assert member.await_text() == (TERM, SESSION_ID, b"bid")
