"""A whole conversation with one scripted receiver (spec wire-protocol 18.1, 18.4, 18.8)."""

import pytest

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.send.sender_events import PublicationError
from aerolog.transport.protocol.frame_codec import (
    DataFrame,
    ErrorFrame,
    Nak,
    PadFrame,
    RttMeasurement,
    SetupFrame,
    decode_frame,
    decode_frames,
    encode_frame,
)

SETUP = bytes.fromhex(
    "28 00 00 00 00 00 05 00 00 00 00 00 8a b6 c4 f4 e9 03 00 00 f4 95 63 f8 f4 95 63 f8"
    "00 00 01 00 80 05 00 00 00 00 00 00"
)
HEARTBEAT = bytes.fromhex(
    "00 00 00 00 00 c0 01 00 00 00 00 00 8a b6 c4 f4 e9 03 00 00 f4 95 63 f800 00 00 00 00 00 00 00"
)
STATUS = bytes.fromhex(
    "24 00 00 00 00 00 03 00 8a b6 c4 f4 e9 03 00 00 f4 95 63 f8 00 00 00 00 00 08 00 00"
    "88 77 66 55 44 33 22 11"
)
NAK = bytes.fromhex(
    "1c 00 00 00 00 00 02 00 8a b6 c4 f4 e9 03 00 00 f4 95 63 f8 a0 00 00 00 40 01 00 00"
)
ECHO = bytes.fromhex(
    "28 00 00 00 00 00 06 00 8a b6 c4 f4 e9 03 00 00 39 30 00 00 00 00 00 00"
    "00 00 00 00 00 00 00 00 88 77 66 55 44 33 22 11"
)
MESSAGE = bytes(range(65, 165))
FRAME_START = bytes.fromhex(
    "84 00 00 00 00 c0 01 00 00 00 00 00 8a b6 c4 f4 e9 03 00 00 f4 95 63 f8"
    "00 00 00 00 00 00 00 00 41 42 43 44"
)
RECEIVER_ID = 0x1122334455667788


def places(datagrams):
    """(term offset, length) of each datagram."""
    return [(decode_frames(d)[0].term_offset, len(d)) for d in datagrams]


@pytest.fixture
def connected(bench):
    """A receiver with a window of 2048 bytes, and its publication."""
    receiver, stream = bench.unicast()
    bench.turn()
    bench.answer(receiver, stream, STATUS)
    bench.turn(2)
    bench.heard(receiver)
    return receiver, stream


@pytest.fixture
def sent_4000(bench, connected):
    """The same after 25 messages, all sent."""
    receiver, stream = connected
    stream.offer(*[MESSAGE] * 25)
    bench.answer(receiver, stream, stream.status(800, 4096))
    bench.turn(3)
    assert stream.counter("snd_pos") == 4000
    bench.heard(receiver)
    return receiver, stream


def test_setups_repeat_every_100_ms_and_nothing_else_is_sent_before_an_answer(bench):
    receiver, stream = bench.unicast()
    bench.turn()
    assert bench.heard(receiver) == [SETUP]
    bench.wait(100)
    assert bench.heard(receiver) == []
    bench.wait(1)
    assert bench.heard(receiver) == [SETUP]
    bench.wait(505)
    assert bench.heard(receiver) == [SETUP] * 5
    assert bench.count(SystemCounter.HEARTBEATS_SENT) == 0
    assert stream.writer.offer(MESSAGE) == -1


def test_the_first_answer_is_followed_by_a_heartbeat_at_once_and_one_every_100_ms(bench):
    receiver, stream = bench.unicast()
    bench.turn()
    bench.heard(receiver)
    bench.answer(receiver, stream, STATUS)
    assert bench.heard(receiver) == [HEARTBEAT]
    assert stream.logs.is_connected
    bench.wait(100)
    assert bench.heard(receiver) == []
    bench.wait(1)
    assert bench.heard(receiver) == [HEARTBEAT]
    bench.wait(1010)
    assert bench.heard(receiver) == [HEARTBEAT] * 10
    assert bench.count(SystemCounter.HEARTBEATS_SENT) == 12
    assert bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED) == 1


