"""What a client makes of NewLeaderEvents that cannot be followed: anybody may publish to egress."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from cluster_script import SESSION_ID, TERM, scripted_session
from live_archive import until

from aerolog.cluster.client import ClientState, ClusterError, SessionClosedError
from aerolog.cluster.protocol import AdminRequestType, AdminResponse, AdminResponseCode, EventCode
from aerolog.transport.concurrent.clock import ManualClock

if TYPE_CHECKING:
    from cluster_script import ScriptedMember

    from aerolog.cluster.client import AeronCluster
    from aerolog.transport.client import Aeron

    Session = tuple[AeronCluster, ScriptedMember]


def read(cluster: AeronCluster, member: ScriptedMember) -> None:
    """Have a client read all that was said so far."""
    member.text(b"so far")
    until(lambda: cluster.poll_messages(100), "what was said", patience_s=10)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


@pytest.mark.parametrize(
    ("endpoints", "says"),
    [
        ("nonsense", "'nonsense' in ingress endpoints 'nonsense' is not ID=HOST:PORT"),
        ("x=localhost:1", "'x=localhost:1' in ingress endpoints"),
        ("5=localhost:1", "ingress endpoints '5=localhost:1' lack the leader, member 0"),
        ("0=localhost:1,0=localhost:2", "member 0 twice"),
        ("9" * 5000 + "=localhost:1", "is not ID=HOST:PORT"),
    ],
)
def test_a_bad_event_is_passed_over(
    aeron: Aeron, caplog: pytest.LogCaptureFixture, endpoints: str, says: str
) -> None:
    with scripted_session(aeron, over_udp=True) as (cluster, member):
        member.lead(TERM + 1, endpoints)
        read(cluster, member)
        assert (cluster.leadership_term_id, cluster.state) == (TERM, ClientState.CONNECTED)
        assert cluster.session.passed_over == 1
        (text,) = warnings(caplog)
        assert text.startswith(f"session {SESSION_ID}: a NewLeaderEvent is passed over: ")
        assert says in text
        assert len(text) < 600
        assert cluster.send(b"bid") > 0
        assert member.await_text() == (TERM, SESSION_ID, b"bid")


def test_bad_events_are_told_once_in_ten_seconds(
    aeron: Aeron, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    with scripted_session(aeron, over_udp=True, clock=clock) as (cluster, member):
        for seconds in (0, 9, 1):
            clock.advance_ns(seconds * 1_000_000_000)
            for _ in range(50):
                member.lead(TERM + 1, "nonsense")
            read(cluster, member)
        told = warnings(caplog)
        assert len(told) == 2
        assert "before" not in told[0]
        assert told[1].endswith("(and 99 warnings before)")
        assert cluster.session.passed_over == 150


def test_a_leader_that_the_driver_cannot_reach_is_given_up_for_another(
    aeron: Aeron, caplog: pytest.LogCaptureFixture
) -> None:
    with scripted_session(aeron, over_udp=True) as (cluster, member):
        place = member.ingress.resolved_endpoint
        member.lead(TERM + 1, "0=localhost:99999999")

        def is_told() -> bool:
            cluster.session.poll()
            return bool(warnings(caplog))

        until(is_told, "a warning", patience_s=10)
        assert "there is no way to member 0, the leader: " in warnings(caplog)[0]
        assert "99999999" in warnings(caplog)[0]
        assert cluster.state is ClientState.AWAIT_NEW_LEADER
        member.lead(TERM + 2, f"0={place}")
        assert cluster.send(b"bid") > 0
        assert member.await_text() == (TERM + 2, SESSION_ID, b"bid")


def test_a_session_ends_when_no_better_leader_follows(aeron: Aeron) -> None:
    with scripted_session(aeron, over_udp=True, heartbeat_ns=100_000_000) as (cluster, member):
        member.lead(TERM + 1, "0=localhost:99999999")
        with pytest.raises(SessionClosedError, match="no leader came: await new leader for too"):
            list(cluster.messages())


def test_the_text_of_endpoints_does_not_matter_to_other_ingress(session: Session) -> None:
    cluster, member = session
    member.lead(TERM + 1, "nonsense")
    read(cluster, member)
    assert cluster.send(b"bid") > 0
    assert member.await_text() == (TERM + 1, SESSION_ID, b"bid")


def test_answers_to_nothing_are_not_kept(session: Session) -> None:
    cluster, member = session
    for number in range(100):
        member.say(
            AdminResponse(
                cluster_session_id=SESSION_ID,
                correlation_id=number,
                request_type=AdminRequestType.SNAPSHOT,
                response_code=AdminResponseCode.OK,
                message="",
            )
        )
    read(cluster, member)
    assert cluster.session.passed_over == 100


@pytest.mark.parametrize("detail", ["", "nonsense", "0=a:1,0=b:2"])
def test_a_redirect_to_nobody_says_what_the_cluster_said(aeron: Aeron, detail: str) -> None:
    def redirect(member: ScriptedMember) -> None:
        member.event(EventCode.REDIRECT, detail, cluster_session_id=-1)

    with (
        pytest.raises(ClusterError, match=f"the cluster redirects to nobody: .*{detail!r}"),
        scripted_session(aeron, before=redirect),
    ):
        raise AssertionError("it connected")
