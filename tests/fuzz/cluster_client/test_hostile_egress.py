"""Whatever is published to a client's egress: its messages come, no others, and it goes on."""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING

from cluster_script import HEARTBEAT_NS, SESSION_ID, TERM, scripted_session
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_archive import until

from aerolog.cluster.client import ClientState, EgressMessage
from aerolog.cluster.protocol import (
    SCHEMA,
    AdminRequestType,
    AdminResponse,
    AdminResponseCode,
    Challenge,
    EventCode,
    NewLeaderEvent,
    SessionEvent,
    SessionMessageHeader,
)
from aerolog.transport.errors import MessageFormatError

if TYPE_CHECKING:
    from cluster_script import ScriptedMember

    from aerolog.cluster.client import AeronCluster
    from aerolog.cluster.protocol import Message
    from aerolog.transport.client import Aeron

    Session = tuple[AeronCluster, ScriptedMember]


#: One session hears all examples of a test, and has to outlive each.
CASES = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
HEADER = struct.Struct("<HHHHqqq")
END = b"the end of an example"
INT64 = st.integers(-(2**63), 2**63 - 1)
SESSIONS = st.one_of(st.just(SESSION_ID), INT64)
TERMS = st.one_of(st.just(TERM), INT64)
TEXTS = st.text(st.characters(codec="ascii"), max_size=40)
MESSAGES = st.builds(
    lambda header, text: header.encode() + text,
    st.builds(
        SessionMessageHeader,
        leadership_term_id=TERMS,
        cluster_session_id=SESSIONS,
        timestamp=INT64,
    ),
    st.binary(max_size=300),
)
EVENTS = st.one_of(
    st.builds(
        SessionEvent,
        cluster_session_id=SESSIONS,
        correlation_id=INT64,
        leadership_term_id=TERMS,
        leader_member_id=st.integers(-(2**31), 2**31 - 1),
        code=st.sampled_from([code for code in EventCode if code is not EventCode.CLOSED]),
        detail=TEXTS,
        leader_heartbeat_timeout_ns=st.just(HEARTBEAT_NS),
    ),
    st.builds(
        NewLeaderEvent,
        cluster_session_id=SESSIONS,
        leadership_term_id=TERMS,
        leader_member_id=st.integers(-(2**31), 2**31 - 1),
        ingress_endpoints=TEXTS,
    ),
    st.builds(
        Challenge, cluster_session_id=SESSIONS, correlation_id=INT64, encoded_challenge=st.binary()
    ),
    st.builds(
        AdminResponse,
        cluster_session_id=SESSIONS,
        correlation_id=INT64,
        request_type=st.sampled_from(list(AdminRequestType)),
        response_code=st.sampled_from(list(AdminResponseCode)),
        message=TEXTS,
        payload=st.binary(max_size=20),
    ),
).map(lambda message: message.encode())
#: Any header in front of any bytes, the right numbers more often than others.
ODD_HEADERS = st.builds(
    lambda block, template, schema, version, rest: (
        struct.pack("<HHHH", block, template, schema, version) + rest
    ),
    st.one_of(st.sampled_from([0, 16, 23, 24, 25, 32, 65535]), st.integers(0, 65535)),
    st.one_of(st.sampled_from(sorted(SCHEMA.messages)), st.integers(0, 65535)),
    st.one_of(st.just(SCHEMA.id), st.integers(0, 65535)),
    st.one_of(st.sampled_from([0, SCHEMA.version, 99]), st.integers(0, 65535)),
    st.one_of(
        st.binary(max_size=100),
        st.binary(max_size=40).map(lambda rest: struct.pack("<qqq", TERM, SESSION_ID, 1) + rest),
    ),
)


@st.composite
def torn(draw: st.DrawFn) -> bytes:
    """A message with its end missing, a byte changed, or a length that is huge."""
    data = bytearray(draw(st.one_of(MESSAGES, EVENTS)))
    at = draw(st.integers(0, len(data) - 1))
    match draw(st.sampled_from(["cut", "byte", "length"])):
        case "cut":
            del data[at:]
        case "byte":
            data[at] = draw(st.integers(0, 255))
        case _:
            data[at : at + 4] = b"\xff\xff\xff\x7f"
    return bytes(data)


def event_of(data: bytes) -> Message | None:
    try:
        return SCHEMA.decode(data)
    except MessageFormatError:
        return None


def ends_the_session(data: bytes) -> bool:
    """Whether this is what the cluster says at the end; a member may say it at any time."""
    event = event_of(data)
    return (
        isinstance(event, SessionEvent)
        and event.cluster_session_id == SESSION_ID
        and event.code == EventCode.CLOSED
    )


PAYLOADS = st.lists(
    st.one_of(MESSAGES, EVENTS, torn(), ODD_HEADERS, st.binary(max_size=80)).filter(
        lambda data: not ends_the_session(data)
    ),
    max_size=20,
)


def as_message(data: bytes) -> tuple[bytes, int, int] | None:
    """Text, timestamp and term of what is a message for the session; None for all else."""
    if len(data) < HEADER.size:
        return None
    block, template, schema, _, term, session_id, timestamp = HEADER.unpack_from(data)
    if (template, schema, session_id) != (1, SCHEMA.id, SESSION_ID):
        return None
    if not 24 <= block <= len(data) - 8:
        return None
    return data[8 + block :], timestamp, term


@CASES
@given(payloads=PAYLOADS, limit=st.integers(1, 30))
def test_a_client_hears_its_messages_and_no_others(
    session: Session, payloads: list[bytes], limit: int
) -> None:
    cluster, member = session
    for data in payloads:
        member.say(data)
    member.text(END)
    heard: list[EgressMessage] = []

    def is_at_the_end() -> bool:
        batch = cluster.poll_batch(limit)
        assert len(batch) <= limit
        assert set(batch.session_ids) <= {SESSION_ID}
        heard.extend(batch)
        return bool(heard) and heard[-1].data == END

    until(is_at_the_end, "the end", patience_s=10)
    expected = [found for data in payloads if (found := as_message(data)) is not None]
    assert [(each.data, each.timestamp, each.leadership_term_id) for each in heard[:-1]] == expected
    cluster.send(b"alive")
    assert cluster.state is ClientState.CONNECTED
    assert member.await_text() == (cluster.leadership_term_id, SESSION_ID, b"alive")


def test_noise_does_not_delay_what_the_cluster_answers(aeron: Aeron) -> None:
    """A client pauses between two looks at its egress, and not between two pieces of noise."""
    pauses: list[int] = []
    goes_on = threading.Event()
    goes_on.set()

    def pause(work: int) -> None:
        pauses.append(work)
        assert goes_on.wait(10)

    def speak(member: ScriptedMember) -> None:
        goes_on.clear()
        for _ in range(300):
            member.say(b"noise")
        member.event(EventCode.OK)
        pauses.clear()
        goes_on.set()

    with scripted_session(aeron, before=speak, idle=pause):
        assert len(pauses) < 30


@settings(CASES, max_examples=20)
@given(payloads=PAYLOADS)
def test_a_client_connects_whatever_else_comes(aeron: Aeron, payloads: list[bytes]) -> None:
    def speak(member: ScriptedMember) -> None:
        assert member.request is not None
        for data in payloads:
            event = event_of(data)
            # Whoever knows the number of the request answers it.
            if getattr(event, "correlation_id", None) != member.request.correlation_id:
                member.say(data)

    with scripted_session(aeron, before=speak) as (cluster, member):
        member.text(END)
        until(lambda: END in [each.data for each in cluster.poll_messages()], "a message")
        assert cluster.cluster_session_id == SESSION_ID