def test_small_messages_share_a_datagram_and_the_window_is_kept_to_the_byte(bench, connected):
    receiver, stream = connected
    stream.offer(*[MESSAGE] * 5)
    bench.turn()
    (first,) = bench.heard(receiver)
    assert len(first) == 800
    assert first[:36] == FRAME_START
    stream.offer(*[MESSAGE] * 20)
    bench.turn(3)
    assert places(bench.heard(receiver)) == [(800, 1120)]
    assert stream.counter("snd_pos") == 1920
    assert stream.counter("snd_lmt") == 2048
    assert stream.counter("snd_bpe") == 1
    assert bench.count(SystemCounter.SENDER_FLOW_CONTROL_LIMITS) == 1
    bench.wait(101)
    assert places(bench.heard(receiver)) == [(1920, 32)]
    bench.answer(receiver, stream, stream.status(800, 4096))
    bench.turn()
    assert places(bench.heard(receiver)) == [(1920, 1280), (3200, 800)]
    assert stream.counter("snd_lmt") == 4896


def test_bytes_sent_are_the_advance_of_the_position_and_the_heartbeats(bench, sent_4000):
    bench.wait(350)
    heartbeats = bench.count(SystemCounter.HEARTBEATS_SENT)
    assert heartbeats == 4
    assert bench.count(SystemCounter.BYTES_SENT) == 4000 + 32 * heartbeats


def test_a_request_is_answered_once_in_10_ms(bench, sent_4000):
    receiver, stream = sent_4000
    bench.answer(receiver, stream, NAK)
    assert places(bench.heard(receiver)) == [(160, 320)]
    bench.wait(5)
    bench.answer(receiver, stream, NAK)
    assert bench.heard(receiver) == []
    bench.wait(50)
    bench.answer(receiver, stream, NAK)
    assert places(bench.heard(receiver)) == [(160, 320)]
    assert stream.counter("snd_naks") == 3
    assert bench.count(SystemCounter.NAK_MESSAGES_RECEIVED) == 3
    assert bench.count(SystemCounter.RETRANSMITS_SENT) == 2
    assert bench.count(SystemCounter.RETRANSMITTED_BYTES) == 640


def test_a_request_for_more_than_was_sent_is_answered_with_what_was(bench, sent_4000):
    receiver, stream = sent_4000
    nak = Nak(stream.session_id, stream.stream_id, stream.initial_term_id, 0, 65536)
    bench.answer(receiver, stream, encode_frame(nak))
    assert places(bench.heard(receiver)) == [(0, 1280), (1280, 1280), (2560, 1280), (3840, 160)]


def test_a_request_that_points_into_a_message_sends_nothing(bench, connected):
    receiver, stream = connected
    body = b"".join(n.to_bytes(4, "little") for n in [96] * 300)
    stream.offer(body)
    bench.turn(2)
    bench.heard(receiver)
    nak = Nak(stream.session_id, stream.stream_id, stream.initial_term_id, 320, 128)
    bench.answer(receiver, stream, encode_frame(nak))
    assert bench.heard(receiver) == []
    assert bench.count(SystemCounter.RETRANSMITS_SENT) == 0


def test_a_request_with_impossible_numbers_is_an_invalid_packet(bench, sent_4000):
    receiver, stream = sent_4000
    for offset, length in [(-32, 64), (65536, 32), (65505, 32), (0, -1)]:
        nak = Nak(stream.session_id, stream.stream_id, stream.initial_term_id, offset, length)
        bench.answer(receiver, stream, encode_frame(nak))
    assert bench.heard(receiver) == []
    assert bench.count(SystemCounter.INVALID_PACKETS) == 4


def test_a_measurement_of_the_round_trip_is_echoed(bench, sent_4000):
    receiver, stream = sent_4000
    identity = (stream.session_id, stream.stream_id)
    asked = RttMeasurement(*identity, 12345, 77, RECEIVER_ID, 0x80)
    bench.answer(receiver, stream, encode_frame(asked))
    assert bench.heard(receiver) == [ECHO]
    bench.answer(receiver, stream, ECHO)
    assert bench.heard(receiver) == []


def test_a_setup_that_a_live_receiver_asks_for_is_sent_once(bench, sent_4000):
    receiver, stream = sent_4000
    bench.answer(receiver, stream, stream.status(0, 0, flags=0x80))
    bench.wait(99)
    bench.heard(receiver)
    bench.answer(receiver, stream, stream.status(0, 0, flags=0x80))
    bench.wait(200)
    setups = [f for f in map(decode_frame, bench.heard(receiver)) if isinstance(f, SetupFrame)]
    assert len(setups) == 1
    assert setups[0].term_offset == 4000
    assert setups[0].active_term_id == stream.initial_term_id


