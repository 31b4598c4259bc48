"""Denied requests: both archives answer alike, and both clients say the same of it."""

from __future__ import annotations

import peer
import pytest
from waits import wait_until

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.service.access_rules import REQUESTS
from aerolog.transport.client import Aeron
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode

pytestmark = [pytest.mark.interop, pytest.mark.error_log("unauthorised archive action")]
UNAUTHORISED = ArchiveErrorCode.UNAUTHORISED_ACTION
AUTHORISATION = "aeron.archive.authorisation.service.supplier"
UNAUTHORISED_COUNTER = ArchiveCounterType.REQUESTS_UNAUTHORISED


@pytest.fixture(params=["reference", "ours"])
def closed(request, guarded):
    return guarded(request.param, **{AUTHORISATION: "DENY_ALL"})


def test_with_all_denied_no_client_connects(closed, java_refusal, our_archive_client) -> None:
    code, text = java_refusal(closed)
    assert code == UNAUTHORISED
    assert "unauthorised action" in text
    with pytest.raises(ArchiveError, match="unauthorised action") as refused:
        our_archive_client(closed.aeron_dir)
    assert refused.value.code == UNAUTHORISED


@pytest.mark.parametrize("name", REQUESTS)
def test_every_request_is_denied_by_the_reference_and_by_us(
    name: str, denying, denied_by_both
) -> None:
    assert denied_by_both(name) == {
        implementation: [("ControlResponse", "ERROR", UNAUTHORISED, "unauthorised action")]
        for implementation in denying
    }


@pytest.fixture(scope="module")
def denying(session_servers, tmp_path_factory):
    """An archive of each make that denies everything, and a session on it."""
    from peer.lifetimes import server_starter, stop_all

    running, folders = [], []
    start_one = server_starter(running, folders, tmp_path_factory.mktemp("denying"))
    sessions = {}
    for implementation in ("reference", "ours"):
        server = start_one(
            implementation, "archiving-driver", properties={AUTHORISATION: "DENY_ALL"}
        )
        sessions[implementation] = Denied(server.aeron_dir)
    yield sessions
    for session in sessions.values():
        session.aeron.close()
    stop_all(running, folders)


@pytest.fixture
def denied_by_both(denying):
    return lambda name: {make: session.ask(name) for make, session in denying.items()}


class Denied:
    """A session of raw messages."""

    def __init__(self, aeron_dir: str) -> None:
        self.aeron = Aeron(aeron_dir)
        self.responses = self.aeron.add_subscription("aeron:ipc", 20)
        self.requests = self.aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 10)
        self.requests.wait_connected(20)
        self.correlation_id = 1
        self.requests.send(
            ap.AuthConnectRequest(
                correlation_id=1, response_stream_id=20, response_channel="aeron:ipc"
            ).encode()
        )
        self.session_id = self._answers(1)[0].control_session_id

    def _answers(self, correlation_id: int) -> list[ap.ControlResponse]:
        import time

        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = [ap.decode(m.data) for m in self.responses.poll_messages(10)]
            answers = [m for m in found if getattr(m, "correlation_id", None) == correlation_id]
            if answers:
                return answers
            time.sleep(0.001)
        raise AssertionError(f"no answer to {correlation_id}")

    def ask(self, name: str) -> list[tuple[str, str, int, str]]:
        """What comes as answer to a request."""
        message = ap.MESSAGES[REQUESTS[name]]
        self.correlation_id += 1
        values = {f.name: 1 if f.enum is None else f.enum(1) for f in message.LAYOUT.fixed}
        values |= {f.name: "aeron:ipc" if f.is_text else b"" for f in message.LAYOUT.var}
        values |= {"control_session_id": self.session_id, "correlation_id": self.correlation_id}
        if "replay_token" in values:
            values["replay_token"] = -1
        self.requests.send(message(**values).encode())
        return [
            (type(m).__name__, m.code.name, m.relevant_id, m.error_message)
            for m in self._answers(self.correlation_id)
        ]


def test_rules_of_a_file_for_both_clients(
    tmp_path, guarded, java_client, our_client, our_archive_client
) -> None:
    path = tmp_path / "rules"
    path.write_text("admin allow all\n- allow query\n")
    server = guarded(
        "ours",
        **{
            "aeron.archive.authenticator.supplier": (
                "io.aeron.samples.archive.SampleAuthenticatorSupplier"
            ),
            AUTHORISATION: "rules-file",
            "aerolog.archive.rules.file": str(path),
        },
    )
    admin = java_client(server.aeron_dir).archive(credentials=b"admin:admin".hex())
    assert admin.startRecording("aeron:ipc", 1, "LOCAL") >= 0
    # After a challenge the sample authenticator gives no name.
    nobody = java_client(server.aeron_dir).archive(
        credentials=b"admin:adminC".hex(), answer=b"admin:CSadmin".hex()
    )
    assert nobody.recordings(from_=0, count=1) == []
    with pytest.raises(peer.JavaError) as denied:
        nobody.startRecording("aeron:ipc", 2, "LOCAL")
    assert denied.value.code == UNAUTHORISED
    ours = our_archive_client(
        server.aeron_dir, credentials=b"admin:adminC", on_challenge=lambda _: b"admin:CSadmin"
    )
    assert ours.list_recordings() == []
    with pytest.raises(ArchiveError) as refused:
        ours.start_recording("aeron:ipc", 2)
    assert refused.value.code == UNAUTHORISED
    counters = our_client(server.aeron_dir).counters
    wait_until(lambda: counters.find(type_id=UNAUTHORISED_COUNTER).value >= 2, "both to be counted")
    assert counters.find(type_id=UNAUTHORISED_COUNTER).value == 2
    text = "unauthorised archive action=4 "
    wait_until(lambda: text in peer.archive_tool(server.archive_dir, "errors"), "the log")
