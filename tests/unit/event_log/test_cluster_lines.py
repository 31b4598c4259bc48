"""Lines of a consensus module's events, as the reference's agent printed them for these values."""

from __future__ import annotations

from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.cluster.module.event_log import ClusterEventCode, dissect, encode
from aerolog.cluster.protocol import ClusterTimeUnit

E = ClusterEventCode
MILLIS = ClusterTimeUnit.MILLIS


class Stage(Enum):
    """States of nothing."""

    ONE = 1
    TWO = 2


CHANGE = (Stage.ONE, Stage.TWO)
LINES = [
    (
        E.APPEND_SESSION_CLOSE,
        (1, 102, "SERVICE_ACTION", 103, 104, MILLIS),
        62,
        (
            "memberId=1 sessionId=102 closeReason=SERVICE_ACTION leadershipTermId=103 timestamp=104"
            " timeUnit=MILLISECONDS"
        ),
    ),
    (
        E.ELECTION_STATE_CHANGE,
        (1, CHANGE, 2, 103, 104, 105, 106, 107, 108, "text0"),
        79,
        (
            "memberId=1 ONE -> TWO leaderId=2 candidateTermId=103 leadershipTermId=104"
            " logPosition=105 logLeadershipTermId=106 appendPosition=107 catchupPosition=108"
            " reason=text0"
        ),
    ),
    (
        E.NEW_ELECTION,
        (1, 102, 103, 104, "text0"),
        37,
        "memberId=1 leadershipTermId=102 logPosition=103 appendPosition=104 reason=text0",
    ),
    (
        E.ADD_PASSIVE_MEMBER,
        (1, 102, "text0"),
        21,
        "memberId=1 correlationId=102 memberEndpoints=text0",
    ),
    (
        E.APPEND_POSITION,
        (1, 102, 103, 4, 1),
        25,
        "memberId=1 leadershipTermId=102 logPosition=103 followerMemberId=4 flags=0b00000001",
    ),
    (
        E.CANVASS_POSITION,
        (1, 102, 103, 104, 5, 6),
        36,
        (
            "memberId=1 logLeadershipTermId=102 logPosition=103 leadershipTermId=104"
            " followerMemberId=5 protocolVersion=0.0.6"
        ),
    ),
    (
        E.CATCHUP_POSITION,
        (1, 102, 103, 4, "text0"),
        33,
        "memberId=1 leadershipTermId=102 logPosition=103 followerMemberId=4 catchupEndpoint=text0",
    ),
    (
        E.COMMIT_POSITION,
        (1, 102, 103, 4),
        24,
        "memberId=1 leadershipTermId=102 logPosition=103 leaderId=4",
    ),
    (
        E.NEW_LEADERSHIP_TERM,
        (1, 102, 103, 104, 105, 106, 107, 108, 109, 110, 11, 12, 13, True),
        89,
        (
            "memberId=1 logLeadershipTermId=102 nextLeadershipTermId=103"
            " nextTermBaseLogPosition=104"
            " nextLogPosition=105 leadershipTermId=106 termBaseLogPosition=107 logPosition=108"
            " leaderRecordingId=109 timestamp=110 leaderId=11 logSessionId=12 appVersion=0.0.13"
            " isStartup=true"
        ),
    ),
    (
        E.REPLAY_NEW_LEADERSHIP_TERM,
        (1, False, 102, 103, 105, 6, 104, MILLIS),
        57,
        (
            "memberId=1 isInElection=false leadershipTermId=102 logPosition=103"
            " termBaseLogPosition=105 appVersion=6 timestamp=104 timeUnit=MILLISECONDS"
        ),
    ),
    (
        E.REQUEST_VOTE,
        (1, 102, 103, 104, 5, 6),
        36,
        (
            "memberId=1 logLeadershipTermId=102 logPosition=103 candidateTermId=104 candidateId=5"
            " protocolVersion=0.0.6"
        ),
    ),
    (E.STOP_CATCHUP, (1, 102, 3), 16, "memberId=1 leadershipTermId=102 followerMemberId=3"),
    (
        E.TRUNCATE_LOG_ENTRY,
        (1, Stage.ONE, 102, 103, 104, 105, 106, 107, 108, 109),
        75,
        (
            "memberId=1 state=ONE logLeadershipTermId=102 leadershipTermId=103 candidateTermId=104"
            " commitPosition=105 logPosition=106 appendPosition=107 oldPosition=108 newPosition=109"
        ),
    ),
    (
        E.REPLICATION_ENDED,
        (1, "text0", "text1", 102, 103, 104, True),
        47,
        (
            "memberId=1 purpose=text0 channel=text1 srcRecordingId=102 dstRecordingId=103"
            " position=104 hasSynced=true"
        ),
    ),
    (
        E.SERVICE_ACK,
        (1, 102, 103, MILLIS, 104, 105, 6),
        56,
        (
            "memberId=1 logPosition=102 timestamp=103 timeUnit=MILLISECONDS ackId=104"
            " relevantId=105"
            " serviceId=6"
        ),
    ),
    (E.STATE_CHANGE, (1, CHANGE), 18, "memberId=1 ONE -> TWO"),
    (E.ROLE_CHANGE, (1, CHANGE), 18, "memberId=1 ONE -> TWO"),
    (E.CLUSTER_BACKUP_STATE_CHANGE, (1, CHANGE), 18, "memberId=1 ONE -> TWO"),
    (
        E.TERMINATION_ACK,
        (1, 102, 103, 4),
        24,
        "memberId=1 logLeadershipTermId=102 logPosition=103 senderMemberId=4",
    ),
    (
        E.TERMINATION_POSITION,
        (1, 102, 103),
        20,
        "memberId=1 logLeadershipTermId=102 logPosition=103",
    ),
    (
        E.STANDBY_SNAPSHOT_NOTIFICATION,
        (1, 102, 103, 104, 105, 106, MILLIS, 7, "text0"),
        73,  # the agent counts 8 bytes more, which it does not fill
        (
            "memberId=1 recordingId=102 leadershipTermId=103 termBaseLeadershipPosition=104"
            " logPosition=105 timestamp=106 timeUnit=MILLISECONDS serviceId=7 archiveEndpoint=text0"
        ),
    ),
]


@pytest.mark.parametrize(
    ("event", "values", "length", "text"), LINES, ids=[event.name for event, *_ in LINES]
)
def test_a_line(event, values, length, text):
    encoded = encode(event, values)
    assert dissect(event, encoded) == (event.name, text)
    assert len(encoded) == length


def test_every_event_has_a_line():
    assert {event for event, *_ in LINES} | {E.DYNAMIC_JOIN_STATE_CHANGE_UNUSED} == set(E)


@given(st.integers(0, 30), st.binary(max_size=100))
def test_any_record_has_a_line(event, data):
    name, text = dissect(event, data)
    assert name
    assert isinstance(text, str)
