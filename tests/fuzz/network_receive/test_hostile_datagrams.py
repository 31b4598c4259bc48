"""Datagrams that nobody honest sends: counted or dropped, and nobody else notices.

One stream is attacked with its own ids, another runs beside it and must neither stall nor lose a
byte. Whatever arrives, frames in the attacked log follow each other, positions stay in the window,
and an attacker gets at most one small answer a datagram.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from receiving_station import MS, TERM, Source, Station

from aerolog.testing import FakeNetwork, ManualClock
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.receive.data_packet_dispatcher import MAX_WAITING_SESSIONS
from aerolog.transport.driver.receive.receiver_events import CreateImage
from aerolog.transport.protocol import frames as f

ATTACKED, HEALTHY, STREAM = 0x01020304, 77, 1001
FIRST = 0x10
EDGES = (0, 1, -1, 31, 32, 33, 40, 64, 1408, TERM - 32, TERM, TERM + 32, 2**31 - 1, -(2**31))
NUMBERS = st.sampled_from(EDGES) | st.integers(-(2**31), 2**31 - 1)
KINDS = st.sampled_from([*range(12), 0xFFFF, 0x100]) | st.integers(0, 0xFFFF)
FLAGS = st.sampled_from([0, 0xC0, 0xE0, 0xF0, 0x20, 0x80, 0x40]) | st.integers(0, 255)
SESSIONS = st.sampled_from([ATTACKED, ATTACKED, 5, 0]) | NUMBERS
STREAMS = st.sampled_from([STREAM, STREAM, STREAM, 0]) | NUMBERS
TERM_IDS = st.sampled_from([FIRST, FIRST, FIRST + 1, FIRST - 1]) | NUMBERS
OFFSETS = st.sampled_from([*range(0, 4096, 32)]) | NUMBERS
LENGTHS = st.sampled_from([0, 32, 33, 64, 96, 1408, 40, 28, 36]) | NUMBERS
BODIES = st.binary(max_size=200) | st.integers(0, 65_000).map(bytes)


def _data(length, version, flags, kind, offset, session, stream, term, body):
    return (
        struct.pack("<iBBHiiiiq", length, version, flags, kind, offset, session, stream, term, 0)
        + body
    )


def _setup(length, flags, offset, session, stream, initial, active, numbers, body):
    header = struct.pack("<iBBH", length, 0, flags, f.FRAME_SETUP)
    return header + struct.pack("<8i", offset, session, stream, initial, active, *numbers) + body


VERSIONS = st.sampled_from([0, 0, 0, 0, 1, 255])
DATA = st.builds(
    _data, LENGTHS, VERSIONS, FLAGS, st.sampled_from([0, 1, 1, 1]) | KINDS,
    OFFSETS, SESSIONS, STREAMS, TERM_IDS, BODIES,
)  # fmt: skip
SOUND_DATA = st.builds(
    lambda offset, session, term, body, flags: _data(
        32 + len(body), 0, flags, 1, offset, session, STREAM, term, body
    ),
    st.integers(0, TERM // 32 - 1).map(lambda number: number * 32),
    SESSIONS, TERM_IDS, st.integers(0, 50).map(lambda number: bytes(32 * number)), FLAGS,
)  # fmt: skip
SETUPS = st.builds(
    _setup, st.just(40) | LENGTHS, FLAGS, OFFSETS, SESSIONS, STREAMS, TERM_IDS, TERM_IDS,
    st.tuples(st.just(TERM) | NUMBERS, st.just(1408) | NUMBERS, NUMBERS),
    st.just(b"") | BODIES,
)  # fmt: skip
RTTMS = st.builds(
    lambda length, flags, session, stream, times, body: struct.pack(
        "<iBBHiiqqq", length, 0, flags, f.FRAME_RTTM, session, stream, *times
    )
    + body,
    st.just(40) | LENGTHS, FLAGS, SESSIONS, STREAMS,
    st.tuples(*[st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])] * 3), st.just(b"") | BODIES,
)  # fmt: skip
WHOLE = DATA | SOUND_DATA | SETUPS | RTTMS | st.binary(max_size=300)
# Cut anywhere, and several frames in one datagram.
HOSTILE = st.one_of(
    WHOLE,
    st.builds(lambda data, length: data[:length], WHOLE, st.integers(0, 80)),
    st.lists(SOUND_DATA | DATA, min_size=2, max_size=4).map(b"".join),
).filter(lambda data: len(data) <= 65_000)


class Attack:
    """Two streams on one endpoint, and a stranger."""

    def __init__(self, **options):
        clock = ManualClock()
        network = FakeNetwork(clock, seed=1)
        self.station = Station(clock, network.host())
        self.station.image_options = options
        self.endpoint = self.station.listen()
        target = (self.station.host.ipv4, 4000)
        self.sources = []
        for session in (ATTACKED, HEALTHY):
            host = network.host()
            port = host.open_receive_port((host.ipv4, 0), so_rcvbuf=1 << 20)
            self.sources.append(Source(port, target, session_id=session))
            self.sources[-1].setup()
            self.station.cycle()
        self.attacked, self.healthy = self.station.images
        host = network.host()
        port = host.open_receive_port((host.ipv4, 0), so_rcvbuf=1 << 20)
        self.stranger = Source(port, target)
        self.position = 0

    def strike(self, datagram):
        """One hostile datagram, and one message of the other stream."""
        healthy = self.sources[1]
        fill = self.position // 64 % 251
        self.stranger.send(datagram)
        healthy.data(self.position, 64, fill=fill)
        self.position += 64
        self.station.cycle(MS)
        assert self.station.consume(self.healthy) == bytes([fill]) * 32
        self.check_answers(datagram)

    def check_answers(self, datagram):
        answers = []
        while batch := self.stranger.port.receive_datagrams():
            answers += [data for data, _, _ in batch]
        # An elicited setup, an echo, or the first status message of an image that it asked for.
        assert len(answers) <= 1 or len(self.station.images) > 2
        assert all(len(data) <= 44 for data in answers)
        assert not answers or len(datagram) >= 32

    def check_log(self):
        """Frames of the attacked log follow each other as far as it claims to have them."""
        image = self.attacked
        assert 0 <= image.rebuild_position <= TERM
        assert image.rebuild_position <= image.hwm_position + TERM
        assert image.hwm_position <= 32768 + self.station.consumed(image)
        term = image.logs.term(0)
        offset = 0
        while offset < image.rebuild_position:
            (length,) = struct.unpack_from("<i", term, offset)
            assert length >= 32
            offset += (length + 31) & ~31
        assert offset <= TERM


@settings(settings.get_profile("network-fuzz"))
@given(st.lists(HOSTILE, min_size=1, max_size=12))
def test_hostile_datagrams_hurt_nobody_else_and_no_log(datagrams):
    attack = Attack()
    for datagram in datagrams:
        attack.strike(datagram)
    attack.check_log()
    assert attack.healthy.rebuild_position == 64 * len(datagrams)
    assert attack.endpoint.dispatcher.waiting_sessions <= len(datagrams)


@settings(settings.get_profile("network-fuzz"))
@given(st.lists(SOUND_DATA, min_size=1, max_size=20), st.booleans())
def test_sound_frames_at_any_place_leave_a_sound_log(datagrams, reliable):
    attack = Attack(reliable=reliable)
    for datagram in datagrams:
        attack.strike(datagram)
        attack.check_log()


@pytest.mark.parametrize("reliable", [True, False])
def test_what_reaches_from_a_filled_gap_over_a_known_frame_is_dropped(reliable):
    attack = Attack(reliable=reliable)
    for offset, body in ((0, b""), (6464, b""), (0, b""), (0, b""), (6432, bytes(32))):
        attack.strike(_data(32 + len(body), 0, 0, 1, offset, ATTACKED, STREAM, FIRST, body))
        attack.check_log()
    assert attack.attacked.rebuild_position == (32 if reliable else 6496)


@settings(settings.get_profile("network-fuzz"))
@given(
    st.binary(max_size=7)
    | st.binary(min_size=8, max_size=31).map(lambda b: b[:4] + b"\0\0\1\0" + b[8:])
)
def test_what_is_shorter_than_its_frame_is_invalid(datagram):
    attack = Attack()
    attack.strike(datagram)
    assert attack.station.count(SystemCounter.INVALID_PACKETS) == 1


def test_a_flood_of_setups_leaves_other_streams_their_time():
    attack = Attack()
    attack.station.refuses = True
    for session in range(1000, 4000):
        attack.stranger.session_id = session
        attack.stranger.setup()
        if session % 50 == 0:
            attack.strike(b"")
    for _ in range(100):
        attack.strike(b"")
    asked = [event for event in attack.station.events if isinstance(event, CreateImage)]
    assert len(asked) <= 2 + 3000
    assert attack.endpoint.dispatcher.waiting_sessions <= MAX_WAITING_SESSIONS
    assert attack.healthy.rebuild_position == attack.position


def test_a_flood_of_unknown_sessions_is_answered_for_a_bounded_number():
    attack = Attack()
    elicited = 0
    for session in range(1000, 1000 + 3 * MAX_WAITING_SESSIONS):
        attack.stranger.session_id = session
        attack.stranger.data(0)
        if session % 20 == 0:
            attack.station.cycle()
            elicited += len(attack.stranger.heard())
    attack.station.cycle()
    elicited += len(attack.stranger.heard())
    assert elicited == MAX_WAITING_SESSIONS
    assert attack.endpoint.dispatcher.waiting_sessions == MAX_WAITING_SESSIONS
    attack.station.clock.advance_ns(1500 * MS)
    attack.stranger.data(0)
    attack.station.cycle()
    assert len(attack.stranger.heard()) == 1
    assert attack.endpoint.dispatcher.waiting_sessions == 1


def test_a_flood_of_requests_is_not_amplified():
    attack = Attack()
    echo = struct.pack("<iBBHiiqqq", 40, 0, 0x80, f.FRAME_RTTM, ATTACKED, STREAM, 1, 2, 0)
    sent = received = 0
    for _ in range(200):
        attack.stranger.send(*[echo] * 10)
        sent += 400
        attack.station.cycle(MS)
        received += sum(len(data) for data, _, _ in attack.stranger.port.receive_datagrams())
    assert received == sent


@settings(settings.get_profile("network-fuzz"))
@given(
    st.lists(st.tuples(st.integers(32, 200), FLAGS), min_size=1, max_size=4),
    st.integers(0, 300) | st.just(-8),
)
def test_timestamps_change_eight_bytes_of_the_first_message_or_nothing(frames, offset):
    clock = ManualClock()
    network = FakeNetwork(clock, seed=1)
    station = Station(clock, network.host())
    station.listen(channel_timestamp_offset=offset)
    host = network.host()
    source = Source(host.open_receive_port((host.ipv4, 0)), (station.host.ipv4, 4000))
    source.setup()
    station.cycle()
    sent = b""
    for length, flags in frames:
        sent += source.frame(len(sent), length, flags=flags)
    source.send(sent)
    station.cycle()
    assert station.image.rebuild_position == len(sent)
    expected = bytearray(sent)
    length, flags = frames[0]
    if flags & 0x80 and 32 + offset + 8 <= length and 32 + offset + 8 < len(sent):
        expected[32 + offset : 40 + offset] = clock.now_epoch_ns().to_bytes(8, "little")
    assert bytes(station.image.logs.term(0)[: len(sent)]) == bytes(expected)
