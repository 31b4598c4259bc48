"""Limits, cleaning, unblocking and the end of UDP publications.

Spec wire-protocol 5.8, 5.9; 11.
"""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.conductor.driver_stream import ACTIVE, DRAINING, LINGER
from aerolog.transport.driver.conductor.subscriber_positions import (
    SUBSCRIBER_LINGER,
    SUBSCRIBER_RESTING,
)
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.protocol.frame_codec import Nak, decode_frame, encode_frame

MS = 1_000_000
TERM = 65536
WINDOW = TERM // 2
FRAMED = 1056
MESSAGE = b"\xee" * 1024


@pytest.fixture
def connected(bench):
    """A receiver with a wide window, and its publication."""
    receiver, stream = bench.unicast()
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, WINDOW))
    bench.turn()
    return receiver, stream


def consume(bench, receiver, stream):
    """The receiver has consumed what was sent."""
    bench.answer(receiver, stream, stream.status(stream.counter("snd_pos"), WINDOW))
    bench.turn()
    return bench.heard(receiver)


def spy(bench, stream, *, tethered=True):
    """A spy where spies join; its counter."""
    counter_id = bench.counters.allocate(
        CounterType.SUBSCRIBER_POSITION, "sub-pos", value=stream.publication.join_position()
    )
    stream.publication.add_subscriber(counter_id, tethered, bench.clock.now_ns())
    return counter_id


# ---- limits --------------------------------------------------------------------------------------


def test_the_publisher_may_be_a_window_ahead_of_the_sender(bench, connected):
    _, stream = connected
    assert stream.writer.position_limit == WINDOW
    stream.offer(*[MESSAGE] * 10)
    bench.turn(2)
    assert stream.counter("pub_pos") == stream.counter("snd_pos") == 10 * FRAMED
    assert stream.counter("pub_lmt") == 10 * FRAMED + WINDOW


def test_without_receivers_the_limit_is_the_senders_position(bench, connected):
    _, stream = connected
    stream.offer(MESSAGE)
    bench.turn(2)
    bench.wait(5020)
    assert stream.counter("pub_lmt") == FRAMED
    assert not stream.logs.is_connected
    assert stream.writer.offer(MESSAGE) == -1


