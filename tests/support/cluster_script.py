"""Members of a cluster that say to a client what a test has them say, byte for byte."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from live_archive import until
from shared_memory import memory_folder

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.protocol import (
    SCHEMA,
    EventCode,
    Message,
    NewLeaderEvent,
    SessionConnectRequest,
    SessionEvent,
    SessionKeepAlive,
    SessionMessageHeader,
)
from aerolog.transport.client import Aeron
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import MediaDriver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from aerolog.transport.client.publication import ExclusivePublication

M = TypeVar("M", bound=Message)
INGRESS_STREAM = 101
SESSION_ID = 7
TERM = 3
HEARTBEAT_NS = 10_000_000_000
#: Of the driver: small and quick.
SETTINGS = (
    "aeron.threading.mode=SHARED",
    "aeron.publication.linger.timeout=100ms",
    "aeron.ipc.term.buffer.length=64k",
)
ANY_PORT = "aeron:udp?endpoint=localhost:0"
CHANNELS = {"ingress_channel": "aeron:ipc", "egress_channel": "aeron:ipc"}


@contextmanager
def scripted_aeron() -> Iterator[Aeron]:
    """A client of a driver of its own, for members and the clients that they talk to."""
    properties = Properties.from_command_line([f"-D{each}" for each in SETTINGS])
    with (
        memory_folder() as home,
        MediaDriver(home / "driver", properties=properties),
        Aeron(home / "driver") as client,
    ):
        yield client


class ScriptedMember:
    """A member: what comes into its ingress, and egress to the client that connects.

    Attributes:
        session_id: of the session that it opens.
        term: the term of its messages.
    """

    def __init__(self, aeron: Aeron, member: int, channel: str) -> None:
        self.member = member
        self.session_id = SESSION_ID
        self.term = TERM
        self._aeron = aeron
        self._opened = ExitStack()
        self._heard: list[bytes] = []
        self.ingress = self._opened.enter_context(aeron.add_subscription(channel, INGRESS_STREAM))
        self.egress: ExclusivePublication | None = None
        self.request: SessionConnectRequest | None = None

    def await_message(self, wanted: type[M]) -> tuple[M, bytes]:
        """The next message of a class in the ingress, and what stands behind its block."""
        found: list[tuple[M, bytes]] = []

        def has_come() -> bool:
            for received in [] if self.ingress.closed else self.ingress.poll_messages(10):
                self._heard.append(received.data)
            while self._heard and not found:
                data = self._heard.pop(0)
                message = SCHEMA.decode(data)
                if isinstance(message, wanted):
                    found.append((message, data[8 + message.LAYOUT.block_length :]))
                else:
                    assert isinstance(message, SessionKeepAlive), message
            return bool(found)

        until(has_come, f"{wanted.__name__} at member {self.member}", patience_s=10)
        return found[0]

    def await_connect(self) -> SessionConnectRequest:
        """Wait for a client's request, and open egress to it."""
        request, _ = self.await_message(SessionConnectRequest)
        self.request = request
        self.open_egress(request)
        return request

    def open_egress(self, request: SessionConnectRequest) -> None:
        """Open egress to the client that made a request to this member or another."""
        publication = self._opened.enter_context(
            self._aeron.add_exclusive_publication(
                request.response_channel, request.response_stream_id
            )
        )
        publication.wait_connected(10)
        self.egress = publication

    def close_egress(self) -> None:
        assert self.egress is not None
        self.egress.close()

    def say(self, message: Message | bytes, payload: bytes = b"") -> None:
        """Send something to the client."""
        assert self.egress is not None
        data = message if isinstance(message, bytes) else message.encode()
        self.egress.send(data + payload)

    def event(self, code: EventCode, detail: str = "", **others: int) -> None:
        """Send a SessionEvent, by default as an answer to the client's request."""
        assert self.request is not None
        values = {
            "cluster_session_id": self.session_id,
            "correlation_id": self.request.correlation_id,
            "leadership_term_id": self.term,
            "leader_member_id": self.member,
            "leader_heartbeat_timeout_ns": HEARTBEAT_NS,
            **others,
        }
        self.say(SessionEvent(code=code, detail=detail, **values))

    def text(self, text: bytes, timestamp: int = 1, session_id: int = SESSION_ID) -> None:
        """Send what a service would."""
        header = SessionMessageHeader(
            leadership_term_id=self.term, cluster_session_id=session_id, timestamp=timestamp
        )
        self.say(header, text)

    def lead(self, term: int, endpoints: str, session_id: int = SESSION_ID) -> None:
        """Say that this member leads."""
        self.term = term
        self.say(
            NewLeaderEvent(
                leadership_term_id=term,
                cluster_session_id=session_id,
                leader_member_id=self.member,
                ingress_endpoints=endpoints,
            )
        )

    def await_text(self) -> tuple[int, int, bytes]:
        """Term, session id and text of the next message of the client."""
        header, text = self.await_message(SessionMessageHeader)
        return header.leadership_term_id, header.cluster_session_id, text

    def close(self) -> None:
        """Leave: both streams end."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def scripted_session(
    aeron: Aeron,
    *,
    heartbeat_ns: int = HEARTBEAT_NS,
    over_udp: bool = False,
    before: Callable[[ScriptedMember], object] = lambda _: None,
    **options: Any,
) -> Iterator[tuple[AeronCluster, ScriptedMember]]:
    """A client's session with a member over IPC or at an endpoint, both in this process.

    Before the member opens the session it does what ``before`` says.
    """
    options = {**CHANNELS, **options}
    with ScriptedMember(aeron, 0, ANY_PORT if over_udp else "aeron:ipc") as member:
        if over_udp:
            until(lambda: member.ingress.resolved_endpoint, "a port", patience_s=10)
            options["ingress_channel"] = "aeron:udp?term-length=64k"
            options["ingress_endpoints"] = f"0={member.ingress.resolved_endpoint}"
        with ThreadPoolExecutor(1) as pool:
            connecting = pool.submit(AeronCluster, aeron, **options)
            member.await_connect()
            before(member)
            member.event(EventCode.OK, leader_heartbeat_timeout_ns=heartbeat_ns)
            cluster = connecting.result(10)
        with cluster:
            yield cluster, member


@pytest.fixture(scope="module")
def aeron() -> Iterator[Aeron]:
    """A client of a driver, for members and the clients that they talk to."""
    with scripted_aeron() as client:
        yield client


@pytest.fixture
def session(aeron: Aeron) -> Iterator[tuple[AeronCluster, ScriptedMember]]:
    """A client and the member that leads."""
    with scripted_session(aeron) as made:
        yield made
