"""Control frames that nobody honest sends: counted or dropped, and nobody else notices.

One stream is attacked with its own ids, another runs beside it and must neither stall nor lose a
byte. Whatever arrives, positions stay in the log, answers and memory stay bounded.
"""

from __future__ import annotations

import os
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sending_station import FIRST, MS, SESSION, STREAM, TERM, Bench, Stream

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.flow_control.flow_control import MinFlowControl, TaggedFlowControl
from aerolog.transport.driver.send.send_endpoint import DYNAMIC
from aerolog.transport.protocol import frames as f
from aerolog.transport.protocol.frame_codec import (
    ErrorFrame,
    Nak,
    ResponseSetup,
    RttMeasurement,
    encode_frame,
)

# So many by default; by hand for longer, and then others every time.
LONGER = int(os.environ.get("AEROLOG_FUZZ_CASES", "0"))
CASES = settings(max_examples=LONGER or 150, deadline=None, derandomize=not LONGER)
HEALTHY = 2002
MESSAGE = b"\x5a" * 1024
FRAMED = 1056

EDGES = (0, 1, -1, 31, 32, 1408, TERM // 2, TERM - 32, TERM, TERM + 32, 2**31 - 1, -(2**31))
NUMBERS = st.sampled_from(EDGES) | st.integers(-(2**31), 2**31 - 1)
SESSIONS = st.sampled_from([SESSION, SESSION, SESSION, 0]) | NUMBERS
STREAMS = st.sampled_from([STREAM, STREAM, STREAM, 0]) | NUMBERS
TERM_IDS = st.sampled_from([FIRST, FIRST, FIRST + 1, FIRST - 1]) | NUMBERS
OFFSETS = st.sampled_from(range(0, 8192, 32)) | NUMBERS
RECEIVERS = st.integers(0, 5) | st.integers(-(2**63), 2**63 - 1)
KINDS = st.sampled_from([*range(12), 0xFFFF, 0x102]) | st.integers(0, 0xFFFF)
FLAGS = st.sampled_from([0, 0x80, 0x40, 0x08, 0xFF]) | st.integers(0, 255)
VERSIONS = st.sampled_from([0, 0, 0, 0, 1, 255])
LENGTHS = st.sampled_from([8, 20, 28, 36, 40, 44, 0, 65_000]) | NUMBERS


def _any_frame(length, version, flags, kind, body):
    return struct.pack("<iBBH", length, version, flags, kind) + body


def _status(length, flags, session, stream, term, offset, window, receiver, rest):
    header = struct.pack("<iBBH", length, 0, flags, f.FRAME_STATUS_MESSAGE)
    return header + struct.pack("<5iq", session, stream, term, offset, window, receiver) + rest


def _nak(session, stream, term, offset, length):
    return encode_frame(Nak(session, stream, term, offset, length))


def _rttm(session, stream, echo, receiver, flags):
    return encode_frame(RttMeasurement(session, stream, echo, 0, receiver, flags))


def _error(session, stream, receiver, tag, code, text_length, flags, text):
    header = struct.pack("<iBBH", 40 + len(text), 0, flags, f.FRAME_ERROR)
    numbers = struct.pack("<iiqqii", session, stream, receiver, tag, code, text_length)
    return header + numbers + text


BODIES = st.binary(max_size=80) | st.integers(0, 60_000).map(bytes)
FRAMES = st.one_of(
    st.builds(_any_frame, LENGTHS, VERSIONS, FLAGS, KINDS, BODIES),
    st.builds(
        _status, st.sampled_from([36, 36, 44, 37, 40]) | LENGTHS, FLAGS, SESSIONS, STREAMS,
        TERM_IDS, OFFSETS, NUMBERS, RECEIVERS, st.sampled_from([b"", bytes(8), b"\xff" * 8]),
    ),
    st.builds(_nak, SESSIONS, STREAMS, TERM_IDS, OFFSETS, NUMBERS),
    st.builds(_rttm, SESSIONS, STREAMS, RECEIVERS, RECEIVERS, FLAGS),
    st.builds(
        _error, SESSIONS, STREAMS, RECEIVERS, RECEIVERS, NUMBERS,
        st.sampled_from([0, 5, 1023, 1024]) | NUMBERS, FLAGS,
        st.binary(max_size=1100),
    ),
    st.builds(
        lambda *numbers: encode_frame(ResponseSetup(*numbers)), SESSIONS, STREAMS, NUMBERS
    ),
    st.binary(max_size=100),
)  # fmt: skip
CUT_FRAMES = st.tuples(FRAMES, st.integers(0, 60)).map(lambda pair: pair[0][: pair[1]])


def tagged():
    return TaggedFlowControl(TERM, group_tag=-1, receiver_timeout_ns=50 * MS)


STRATEGIES = [lambda: None, lambda: MinFlowControl(TERM, receiver_timeout_ns=50 * MS), tagged]


class Attack:
    """An attacked stream and a healthy one beside it, each with its receiver."""

    def __init__(self, strategy=lambda: None, *, dynamic: bool = False) -> None:
        self.bench = Bench()
        self.attacker = self.bench.there.open_receive_port((self.bench.there.ipv4, 29999))
        if dynamic:
            self.endpoint, self.destinations, self.attacked = self.bench.multi(
                DYNAMIC, flow_control=strategy()
            )
            self.victim = self.bench.there.open_receive_port((self.bench.there.ipv4, 21001))
        else:
            self.victim, self.attacked = self.bench.unicast(
                flow_control=strategy(), response_correlation_id=5
            )
            self.endpoint = self.attacked.publication.endpoint
        port = self.bench.there.open_receive_port(
            (self.bench.there.ipv4, 21002), so_rcvbuf=4 * 1024 * 1024
        )
        remote = port.local_address
        self.receiver = port
        out = self.bench.here.open_send_port(remote, (self.bench.here.ipv4, 0))
        endpoint = self.bench.endpoint(out, remote=remote)
        self.healthy = Stream(self.bench, endpoint, session_id=9, stream_id=HEALTHY)
        self.bench.turn(2)
        self.say_healthy()
        self.answer(self.attacked.status(0, 16384, receiver_id=1))
        self.attacked.offer(*[MESSAGE] * 6)
        self.bench.turn(2)
        self.bench.heard(self.victim)

    def answer(self, *frames: bytes) -> None:
        self.bench.answer(self.victim, self.attacked, *frames)

    def say_healthy(self) -> None:
        position = self.healthy.counter("snd_pos")
        self.bench.answer(self.receiver, self.healthy, self.healthy.status(position, TERM // 2))
        self.bench.turn(2)

    def check(self) -> None:
        """The attacked stream is whole, and the healthy one sends what it is given at once."""
        sent = self.attacked.counter("snd_pos")
        assert 0 <= sent <= self.attacked.writer.position
        assert sent % FRAMED == 0
        assert self.attacked.counter("pub_lmt") <= sent + TERM
        assert len(self.attacked.logs.term(0)) == TERM
        before = self.healthy.counter("snd_pos")
        self.healthy.offer(MESSAGE)
        self.bench.turn(1)
        assert self.healthy.counter("snd_pos") == before + FRAMED
        assert any(MESSAGE in d for d in self.bench.heard(self.receiver))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["max", "min", "tagged"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["unicast", "destinations"])
def test_no_frame_breaks_a_stream_or_its_neighbour(strategy, dynamic):
    @CASES
    @given(st.lists(FRAMES | CUT_FRAMES, min_size=1, max_size=12))
    def attack(frames):
        scene = Attack(strategy, dynamic=dynamic)
        for frame in frames:
            scene.answer(frame)
            scene.attacked.writer.offer(MESSAGE)
        scene.bench.wait(3)
        scene.check()
        scene.bench.clock.advance_ns(6_000 * MS)
        scene.bench.turn(3)
        scene.say_healthy()
        scene.check()

    attack()


@CASES
@given(CUT_FRAMES)
def test_what_is_too_short_for_its_type_is_an_invalid_packet_or_not_for_a_sender(frame):
    scene = Attack()
    shortest = {
        f.FRAME_NAK: 28,
        f.FRAME_STATUS_MESSAGE: 36,
        f.FRAME_ERROR: 40,
        f.FRAME_RTTM: 40,
        f.FRAME_RESPONSE_SETUP: 20,
    }
    before = scene.bench.count(SystemCounter.INVALID_PACKETS)
    scene.answer(frame)
    counted = scene.bench.count(SystemCounter.INVALID_PACKETS) - before
    if len(frame) < 8 or frame[4] != 0:
        assert counted == 1
    else:
        needed = shortest.get(int.from_bytes(frame[6:8], "little"), 0)
        stated = int.from_bytes(frame[:4], "little", signed=True)
        if len(frame) < needed or (needed and not needed <= stated <= len(frame)):
            assert counted == 1
        elif not needed:
            assert counted == 0
    scene.check()


def test_a_wrong_version_is_one_invalid_packet_whatever_follows():
    scene = Attack()
    frame = bytearray(scene.attacked.status(0, 65536))
    frame[4] = 1
    limit = scene.attacked.counter("snd_lmt")
    scene.answer(bytes(frame))
    assert scene.bench.count(SystemCounter.INVALID_PACKETS) == 1
    assert scene.attacked.counter("snd_lmt") == limit


# ---- floods --------------------------------------------------------------------------------------


def test_a_flood_of_requests_is_answered_within_a_budget():
    scene = Attack()
    sent = scene.attacked.counter("snd_pos")
    naks = [_nak(SESSION, STREAM, FIRST, n % 6 * FRAMED, sent) for n in range(2000)]
    for start in range(0, len(naks), 100):
        scene.answer(*naks[start : start + 100])
        scene.bench.turn(8)
        scene.check()
    assert scene.bench.count(SystemCounter.NAK_MESSAGES_RECEIVED) == 2000
    assert scene.bench.count(SystemCounter.RETRANSMITTED_BYTES) <= 2 * 1024 * 1024


def test_a_flood_of_measurements_is_echoed_64_times_in_10_ms():
    scene = Attack()
    frame = _rttm(SESSION, STREAM, 1, 1, 0x80)
    scene.bench.heard(scene.victim)
    for _ in range(20):
        scene.answer(*[frame] * 50)
        scene.bench.turn(5)
        scene.check()
    assert len(scene.bench.heard(scene.victim)) == 64
    scene.bench.clock.advance_ns(11 * MS)
    scene.answer(frame)
    assert len([d for d in scene.bench.heard(scene.victim) if len(d) == 40]) == 1


def test_a_flood_of_receivers_neither_grows_without_end_nor_shuts_out_the_true_one():
    scene = Attack(dynamic=True)
    status = scene.attacked.status
    for start in range(0, 3000, 100):
        frames = [status(0, 1024, receiver_id=100 + start + n) for n in range(100)]
        scene.bench.answer(scene.attacker, scene.attacked, *frames)
        scene.bench.turn(6)
    assert scene.bench.counters.counter_value(scene.destinations) == 1024
    scene.answer(status(0, 32768, receiver_id=1))
    scene.bench.heard(scene.victim)
    scene.attacked.offer(MESSAGE)
    scene.bench.turn(2)
    assert any(MESSAGE in d for d in scene.bench.heard(scene.victim))
    scene.bench.clock.advance_ns(5_100 * MS)
    scene.bench.turn(2)
    assert scene.bench.counters.counter_value(scene.destinations) == 0


def test_a_flood_of_setup_requests_gets_one_setup_in_100_ms():
    scene = Attack()
    frames = [scene.attacked.status(0, 0, flags=0x80, receiver_id=n) for n in range(100)]
    for _ in range(101):
        scene.answer(*frames)
        scene.bench.clock.advance_ns(MS)
    scene.bench.turn(2)
    assert len([d for d in scene.bench.heard(scene.victim) if len(d) == 40]) <= 2


def test_a_flood_of_error_frames_is_reported_in_part_and_releases_get_through():
    scene = Attack()
    bench = scene.bench
    for n in range(40):
        scene.victim.send_datagrams(
            [
                scene.attacked.status(0, 1024, receiver_id=n),
                encode_frame(ErrorFrame(SESSION, STREAM, n, 13, "x" * 1023)),
            ],
            bench.address_of(scene.endpoint),
        )
        bench.sender.on_cycle()
    bench.sender.remove_publication(scene.attacked.publication)
    bench.streams.remove(scene.attacked)
    for _ in range(5):
        bench.sender.on_cycle()
    events = bench.sender.events()
    assert 1 <= sum(hasattr(event, "receiver_id") for event in events) <= 16
    assert type(events[-1]).__name__ == "PublicationReleased"
    scene.check()


def test_a_socket_full_of_frames_does_not_keep_a_stream_from_sending():
    scene = Attack()
    noise = [bytes(60)] * 64
    for _ in range(200):
        scene.victim.send_datagrams(noise, scene.bench.address_of(scene.endpoint))
    scene.check()
    scene.attacked.offer(MESSAGE)
    before = scene.attacked.counter("snd_pos")
    scene.bench.turn()
    assert scene.attacked.counter("snd_pos") == before + FRAMED


def test_frames_from_elsewhere_do_not_reach_a_connected_port():
    scene = Attack()
    before = scene.bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    scene.bench.answer(scene.attacker, scene.attacked, scene.attacked.status(0, 1024))
    assert scene.bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED) == before