def test_terms_are_clean_before_publishers_come_into_them_again(bench, connected):
    receiver, stream = connected
    position = 0
    while position < 5 * TERM:
        for _ in range(8):
            stream.offer(MESSAGE)
        bench.turn(2)
        consume(bench, receiver, stream)
        position = stream.writer.position
        limit = stream.counter("pub_lmt")
        for begin in range(position - position % TERM, limit, TERM):
            start, end = max(position, begin) % TERM, min(limit - begin, TERM)
            assert not any(bytes(stream.logs.term(begin // TERM % 3)[start:end]))


def test_what_was_sent_in_the_last_term_can_still_be_asked_for(bench, connected):
    receiver, stream = connected
    while stream.writer.position < 3 * TERM + 4096:
        stream.offer(MESSAGE)
        bench.turn(2)
        consume(bench, receiver, stream)
    position = stream.counter("snd_pos")
    frame = (position - TERM // 2) % TERM // FRAMED * FRAMED
    term = (position - TERM // 2) // TERM
    nak = Nak(stream.session_id, stream.stream_id, stream.initial_term_id + term, frame, FRAMED)
    bench.answer(receiver, stream, encode_frame(nak))
    (answer,) = [d for d in bench.heard(receiver) if len(d) > 40]
    assert decode_frame(answer).term_offset == frame
    assert answer[32:] == MESSAGE


def test_a_send_step_has_1_to_64_datagrams(bench):
    with pytest.raises(ConfigurationError, match=r"1\.\.64: 65"):
        bench.unicast(max_datagrams_per_send=65)


def test_a_send_step_sends_as_many_datagrams_as_it_may(bench):
    receiver, stream = bench.unicast(max_datagrams_per_send=3)
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, WINDOW))
    bench.turn()
    bench.heard(receiver)
    stream.offer(*[MESSAGE] * 7)
    counts = []
    for _ in range(4):
        bench.turn()
        counts.append(len(bench.heard(receiver)))
    assert counts == [3, 3, 1, 0]


# ---- blocked publishers --------------------------------------------------------------------------


def test_an_abandoned_claim_is_padded_over_after_the_timeout(bench):
    receiver, stream = bench.unicast(unblock_timeout_ns=2000 * MS)
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, WINDOW))
    bench.turn()
    assert isinstance(stream.writer.claim(200), memoryview)
    for _ in range(21):
        bench.wait(100)
        stream.publication.on_timer(bench.clock.now_ns())
        bench.answer(receiver, stream, stream.status(0, WINDOW))
    assert bench.count(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1
    bench.turn(2)
    assert stream.counter("snd_pos") == 256


def test_an_exclusive_publication_is_not_unblocked_while_it_is_held(bench):
    receiver, stream = bench.unicast(unblock_timeout_ns=2000 * MS, exclusive=True)
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, WINDOW))
    bench.turn()
    stream.writer.claim(200)
    for _ in range(30):
        bench.wait(100)
        stream.publication.on_timer(bench.clock.now_ns())
    assert bench.count(SystemCounter.UNBLOCKED_PUBLICATIONS) == 0
    stream.publication.end_stream()
    stream.publication.enter(DRAINING)
    stream.publication.settle()
    assert bench.count(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1


# ---- the end -------------------------------------------------------------------------------------


def heartbeat_flags(bench, receiver):
    bench.heard(receiver)
    bench.wait(202)
    return {decode_frame(d).flags for d in bench.heard(receiver)}


def test_heartbeats_tell_the_end_once_all_is_sent(bench, connected):
    receiver, stream = connected
    stream.offer(MESSAGE)
    bench.turn(2)
    stream.publication.end_stream()
    stream.publication.enter(DRAINING)
    assert stream.publication.is_end_of_stream
    assert stream.logs.end_of_stream_position == FRAMED
    assert heartbeat_flags(bench, receiver) == {0xE0}


def test_the_end_may_go_unsaid(bench):
    receiver, stream = bench.unicast(signal_eos=False)
    bench.answer(receiver, stream, stream.status(0, WINDOW))
    stream.publication.end_stream()
    stream.publication.enter(DRAINING)
    assert stream.publication.drained
    assert heartbeat_flags(bench, receiver) == {0xC0}


def test_what_is_not_sent_is_waited_for_while_there_are_receivers(bench):
    receiver, stream = bench.unicast()
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, 0))
    bench.turn()
    stream.offer(MESSAGE)
    stream.publication.end_stream()
    stream.publication.enter(DRAINING)
    stream.publication.settle()
    assert not stream.publication.drained
    assert not stream.publication.needs_attention(bench.clock.now_ns())
    assert heartbeat_flags(bench, receiver) == {0xC0}
    bench.wait(5000)
    assert stream.publication.needs_attention(bench.clock.now_ns())
    stream.publication.settle()
    assert stream.publication.drained


def test_setups_are_not_sent_after_the_end(bench, connected):
    receiver, stream = connected
    stream.publication.end_stream()
    bench.answer(receiver, stream, stream.status(0, 0, flags=0x80))
    bench.heard(receiver)
    bench.wait(210)
    assert {len(d) for d in bench.heard(receiver)} == {32}


def test_a_unicast_receiver_that_leaves_is_noticed(bench, connected):
    receiver, stream = connected
    bench.answer(receiver, stream, stream.status(0, 0, flags=0x40))
    assert stream.publication.has_received_unicast_eos
    bench.turn(2)
    assert not stream.publication.has_receivers


def test_a_revoked_publication_says_so_and_is_connected_no_more(bench):
    receiver, stream = bench.unicast(signal_eos=False)
    bench.answer(receiver, stream, stream.status(0, WINDOW))
    stream.publication.revoke()
    assert stream.publication.needs_attention(bench.clock.now_ns())
    stream.publication.end_stream()
    stream.publication.mark_end_of_stream()
    stream.publication.disconnect()
    stream.publication.enter(LINGER)
    assert stream.logs.is_publication_revoked
    assert heartbeat_flags(bench, receiver) == {0xF0}
    bench.answer(receiver, stream, stream.status(0, WINDOW))
    assert not stream.logs.is_connected


def test_a_publication_that_lingers_asks_for_control_when_nobody_holds_it(bench, connected):
    _, stream = connected
    publication = stream.publication
    publication.references = 1
    assert publication.state == ACTIVE
    publication.enter(LINGER)
    assert not publication.needs_attention(bench.clock.now_ns())
    publication.references = 0
    assert publication.needs_attention(bench.clock.now_ns())
    with pytest.raises(ValueError, match="does not go from state 2 to 1"):
        publication.enter(DRAINING)


# ---- spies ---------------------------------------------------------------------------------------


