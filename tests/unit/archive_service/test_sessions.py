"""Control sessions: set up, kept, ended, all within their deadlines."""

from __future__ import annotations

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType

CONTROL_SESSIONS = ArchiveCounterType.CONTROL_SESSIONS


def test_the_ok_is_repeated_every_200_ms_until_the_first_request(rig) -> None:
    rig.pass_time(1000)
    assert 4 <= len([m for m in rig.poll() if isinstance(m, ap.ControlResponse)]) <= 7
    assert rig.ask(ap.ArchiveIdRequest) == 7
    before = len(rig.poll())
    rig.pass_time(1000)
    assert len(rig.poll()) == before


def test_an_active_session_is_pinged_once_a_second(rig) -> None:
    rig.ask(ap.ArchiveIdRequest)
    rig.poll()
    pings = []
    for _ in range(5000):
        rig.turn()
        rig.aeron.do_work()
        pings += [
            m for m in rig.responses.poll_messages(10) if isinstance(ap.decode(m.data), ap.Ping)
        ]
    assert 4 <= len(pings) <= 5


def test_a_session_without_a_listener_is_given_up_after_the_connect_timeout(rig) -> None:
    stray = rig.aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 10)
    rig.wait(lambda: stray.is_connected, "the archive to listen")
    stray.send(
        ap.AuthConnectRequest(
            correlation_id=1, response_stream_id=555, response_channel="aeron:ipc"
        ).encode()
    )
    rig.wait(lambda: rig.counter(CONTROL_SESSIONS) == 2, "the second session")
    rig.pass_time(4900)
    assert rig.counter(CONTROL_SESSIONS) == 2
    assert stray.is_connected
    rig.pass_time(200)
    assert rig.counter(CONTROL_SESSIONS) == 1
    # The request stream is refused: whoever else uses it is cut off, as with the reference.
    rig.wait(lambda: not stray.is_connected, "the request stream to be refused")
    assert any(
        "failed to establish initial connection: state=CONNECTING" in text for text in rig.errors()
    )


def test_a_client_that_does_not_read_is_dropped_with_the_reason(rig) -> None:
    rig.ask(ap.ArchiveIdRequest)
    query = ap.StartPositionRequest(
        control_session_id=rig.session_id, correlation_id=1, recording_id=99
    ).encode()
    for _ in range(1500):
        rig.turn()
        rig.requests.offer(query)
    assert rig.counter(CONTROL_SESSIONS) == 1
    for _ in range(6000):
        rig.turn()
    assert rig.counter(CONTROL_SESSIONS) == 0
    assert any(
        "failed to send response for more than connectTimeoutMs=5000" in text
        for text in rig.errors()
    )


def test_closing_ends_the_response_stream_and_frees_the_counter(rig) -> None:
    rig.ask(ap.ArchiveIdRequest)
    rig.send(ap.CloseSessionRequest(control_session_id=rig.session_id))
    rig.wait(lambda: not rig.responses.is_connected, "the response stream to end")
    rig.wait(
        lambda: (
            not [
                c
                for c in rig.aeron.counters.infos()
                if c.type_id == ArchiveCounterType.CONTROL_SESSION
            ]
        ),
        "the session's counter to go",
    )
    assert rig.counter(CONTROL_SESSIONS) == 0


def test_requests_before_the_session_is_up_are_dropped(make_rig) -> None:
    rig = make_rig()
    rig.send(
        ap.AuthConnectRequest(
            correlation_id=1, response_stream_id=20, response_channel="aeron:ipc", version=2 << 16
        )
    )
    error = rig.answer_to(1)
    rig.session_id = error.control_session_id
    correlation_id = rig.post(ap.ArchiveIdRequest)
    rig.pass_time(500)
    assert rig.answers(correlation_id) == []


class Stubborn:
    """Challenges everybody; accepts the one word."""

    def __init__(self) -> None:
        self.proofs: dict[int, bytes] = {}

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        assert credentials == b"who"

    def on_connected_session(self, session, now_ms: int) -> None:
        session.challenge(b"prove it")

    def on_challenge_response(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        self.proofs[session_id] = credentials

    def on_challenged_session(self, session, now_ms: int) -> None:
        proof = self.proofs.get(session.session_id)
        if proof == b"open sesame":
            session.authenticate(b"ali")
        elif proof is not None:
            session.reject()


class OnlyAli:
    """Lets one principal do everything, but for one request."""

    def is_authorised(self, protocol_id, action_id, kind, principal) -> bool:
        assert protocol_id == 101
        return principal == b"ali" and action_id != 4


def challenged(rig, proof: bytes) -> int:
    rig.send(
        ap.AuthConnectRequest(
            correlation_id=1,
            response_stream_id=20,
            response_channel="aeron:ipc",
            encoded_credentials=b"who",
        )
    )
    challenge = rig.wait(
        lambda: [m for m in rig.poll() if isinstance(m, ap.Challenge)], "the challenge"
    )[0]
    assert (challenge.correlation_id, challenge.encoded_challenge) == (1, b"prove it")
    rig.session_id = challenge.control_session_id
    rig.send(
        ap.ChallengeResponse(
            control_session_id=rig.session_id, correlation_id=2, encoded_credentials=proof
        )
    )
    return 2


def test_a_challenge_that_is_met_opens_the_session(make_rig) -> None:
    rig = make_rig(authenticator=Stubborn(), authorisation=OnlyAli())
    answer = rig.answer_to(challenged(rig, b"open sesame"))
    assert (answer.code, answer.relevant_id) == (ap.ControlResponseCode.OK, rig.session_id)
    assert rig.ask(ap.ArchiveIdRequest) == 7
    refused = rig.refused(
        ap.StartRecordingRequest,
        stream_id=1,
        source_location=ap.SourceLocation.LOCAL,
        channel="aeron:ipc",
    )
    assert refused == (13, "unauthorised action")
    assert any("unauthorised archive action=4" in text for text in rig.errors())


def test_a_challenge_that_is_not_met_is_rejected(make_rig) -> None:
    rig = make_rig(authenticator=Stubborn(), authorisation=OnlyAli())
    answer = rig.answer_to(challenged(rig, b"let me in"))
    assert answer.code == ap.ControlResponseCode.ERROR
    assert (answer.relevant_id, answer.error_message) == (10, "authentication rejected")


def test_a_denied_action_is_answered(make_rig) -> None:
    rig = make_rig(authorisation_service_supplier="DENY_ALL")
    rig.connect()
    assert rig.refused(ap.ArchiveIdRequest) == (13, "unauthorised action")
