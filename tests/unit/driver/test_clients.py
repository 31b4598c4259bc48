"""Clients come, stay alive, time out and close."""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

MS = 1_000_000
S = 1_000_000_000


def names(messages):
    return [type(message).__name__ for message in messages]


def test_a_client_is_announced_before_the_answer_to_its_first_add(bench):
    bench.publication()
    assert names(bench.last) == ["CounterReady", "PublicationReady"]
    assert bench.last[0] == r.CounterReady(bench.client_id, 48)
    assert bench.value(48) == bench.clock.now_epoch_ms()


def test_the_second_add_announces_nobody(bench):
    bench.publication()
    bench.subscription(stream_id=8)
    assert names(bench.last) == ["SubscriptionReady"]


def test_keepalive_close_and_session_ids_make_no_client(bench):
    for make in (c.ClientKeepalive, c.ClientClose):
        assert bench.do(make) == []
    assert names(bench.do(lambda i, n: c.GetNextAvailableSessionId(i, n, 7))) == [
        "NextAvailableSessionId"
    ]
    assert bench.counters(CounterType.CLIENT_HEARTBEAT) == []


def test_a_keepalive_command_moves_the_heartbeat(bench):
    bench.alive.clear()
    bench.publication()
    bench.pass_time(500 * MS)
    bench.do(c.ClientKeepalive)
    assert bench.value(48) == bench.clock.now_epoch_ms()


def test_a_client_that_beats_stays(bench):
    bench.publication()
    assert bench.pass_time(30 * S) == []


def test_a_silent_client_times_out_with_all_it_has(start):
    bench = start(client_liveness_timeout="3s")
    bench.alive.clear()
    kept = bench.publication()
    bench.add(lambda i, n: c.AddCounter(i, n, 1500, b"", "first"))
    bench.add(lambda i, n: c.AddCounter(i, n, 1500, b"", "second"))
    subscription = bench.subscription(stream_id=8)
    assert bench.pass_time(3 * S) == []
    said = bench.pass_time(1 * S)
    assert names(said) == ["ClientTimeout"] + ["UnavailableCounter"] * 3
    assert said[1] == r.UnavailableCounter(bench.client_id, 48)
    # The last one added goes first.
    assert [m.counter_id for m in said[2:]] == [50, 49]
    assert bench.value(SystemCounter.CLIENT_TIMEOUTS) == 1
    bench.pass_time(1 * S)
    assert [k for k in bench.cnc.counters if k.type_id] == []
    assert not bench.files.exists(kept.log_file)
    errors = bench.do(lambda i, n: c.RemoveSubscription(i, n, subscription.correlation_id))
    assert errors[0].code == 2


def test_closing_cleans_up_at_the_next_timer_event_without_a_timeout(bench):
    bench.publication()
    bench.subscription()
    bench.alive.clear()
    assert bench.do(c.ClientClose) == []
    assert bench.pass_time(1 * S) == [
        r.UnavailableCounter(bench.client_id, 48),
    ]
    assert bench.value(SystemCounter.CLIENT_TIMEOUTS) == 0
    assert bench.counters(CounterType.SUBSCRIBER_POSITION) == []
    assert bench.counters(CounterType.PUBLISHER_POSITION) == [46]
    bench.pass_time(1 * S)
    assert bench.counters(CounterType.PUBLISHER_POSITION) == []


def test_a_client_that_comes_back_after_its_timeout_is_a_new_one(start):
    bench = start(client_liveness_timeout="2s")
    bench.alive.clear()
    bench.subscription()
    bench.pass_time(4 * S)
    bench.subscription()
    assert names(bench.last) == ["CounterReady", "SubscriptionReady"]


@pytest.mark.parametrize("value", [2**63 - 1, 1, -1, -(2**63)])
def test_a_heartbeat_that_makes_no_sense_keeps_the_client_for_its_timeout(bench, value):
    bench.subscription()
    bench.alive.clear()
    bench.cnc.counters.set_value(46, value)
    assert bench.pass_time(9 * S) == []
    assert names(bench.pass_time(3 * S)) == ["ClientTimeout", "UnavailableCounter"]
    assert bench.pass_time(20 * S) == []


@pytest.mark.parametrize("difference_ms", [3_600_000, -3_600_000])
def test_a_step_of_the_wall_clock_ends_no_client_and_keeps_no_dead_one(bench, difference_ms):
    bench.subscription()
    bench.pass_time(2 * S)
    bench.clock.step_epoch_ms(difference_ms)
    assert bench.pass_time(20 * S) == []
    bench.alive.clear()
    bench.clock.step_epoch_ms(-difference_ms)
    assert bench.pass_time(9 * S) == []
    assert names(bench.pass_time(3 * S)) == ["ClientTimeout", "UnavailableCounter"]


def test_another_client_may_remove_what_is_not_its_own(bench):
    ready = bench.publication()
    other = bench.cnc.to_driver.next_correlation_id()
    said = bench.do(lambda i, n: c.RemovePublication(i, n, ready.correlation_id), other)
    assert names(said) == ["OperationSuccess"]


def test_counter_ids_rest_before_they_are_used_again(start):
    bench = start(counters_free_to_reuse_timeout="2s")

    def add():
        return bench.add(lambda i, n: c.AddCounter(i, n, 1500, b"", "c"))

    first = add()
    bench.do(lambda i, n: c.RemoveCounter(i, n, first.correlation_id))
    assert add().counter_id == first.counter_id + 1
    bench.pass_time(2 * S)
    assert add().counter_id == first.counter_id


def test_a_counter_that_a_client_has_scribbled_over_disturbs_nobody_else(bench):
    other = bench.cnc.to_driver.next_correlation_id()
    bench.alive.append(other)
    bench.subscription(stream_id=1, client_id=other)
    ready = bench.publication()
    bench.subscription()
    metadata_begin = 128 + bench.cnc.header.lengths.to_driver + bench.cnc.header.lengths.to_clients
    for counter_id in (ready.limit_counter_id, *bench.counters(CounterType.CLIENT_HEARTBEAT)):
        bench.cnc.mapped.store_i32(metadata_begin + 512 * counter_id, 0)
    bench.alive.clear()
    assert names(bench.pass_time(12 * S)).count("ClientTimeout") == 2
    bench.pass_time(2 * S)
    assert not bench.files.exists(ready.log_file)
    assert any("counter not allocated" in text for text in bench.errors())
    assert bench.publication().registration_id
