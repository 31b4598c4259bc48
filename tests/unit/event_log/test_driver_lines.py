"""Lines of a driver's events, beside those that the reference printed for the same records."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.driver.events.event_lines import COMMAND_EVENTS, RESPONSE_EVENTS, dissect
from aerolog.transport.events.event_codes import DriverEventCode
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import frame_codec as frames
from aerolog.transport.protocol import responses as r

E = DriverEventCode
UDP = "aeron:udp?endpoint=localhost:24567"
LOOPBACK = struct.pack("<ii4B", 24567, 4, 127, 0, 0, 1)


def text(value):
    return struct.pack("<i", len(value)) + value.encode()


# A command, the length and the line that the reference's agent has for it.
COMMANDS = [
    (
        c.AddSubscription(
            1, 2, stream_id=1001, channel="aeron:ipc", registration_correlation_id=-1
        ),
        41,
        "streamId=1001 registrationCorrelationId=-1 clientId=1 correlationId=2 channel=aeron:ipc",
    ),
    (
        c.AddPublication(1, 3, 1001, "aeron:ipc"),
        33,
        "streamId=1001 clientId=1 correlationId=3 channel=aeron:ipc",
    ),
    (
        c.AddExclusivePublication(1, 3, 1001, UDP),
        58,
        f"streamId=1001 clientId=1 correlationId=3 channel={UDP}",
    ),
    (
        c.RemovePublication(1, 24, 21, 1),
        32,
        "registrationId=21 clientId=1 correlationId=24 revoke=true",
    ),
    (
        c.RemovePublication(1, 4, 3),
        32,
        "registrationId=3 clientId=1 correlationId=4 revoke=false",
    ),
    (c.RemoveSubscription(1, 5, 2), 24, "registrationId=2 clientId=1 correlationId=5"),
    (c.RemoveCounter(1, 8, 7), 24, "registrationId=7 clientId=1 correlationId=8"),
    (c.ClientKeepalive(2, 5), 16, "clientId=2 correlationId=5"),
    (c.ClientClose(1, 11), 16, "clientId=1 correlationId=11"),
    (
        c.AddDestination(1, 12, 11, "aeron:udp?endpoint=localhost:24568"),
        62,
        (
            "registrationCorrelationId=11 clientId=1 correlationId=12 "
            "channel=aeron:udp?endpoint=localhost:24568"
        ),
    ),
    (
        c.AddCounter(1, 7, 1101, b"key", "my label"),
        40,
        (
            "typeId=1101 keyBufferOffset=24 keyBufferLength=3 labelBufferOffset=32 "
            "labelBufferLength=8 clientId=1 correlationId=7"
        ),
    ),
    (c.TerminateDriver(2, 9, b"token"), 25, "clientId=2 tokenBufferLength=5"),
    (
        c.RejectImage(1, 9, 4, 192512, "because"),
        43,
        "clientId=1 correlationId=9 imageCorrelationId=4 position=192512 reason=because",
    ),
    (
        c.RemoveDestinationById(1, 13, 11, 5),
        32,
        "resourceRegistrationId=11 destinationRegistrationId=5",
    ),
]
RESPONSES = [
    (r.CounterReady(1, 46), 12, "correlationId=1 counterId=46"),
    (r.SubscriptionReady(2, -1), 12, "correlationId=2 channelStatusCounterId=-1"),
    (
        r.PublicationReady(3, 3, -790904139, 1001, 48, -1, "/dev/shm/ev-java/publications/3.log"),
        71,
        (
            "sessionId=-790904139 streamId=1001 publicationLimitCounterId=48 "
            "channelStatusCounterId=-1 correlationId=3 registrationId=3 "
            "logFileName=/dev/shm/ev-java/publications/3.log"
        ),
    ),
    (
        r.AvailableImage(3, -790904139, 1001, 2, 49, "/dev/shm/3.logbuffer", "aeron:ipc"),
        65,
        (
            "sessionId=-790904139 streamId=1001 subscriberPositionId=49 "
            "subscriptionRegistrationId=2 correlationId=3 sourceIdentity=aeron:ipc "
            "logFileName=/dev/shm/3.logbuffer"
        ),
    ),
    (r.OperationSuccess(4), 8, "correlationId=4"),
    (
        r.UnavailableImage(21, 22, 77, "aeron:ipc?tether=false"),
        46,
        "streamId=77 correlationId=21 subscriptionRegistrationId=22 channel=aeron:ipc?tether=false",
    ),
    (
        r.OnError(22, 11, "ERROR - Unable to resolve image for correlationId=99999"),
        71,
        (
            "offendingCommandCorrelationId=22 errorCode=GENERIC_ERROR "
            "message=ERROR - Unable to resolve image for correlationId=99999"
        ),
    ),
    (r.UnavailableCounter(7, 61), 12, "correlationId=7 counterId=61"),
    (r.ClientTimeout(25), 8, "clientId=25"),
]
OTHERS = [
    (E.REMOVE_SUBSCRIPTION_CLEANUP, struct.pack("<iq", 1001, 2) + text("aeron:ipc"), 25,
     "streamId=1001 id=2 channel=aeron:ipc"),
    (E.REMOVE_PUBLICATION_CLEANUP, struct.pack("<ii", 297144088, 1001) + text(UDP), 46,
     f"sessionId=297144088 streamId=1001 channel={UDP}"),
    (E.REMOVE_IMAGE_CLEANUP, struct.pack("<iiq", 297144088, 1001, 4) + text(UDP), 54,
     f"sessionId=297144088 streamId=1001 id=4 channel={UDP}"),
    (E.SEND_CHANNEL_CREATION,
     text("localData: 0.0.0.0:0, remoteData: 127.0.0.1:24567, ttl: 0"), 61,
     "localData: 0.0.0.0:0, remoteData: 127.0.0.1:24567, ttl: 0"),
    (E.UNTETHERED_SUBSCRIPTION_STATE_CHANGE,
     struct.pack("<qii", 22, 77, 297144090) + text("ACTIVE -> LINGER"), 36,
     "subscriptionId=22 streamId=77 sessionId=297144090 ACTIVE -> LINGER"),
    (E.NAME_RESOLUTION_LOOKUP,
     text("DefaultNameResolver") + struct.pack("<q", 6189) + text("localhost:24567") + b"\0"
     + text("localhost:24567"), 70,
     ("resolver=DefaultNameResolver durationNs=6189 name=localhost:24567 isReLookup=false "
     "resolvedName=localhost:24567")),
    (E.NAME_RESOLUTION_RESOLVE,
     text("DefaultNameResolver") + struct.pack("<q", 1977078) + text("localhost") + b"\0"
     + struct.pack("<i4B", 4, 127, 0, 0, 1), 53,
     ("resolver=DefaultNameResolver durationNs=1977078 name=localhost isReResolution=false "
     "address=127.0.0.1")),
    (E.NAME_RESOLUTION_RESOLVE,
     text("DefaultNameResolver") + struct.pack("<q", 1275616) + text("nosuchhost.invalid") + b"\0"
     + struct.pack("<i", 0), 58,
     ("resolver=DefaultNameResolver durationNs=1275616 name=nosuchhost.invalid "
     "isReResolution=false address=unknown-address")),
    (E.NAME_RESOLUTION_NEIGHBOR_ADDED, LOOPBACK, 12, "127.0.0.1:24567"),
    (E.FLOW_CONTROL_RECEIVER_ADDED,
     struct.pack("<iqii", 1, -4678574663046270901, 297144089, 1002)
     + text("aeron:udp?control-mode=manual|fc=min"), 60,
     ("receiverCount=1 receiverId=-4678574663046270901 sessionId=297144089 streamId=1002 "
     "channel=aeron:udp?control-mode=manual|fc=min")),
    (E.NAK_SENT,
     LOOPBACK + struct.pack("<5i", 1621176718, 1001, 63920076, 44160, 1280) + text(UDP), 70,
     ("address=127.0.0.1:24567 sessionId=1621176718 streamId=1001 termId=63920076 "
     f"termOffset=44160 length=1280 channel={UDP}")),
    (E.RESEND, struct.pack("<5i", 1621176718, 1001, 63920076, 44160, 1280) + text(UDP), 58,
     ("sessionId=1621176718 streamId=1001 termId=63920076 termOffset=44160 length=1280 "
     f"channel={UDP}")),
    (E.PUBLICATION_REVOKE,
     struct.pack("<qii", 166976, 297144090, 77) + text("aeron:ipc?term-length=64k"), 45,
     "revokedPos=166976 sessionId=297144090 streamId=77 channel=aeron:ipc?term-length=64k"),
]  # fmt: skip
FRAMES = [
    (frames.SetupFrame(0, -790904138, 1001, 308401381, 308401381, 65536, 1408), 52,
     ("type=SETUP flags=00000000 frameLength=40 sessionId=-790904138 streamId=1001 "
     "activeTermId=308401381 initialTermId=308401381 termOffset=0 termLength=65536 mtu=1408 "
     "ttl=0")),
    (frames.StatusMessage(-790904138, 1001, 308401381, 0, 32768, -6544831054823861701), 48,
     ("type=SM flags=00000000 frameLength=36 sessionId=-790904138 streamId=1001 termId=308401381 "
     "termOffset=0 receiverWindowLength=32768 receiverId=-6544831054823861701")),
    (frames.DataFrame(64, -790904138, 1001, 308401381, flags=0xE0, frame_length=0), 44,
     ("type=DATA flags=11100000 frameLength=0 sessionId=-790904138 streamId=1001 "
     "termId=308401381 termOffset=64")),
    (frames.Nak(1621176718, 1001, 63920076, 44160, 1280), 40,
     ("type=NAK flags=00000000 frameLength=28 sessionId=1621176718 streamId=1001 termId=63920076 "
     "termOffset=44160 length=1280")),
    (frames.ErrorFrame(1, 2, 3, code=13, text="because"), 59, "type=UNKNOWN(4)"),
    (frames.ResolutionFrame((frames.ResolutionEntry("me", "127.0.0.1", 24600, 0, 0x80),)), 36,
     ("type=RES flags=00000000 frameLength=24 [resType=1 flags=10000000 port=24600 ageInMs=0 "
     "address=127.0.0.1 name=me]")),
]  # fmt: skip


@pytest.mark.parametrize(("command", "length", "line"), COMMANDS)
def test_a_command_is_shown_as_by_the_reference(command, length, line):
    event = COMMAND_EVENTS[command.TYPE_ID]
    record = c.encode_command(command)

    assert len(record) == length
    assert dissect(event, record) == (event.name, line)


@pytest.mark.parametrize(("response", "length", "line"), RESPONSES)
def test_a_response_is_shown_as_by_the_reference(response, length, line):
    event = RESPONSE_EVENTS[response.TYPE_ID]
    record = r.encode_response(response)

    assert len(record) == length
    assert dissect(event, record) == (event.name, line)


@pytest.mark.parametrize(("event", "record", "length", "line"), OTHERS)
def test_what_happens_inside_is_shown_as_by_the_reference(event, record, length, line):
    assert len(record) == length
    assert dissect(event, record) == (event.name, line)


@pytest.mark.parametrize(("frame", "length", "line"), FRAMES)
def test_a_frame_is_shown_as_by_the_reference(frame, length, line):
    record = LOOPBACK + frames.encode_frame(frame)

    assert len(record) == length
    assert dissect(E.FRAME_OUT, record) == ("FRAME_OUT", f"address=127.0.0.1:24567 {line}")


def test_ipv6_addresses_stand_in_brackets():
    record = struct.pack("<ii", 5, 16) + bytes(15) + b"\x01"

    assert dissect(E.NAME_RESOLUTION_NEIGHBOR_REMOVED, record)[1] == "[::1]:5"


def test_every_event_of_the_conductor_has_a_line():
    shown = {*COMMAND_EVENTS.values(), *RESPONSE_EVENTS.values()}
    for event in shown:
        assert dissect(event, b"")[1].startswith("cut short")


@given(st.integers(0, 70), st.binary(max_size=200))
def test_no_record_is_too_odd_to_be_shown(event, record):
    name, line = dissect(event, record)

    assert name
    assert isinstance(line, str)
