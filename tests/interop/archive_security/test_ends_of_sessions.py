"""How sessions end, with both archives: the same reasons, in time, in the same words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import peer
import pytest
from waits import wait_until

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.client import Aeron, CountersReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.interop
WAIT_S = 30.0
CONTROL_SESSIONS, SESSION_COUNTER = (
    ArchiveCounterType.CONTROL_SESSIONS,
    ArchiveCounterType.CONTROL_SESSION,
)
RESPONSES = 20
SAMPLE = "io.aeron.samples.archive.SampleAuthenticatorSupplier"


class RawClient:
    """Control streams of the test's own; a session is opened by hand."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.aeron = Aeron(server.aeron_dir)
        self.responses = self.aeron.add_subscription("aeron:ipc", RESPONSES)
        self.requests = self.aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 10)
        self.requests.wait_connected(WAIT_S)

    def connect(self, stream_id: int = RESPONSES, **fields: Any) -> None:
        self.requests.send(
            ap.AuthConnectRequest(
                correlation_id=1,
                response_stream_id=stream_id,
                response_channel="aeron:ipc",
                **fields,
            ).encode()
        )

    def next(self, kind: type[ap.Message]) -> Any:
        """The next message of a kind."""

        def found() -> Any:
            for message in self.responses.poll_messages(10):
                decoded = ap.decode(message.data)
                if isinstance(decoded, kind):
                    return decoded
            return None

        return wait_until(found, kind.__name__)

    def sessions(self) -> int:
        (counter,) = [
            c
            for c in CountersReader(self.server.aeron_dir).infos()
            if c.type_id == CONTROL_SESSIONS
        ]
        return counter.value

    def end_text(self) -> str:
        """Why the only session that was warned about has ended, without what is chosen anew."""

        def lines() -> set[str]:
            log = peer.archive_tool(self.server.archive_dir, "errors")
            return {line for line in log.splitlines() if " terminated: " in line}

        # The reference's archive logs in its driver's log as well, which the tool shows behind.
        (line,) = wait_until(lines, "the end of the session in the log")
        return re.sub(r"=-?\d+ ", "=N ", line.rpartition(" controlSessionId")[2])


@pytest.fixture(params=["reference", "ours"])
def raw(request, guarded) -> Iterator[Callable[..., RawClient]]:
    """Makes raw clients of an archive in which sessions have three seconds to connect."""
    made: list[RawClient] = []

    def make(**properties: str) -> RawClient:
        properties = {"aeron.archive.connect.timeout": "3s", **properties}
        made.append(RawClient(guarded(request.param, **properties)))
        return made[-1]

    yield make
    for client in made:
        client.aeron.close()


def test_nobody_listens_to_the_responses(raw) -> None:
    client = raw()
    client.connect(stream_id=555)
    wait_until(lambda: client.sessions() == 1, "the session")
    wait_until(lambda: not client.requests.is_connected, "the request stream to be refused")
    wait_until(lambda: client.sessions() == 0, "the session to end")
    assert client.end_text() == (
        "=N (controlResponseStreamId=N controlResponseChannel=aeron:ipc?mtu=1408|term-length=64k"
        "|sparse=true) terminated: failed to establish initial connection: state=CONNECTING"
    )


def test_a_challenge_is_not_answered(raw) -> None:
    client = raw(**{"aeron.archive.authenticator.supplier": SAMPLE})
    client.connect(encoded_credentials=b"admin:adminC")
    assert client.next(ap.Challenge).encoded_challenge == b"challenge!"
    wait_until(lambda: not client.requests.is_connected, "the request stream to be refused")
    wait_until(lambda: not client.responses.is_connected, "the responses to end")
    wait_until(lambda: client.sessions() == 0, "the session to end")
    assert client.end_text().endswith(
        " terminated: failed to establish initial connection: state=CHALLENGED"
    )


def test_a_rejected_client_stays(raw) -> None:
    client = raw(**{"aeron.archive.authenticator.supplier": SAMPLE})
    client.connect()
    first, second = (client.next(ap.ControlResponse) for _ in range(2))
    assert first == second
    assert (first.code.name, first.relevant_id, first.correlation_id) == ("ERROR", 10, 1)
    wait_until(lambda: not client.responses.is_connected, "the responses to end")
    assert client.end_text().endswith(
        " terminated: failed to establish initial connection: state=REJECTED"
    )


def test_responses_are_not_read(raw) -> None:
    client = raw()
    client.connect()
    session_id = client.next(ap.ControlResponse).control_session_id
    request = ap.StartPositionRequest(
        control_session_id=session_id, correlation_id=2, recording_id=99
    ).encode()

    def ended() -> bool:
        if client.requests.is_connected:
            client.requests.offer(request)
        return client.sessions() == 0

    # As many as the log holds, and some; then silence.
    for _ in range(1000):
        if client.requests.offer(request) < 0:
            break
    wait_until(ended, "the session to end")
    assert client.end_text().endswith(
        " terminated: failed to send response for more than connectTimeoutMs=3000"
    )


def test_a_client_dies(raw, own_java_peer) -> None:
    client = raw(**{"aeron.client.liveness.timeout": "4s"})
    archive = own_java_peer.connect(client.server.aeron_dir).archive(response_stream=21)
    assert archive.startRecording("aeron:ipc", 7, "LOCAL") >= 0
    assert client.sessions() == 1
    own_java_peer.kill()
    wait_until(lambda: client.sessions() == 0, "the session to end")
    counters = CountersReader(client.server.aeron_dir)
    wait_until(lambda: counters.find(type_id=SESSION_COUNTER) is None, "its counter to be freed")
    # What it started goes on.
    client.connect()
    session_id = client.next(ap.ControlResponse).control_session_id
    client.requests.send(
        ap.ListRecordingSubscriptionsRequest(
            control_session_id=session_id,
            correlation_id=3,
            pseudo_index=0,
            subscription_count=10,
            apply_stream_id=ap.BooleanType.FALSE,
            stream_id=0,
            channel="",
        ).encode()
    )
    assert client.next(ap.RecordingSubscriptionDescriptor).stream_id == 7