def test_a_spy_holds_the_publisher_back_but_connects_nobody(bench):
    receiver, stream = bench.unicast()
    bench.turn()
    counter_id = spy(bench, stream)
    bench.turn(2)
    assert not stream.logs.is_connected
    bench.answer(receiver, stream, stream.status(0, WINDOW))
    bench.turn()
    stream.offer(*[MESSAGE] * 10)
    bench.turn(2)
    assert stream.counter("snd_pos") == 10 * FRAMED
    assert stream.counter("pub_lmt") == WINDOW
    bench.counters.set_value(counter_id, 5 * FRAMED)
    bench.turn()
    assert stream.counter("pub_lmt") == 5 * FRAMED + WINDOW
    assert stream.publication.remove_subscriber(counter_id)
    bench.turn()
    assert stream.counter("pub_lmt") == 10 * FRAMED + WINDOW


def test_a_spy_may_stand_for_a_receiver(bench):
    receiver, stream = bench.unicast(spies_simulate_connection=True)
    bench.turn()
    first, second = spy(bench, stream), spy(bench, stream)
    assert stream.logs.is_connected
    bench.turn(2)
    stream.offer(*[bytes(448)] * 3)
    bench.heard(receiver)
    bench.counters.set_value(first, 480)
    bench.counters.set_value(second, 960)
    bench.turn(2)
    assert stream.counter("snd_pos") == stream.counter("snd_lmt") == 960
    assert stream.counter("pub_lmt") == 480 + WINDOW
    bench.wait(202)
    datagrams = bench.heard(receiver)
    assert {len(d) for d in datagrams} == {40}
    assert {decode_frame(d).term_offset for d in datagrams} == {960}
    bench.answer(receiver, stream, stream.status(960, 4096))
    bench.turn(2)
    assert [len(d) for d in bench.heard(receiver) if len(d) > 40] == [480]


def test_what_a_spy_claims_beyond_the_end_moves_nobody(bench):
    _, stream = bench.unicast(spies_simulate_connection=True)
    counter_id = spy(bench, stream)
    bench.turn(2)
    stream.offer(bytes(448))
    for claim in (2**62, 481, -(2**63), 977):
        bench.counters.set_value(counter_id, claim)
        bench.turn(3)
        assert stream.counter("snd_pos") <= 480
        assert stream.counter("snd_pos") % 32 == 0
        assert stream.counter("pub_lmt") <= 480 + WINDOW


def test_the_last_spy_leaves_and_takes_the_connection_with_it(bench):
    _, stream = bench.unicast(spies_simulate_connection=True)
    counter_id = spy(bench, stream)
    bench.turn(2)
    stream.publication.remove_subscriber(counter_id)
    bench.turn(2)
    assert not stream.logs.is_connected
    assert stream.writer.offer(MESSAGE) == -1


def test_a_publication_drains_until_its_spies_have_read_it(bench, connected):
    _, stream = connected
    counter_id = spy(bench, stream)
    stream.offer(MESSAGE)
    bench.turn(2)
    stream.publication.end_stream()
    stream.publication.enter(DRAINING)
    stream.publication.settle()
    assert stream.publication.drained
    assert not stream.publication.subscribers_drained
    assert not stream.publication.needs_attention(bench.clock.now_ns())
    bench.counters.set_value(counter_id, FRAMED)
    assert stream.publication.subscribers_drained
    assert stream.publication.needs_attention(bench.clock.now_ns())


def test_an_untethered_spy_that_falls_behind_is_due_after_its_timeouts(bench):
    receiver, stream = bench.unicast(
        window_limit_timeout_ns=100 * MS, linger_timeout_ns=200 * MS, resting_timeout_ns=300 * MS
    )
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, WINDOW))
    bench.turn()
    counter_id = spy(bench, stream, tethered=False)
    stream.offer(*[MESSAGE] * 24)
    bench.wait(101)
    publication, now = stream.publication, bench.clock.now_ns
    assert publication.due_subscribers(now()) == [counter_id]
    assert publication.needs_attention(now())
    publication.set_subscriber_state(counter_id, SUBSCRIBER_LINGER, now())
    assert publication.due_subscribers(now()) == []
    bench.wait(200)
    assert publication.due_subscribers(now()) == [counter_id]
    publication.set_subscriber_state(counter_id, SUBSCRIBER_RESTING, now())
    bench.turn()
    assert stream.counter("pub_lmt") == 24 * FRAMED + WINDOW
    bench.wait(300)
    assert publication.due_subscribers(now()) == [counter_id]
