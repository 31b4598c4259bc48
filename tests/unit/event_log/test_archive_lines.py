"""Lines of an archive's events, beside those that the reference printed for the same records."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.archive import protocol as ap
from aerolog.archive.service.event_lines import MESSAGE_EVENTS, ArchiveEventCode, dissect

E = ArchiveEventCode
SESSION = {"control_session_id": 643716578, "correlation_id": 27}
SHOWN = "controlSessionId=643716578 correlationId=27 "


def text(value):
    return struct.pack("<i", len(value)) + value.encode()


MESSAGES = [
    (
        ap.StartRecordingRequest(
            **SESSION,
            stream_id=1001,
            source_location=ap.SourceLocation.LOCAL,
            channel="aeron:ipc?term-length=64k",
        ),
        61,
        SHOWN + "streamId=1001 sourceLocation=LOCAL channel=aeron:ipc?term-length=64k",
    ),
    (
        ap.StartRecordingRequest2(
            **SESSION,
            stream_id=3003,
            source_location=ap.SourceLocation.LOCAL,
            auto_stop=ap.BooleanType.TRUE,
            channel="aeron:ipc",
        ),
        49,
        SHOWN + "streamId=3003 sourceLocation=LOCAL autoStop=TRUE channel=aeron:ipc",
    ),
    (
        ap.ControlResponse(**SESSION, relevant_id=28, code=ap.ControlResponseCode.OK),
        44,
        SHOWN + "relevantId=28 code=OK version=68608 errorMessage=",
    ),
    (
        ap.ReplayRequest(
            **SESSION,
            recording_id=0,
            position=0,
            length=307200,
            replay_stream_id=2002,
            replay_channel="aeron:ipc",
        ),
        77,
        SHOWN
        + "recordingId=0 position=0 length=307200 replayStreamId=2002 replayChannel=aeron:ipc",
    ),
    (
        ap.ListRecordingSubscriptionsRequest(
            **SESSION,
            pseudo_index=0,
            subscription_count=256,
            apply_stream_id=ap.BooleanType.FALSE,
            stream_id=0,
            channel="",
        ),
        44,
        SHOWN + "pseudoIndex=0 applyStreamId=FALSE subscriptionCount=256 streamId=0 channel=",
    ),
    (
        ap.DetachSegmentsRequest(**SESSION, recording_id=0, new_start_position=131072),
        40,
        SHOWN + "recordingId=0",
    ),
    (
        ap.PurgeSegmentsRequest(**SESSION, recording_id=0, new_start_position=262144),
        40,
        SHOWN + "recordingId=0 newStartPosition=262144",
    ),
    (
        ap.RecordingSignalEvent(
            **SESSION,
            recording_id=0,
            subscription_id=28,
            position=409600,
            signal=ap.RecordingSignal.STOP,
        ),
        52,
        SHOWN + "recordingId=0 subscriptionId=28 position=409600 signal=STOP",
    ),
    (
        ap.ReplicateRequest2(
            **SESSION,
            src_recording_id=0,
            dst_recording_id=-1,
            stop_position=-1,
            channel_tag_id=-1,
            subscription_tag_id=-1,
            src_control_stream_id=10,
            src_control_channel="aeron:ipc",
            replication_channel="aeron:udp?endpoint=localhost:0",
        ),
        135,
        SHOWN + "srcRecordingId=0 dstRecordingId=-1 stopPosition=-1 channelTagId=-1 "
        "subscriptionTagId=-1 srcControlStreamId=10 srcControlChannel=aeron:ipc liveDestination= "
        "replicationChannel=aeron:udp?endpoint=localhost:0",
    ),
    (
        ap.AuthConnectRequest(
            correlation_id=22, response_stream_id=20, response_channel="aeron:ipc"
        ),
        45,
        (
            "correlationId=22 responseStreamId=20 version=68608 responseChannel=aeron:ipc "
            "encodedCredentialsLength=0"
        ),
    ),
    (ap.CloseSessionRequest(control_session_id=643716578), 16, "controlSessionId=643716578"),
]
OTHERS = [
    (E.CONTROL_SESSION_STATE_CHANGE,
     struct.pack("<q", 643716578) + text("INIT -> CONNECTING") + text("connecting"), 44,
     'controlSessionId=643716578 INIT -> CONNECTING reason="connecting"'),
    (E.RECORDING_SESSION_STATE_CHANGE,
     struct.pack("<qq", 0, 409600) + text("RECORDING -> INACTIVE") + text("stop recording"), 59,
     'recordingId=0 position=409600 RECORDING -> INACTIVE reason="stop recording"'),
    (E.REPLAY_SESSION_STATE_CHANGE,
     struct.pack("<qqq", 4900035937, 0, 0) + text("INIT -> REPLAY") + text(""), 46,
     ("replaySessionId=4900035937 replayId=1 sessionId=605068641 recordingId=0 position=0 "
     'INIT -> REPLAY reason=""')),
    (E.REPLAY_SESSION_STATE_CHANGE,
     struct.pack("<qqq", 12566539380, 0, 0) + text("INIT -> REPLAY") + text(""), 46,
     ("replaySessionId=12566539380 replayId=2 sessionId=-318362508 recordingId=0 position=0 "
     'INIT -> REPLAY reason=""')),
    (E.REPLICATION_SESSION_STATE_CHANGE,
     struct.pack("<qqqq", 1669779936, 0, -1, -1) + text("CONNECT -> REPLICATE_DESCRIPTOR")
     + text("connected to the Archive"), 95,
     ("replicationId=1669779936 srcRecordingId=0 dstRecordingId=-1 position=-1 "
     'CONNECT -> REPLICATE_DESCRIPTOR reason="connected to the Archive"')),
    (E.REPLICATION_SESSION_DONE,
     struct.pack("<8q3b", 1669779935, 1669779936, 0, 0, 102400, 1, -1, 102400, 0, 0, 1), 67,
     ("controlSessionId=1669779935 replicationId=1669779936 srcRecordingId=0 replayPosition=0 "
     "srcStopPosition=102400 dstRecordingId=1 dstStopPosition=-1 position=102400 isClosed=false "
     "isEndOfStream=false isSynced=true")),
]  # fmt: skip


@pytest.mark.parametrize(("message", "length", "line"), MESSAGES)
def test_a_message_is_shown_as_by_the_reference(message, length, line):
    event = MESSAGE_EVENTS[message.LAYOUT.template_id]
    record = message.encode()

    assert len(record) == length
    assert dissect(event, record) == (event.name, line)


@pytest.mark.parametrize(("event", "record", "length", "line"), OTHERS)
def test_a_change_of_state_is_shown_as_by_the_reference(event, record, length, line):
    assert len(record) == length
    assert dissect(event, record) == (event.name, line)


def test_every_event_but_those_of_states_is_a_message():
    others = {
        E.REPLICATION_SESSION_STATE_CHANGE,
        E.CONTROL_SESSION_STATE_CHANGE,
        E.REPLAY_SESSION_ERROR,
        E.CATALOG_RESIZE,
        E.REPLICATION_SESSION_DONE,
        E.REPLAY_SESSION_STATE_CHANGE,
        E.RECORDING_SESSION_STATE_CHANGE,
    }

    assert set(MESSAGE_EVENTS.values()) == set(E) - others


@given(st.integers(0, 50), st.binary(max_size=200))
def test_no_record_is_too_odd_to_be_shown(event, record):
    name, line = dissect(event, record)

    assert name
    assert isinstance(line, str)