def test_a_long_message_goes_out_in_datagrams_of_the_mtu(bench, sent_4000):
    receiver, stream = sent_4000
    bench.answer(receiver, stream, stream.status(4000, 8192))
    stream.offer(bytes(3000))
    bench.turn(2)
    datagrams = bench.heard(receiver)
    assert [len(d) for d in datagrams] == [1408, 1408, 288]
    assert [decode_frame(d).flags for d in datagrams] == [0x80, 0x00, 0x40]
    assert int.from_bytes(datagrams[2][:4], "little") == 280


def test_an_error_frame_of_a_live_receiver_reaches_the_conductor_once(bench, sent_4000):
    receiver, stream = sent_4000
    frame = encode_frame(
        ErrorFrame(stream.session_id, stream.stream_id, RECEIVER_ID, 13, "go away", 258, 0x08)
    )
    bench.answer(receiver, stream, frame, frame)
    assert bench.events == [
        PublicationError(
            stream.publication, -1, RECEIVER_ID, 258, 13, receiver.local_address, "go away"
        )
    ]
    assert bench.count(SystemCounter.ERROR_FRAMES_RECEIVED) == 2
    bench.turn(2)
    assert not stream.logs.is_connected
    assert stream.writer.position_limit == 4000
    bench.answer(receiver, stream, stream.status(4000, 2000))
    assert stream.logs.is_connected


def test_receivers_are_gone_after_5_s_without_a_word(bench, sent_4000):
    receiver, stream = sent_4000
    bench.wait(4990)
    assert stream.publication.has_receivers
    bench.wait(20)
    assert not stream.publication.has_receivers
    assert not stream.logs.is_connected
    bench.heard(receiver)
    bench.wait(202)
    assert {len(d) for d in bench.heard(receiver)} == {32}


def test_status_messages_from_elsewhere_in_the_stream_are_rejected(bench, sent_4000):
    receiver, stream = sent_4000
    before = stream.counter("snd_lmt")
    for position in (4000 + 32768 + 32, 4000 - 32768 - 32):
        bench.answer(receiver, stream, stream.status(position, 65536))
    assert bench.count(SystemCounter.STATUS_MESSAGES_REJECTED) == 2
    assert stream.counter("snd_lmt") == before
    bench.answer(receiver, stream, stream.status(4000 + 32768, 64))
    assert stream.counter("snd_lmt") == 4000 + 32768 + 64


def test_a_window_too_small_for_any_frame_is_no_back_pressure(bench):
    receiver, stream = bench.unicast()
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, 0))
    bench.turn()
    stream.offer(*[MESSAGE] * 3)
    bench.answer(receiver, stream, stream.status(0, 100))
    assert stream.counter("snd_bpe") == 0
    bench.answer(receiver, stream, stream.status(0, 256))
    bench.turn(2)
    assert stream.counter("snd_pos") == 160
    assert stream.counter("snd_bpe") == 1


def test_a_stream_may_start_in_a_later_term_and_pads_its_end(bench):
    position = 2 * 65536 + 61440
    receiver, stream = bench.unicast(
        session_id=1234, initial_term_id=-5, initial_position=position, exclusive=True
    )
    bench.turn()
    (setup,) = bench.heard(receiver)
    assert setup == bytes.fromhex(
        "28 00 00 00 00 00 05 00 00 f0 00 00 d2 04 00 00 e9 03 00 00 fb ff ff ff fd ff ff ff"
        "00 00 01 00 80 05 00 00 00 00 00 00"
    )
    bench.answer(receiver, stream, stream.status(position, 32768))
    bench.turn()
    bench.heard(receiver)
    stream.offer(*[bytes(1344)] * 5)
    bench.turn(3)
    datagrams = bench.heard(receiver)
    assert places(datagrams) == [
        (61440, 1376), (62816, 1408), (0, 1376), (1376, 1376), (2752, 1376),
    ]  # fmt: skip
    data, pad = decode_frames(datagrams[1])
    assert isinstance(data, DataFrame)
    assert isinstance(pad, PadFrame)
    assert pad.frame_length == 1344
    assert stream.counter("snd_pos") == 200736
    nak = Nak(stream.session_id, stream.stream_id, -3, 61440, 4096)
    bench.answer(receiver, stream, encode_frame(nak))
    assert bench.heard(receiver) == datagrams[:2]
