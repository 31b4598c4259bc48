"""What the streams of one endpoint may have under way together (decision 0007)."""

import pytest
from sending_station import Stream

from aerolog.transport.driver.send.send_endpoint import (
    RESEND_FLOOR,
    SHARED_PERIOD_NS,
    SHARED_START,
    SharedWindow,
)
from aerolog.transport.protocol.frame_codec import Nak, encode_frame

MS = 1_000_000
WINDOW = 32 * 1024
FRAMED = 1056
MESSAGE = b"\xee" * 1024


class Path:
    """A path to a receiver whose buffer holds so much, turned period by period."""

    def __init__(self, buffer: int, *, loss: float = 0.0) -> None:
        self.shared = SharedWindow()
        self.buffer, self.loss = buffer, loss
        self.now = 0
        self.lost = 0
        self.sent_again = 0
        self.shared.on_consumed(0, WINDOW)

    def period(self) -> int:
        """Streams send what they may; bytes that were consumed."""
        self.now += SHARED_PERIOD_NS
        new = 0
        while self.shared.room_at(self.now) > 0:
            self.shared.on_sent(WINDOW)
            new += WINDOW
        again = 0
        while again + WINDOW <= self.lost and self.shared.grant_at(WINDOW, WINDOW, self.now):
            again += WINDOW
        self.sent_again += again
        arrived = min(int((new + again) * (1 - self.loss)), self.buffer)
        self.lost += new - arrived
        self.shared.on_consumed(arrived, WINDOW)
        return arrived


def test_a_stream_that_is_alone_is_never_limited():
    shared = SharedWindow()
    wide = 4 * SHARED_START
    shared.on_consumed(0, wide)
    assert shared.room_at(0) == wide
    for period in range(200):
        assert shared.grant_at(wide, wide, period * SHARED_PERIOD_NS)
    assert shared.limit == wide


def test_many_streams_begin_with_a_bound_that_grows_while_they_reach_it():
    path = Path(1 << 40)
    path.period()
    assert path.shared.in_flight == 0
    for _ in range(100):
        path.period()
    assert path.shared.limit > 10 * SHARED_START


def test_a_bound_that_nobody_reaches_stays():
    shared = SharedWindow()
    for period in range(100):
        shared.on_sent(FRAMED)
        shared.on_consumed(FRAMED, WINDOW)
        shared.room_at(period * SHARED_PERIOD_NS)
    assert shared.limit == SHARED_START


def test_a_buffer_that_overflows_is_found_and_hardly_overflowed_again():
    buffer = 2 * 1024 * 1024
    path = Path(buffer)
    for _ in range(300):
        path.period()
    sent_again = path.sent_again
    arrived = sum(path.period() for _ in range(1000))
    assert path.shared.limit < 2 * buffer
    assert arrived > 1000 * buffer // 2
    assert path.sent_again - sent_again < arrived // 8


@pytest.mark.parametrize("loss", [0.01, 0.05, 0.1])
def test_even_loss_up_to_a_tenth_limits_nothing(loss):
    path = Path(1 << 40, loss=loss)
    for _ in range(50):
        path.period()
    assert path.shared.limit > 2 * SHARED_START


def test_streams_that_wait_for_what_was_lost_do_not_hold_up_others_for_good():
    shared = SharedWindow()
    shared.on_consumed(0, WINDOW)
    shared.on_sent(64 * SHARED_START)
    for period in range(1, 20):
        assert shared.room_at(period * SHARED_PERIOD_NS) == WINDOW
        shared.on_sent(WINDOW)
        assert shared.room_at(period * SHARED_PERIOD_NS) <= 0


def test_in_a_period_no_more_is_sent_again_than_the_floor_before_anything_is_known():
    shared = SharedWindow()
    shared.on_consumed(0, WINDOW)
    granted = sum(shared.grant_at(FRAMED, WINDOW, 0) for _ in range(10_000)) * FRAMED
    assert RESEND_FLOOR - FRAMED < granted <= RESEND_FLOOR
    assert shared.grant_at(FRAMED, WINDOW, SHARED_PERIOD_NS)


def test_once_it_has_overflowed_no_more_is_sent_again_than_may_be_under_way():
    path = Path(SHARED_START // 4)
    for _ in range(100):
        path.period()
    limit, now = path.shared.limit, path.now + SHARED_PERIOD_NS
    granted = sum(path.shared.grant_at(FRAMED, WINDOW, now) for _ in range(10_000)) * FRAMED
    assert granted <= limit + limit // 64
    assert limit < SHARED_START


# ---- of a sender ---------------------------------------------------------------------------------


@pytest.fixture
def pair(bench):
    """A receiver, and two streams of one endpoint to it with wide windows."""
    receiver, first = bench.unicast(session_id=1)
    second = Stream(bench, first.publication.endpoint, session_id=2)
    bench.turn()
    for stream in (first, second):
        bench.answer(receiver, stream, stream.status(0, WINDOW))
    bench.turn()
    return receiver, first, second


def shared_of(stream):
    return stream.publication.endpoint.shared


def test_what_is_under_way_is_counted_over_all_streams(bench, pair):
    receiver, first, second = pair
    first.offer(MESSAGE)
    second.offer(MESSAGE, MESSAGE)
    bench.turn()
    assert shared_of(first) is shared_of(second)
    assert shared_of(first).in_flight == 3 * FRAMED
    bench.answer(receiver, second, second.status(2 * FRAMED, WINDOW))
    assert shared_of(first).in_flight == FRAMED
    bench.answer(receiver, first, first.status(FRAMED, WINDOW))
    assert shared_of(first).in_flight == 0
    assert shared_of(first).longest == WINDOW


def test_what_a_stream_without_receivers_had_under_way_is_forgotten(bench, pair):
    _, first, second = pair
    first.offer(MESSAGE)
    second.offer(MESSAGE)
    bench.turn()
    bench.wait(5_020)
    assert not first.logs.is_connected
    assert shared_of(first).in_flight == 0


def test_what_a_removed_stream_had_under_way_is_forgotten(bench, pair):
    _, first, second = pair
    first.offer(MESSAGE)
    second.offer(MESSAGE, MESSAGE)
    bench.turn()
    bench.sender.remove_publication(second.publication)
    bench.turn()
    assert shared_of(first).in_flight == FRAMED


def test_what_the_port_did_not_take_is_not_under_way(bench, pair):
    _, first, _ = pair
    first.publication.endpoint.port.close()
    first.offer(MESSAGE)
    bench.turn()
    assert first.counter("snd_pos") == 0
    assert shared_of(first).in_flight == 0


def test_streams_wait_while_others_have_all_under_way_and_go_on_when_it_is_consumed(bench, pair):
    receiver, first, second = pair
    shared_of(first).on_sent(2 * SHARED_START)
    bench.clock.advance_ns(SHARED_PERIOD_NS)
    first.offer(*[MESSAGE] * 25)
    second.offer(*[MESSAGE] * 25)
    bench.turn(3)
    sent = first.counter("snd_pos") + second.counter("snd_pos")
    assert sent == WINDOW // FRAMED * FRAMED
    shared_of(first).on_forgotten(2 * SHARED_START)
    bench.turn(9)
    assert first.counter("snd_pos") == second.counter("snd_pos") == 25 * FRAMED
    assert len(bench.heard(receiver)) >= 50


def test_streams_ask_again_for_the_same_budget(bench, pair):
    receiver, first, second = pair
    first.offer(MESSAGE)
    second.offer(MESSAGE)
    bench.turn()
    bench.heard(receiver)
    while shared_of(first).grant_at(FRAMED, 0, bench.clock.now_ns()):
        pass
    for stream in (first, second):
        nak = Nak(stream.session_id, stream.stream_id, stream.initial_term_id, 0, FRAMED)
        bench.answer(receiver, stream, encode_frame(nak))
    resent = [datagram for datagram in bench.heard(receiver) if len(datagram) == FRAMED]
    assert resent == []
    bench.clock.advance_ns(SHARED_PERIOD_NS)
    nak = Nak(second.session_id, second.stream_id, second.initial_term_id, 0, FRAMED)
    bench.answer(receiver, second, encode_frame(nak))
    assert [d for d in bench.heard(receiver) if len(d) == FRAMED] != []
