"""Limits, cleaning, states and unblocking of IPC publications, turned by hand."""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.logbuffer.descriptor import LOG_META_LENGTH
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

MS = 1_000_000
S = 1_000_000_000
TERM = 65_536
WINDOW = TERM // 2
MESSAGE = bytes(1000)
FRAMED = 1056


def names(messages):
    return [type(message).__name__ for message in messages]


@pytest.fixture
def pair(bench):
    """A publication, its writer, and a subscription's reader."""
    ready = bench.publication()
    subscription = bench.subscription()
    bench.turn()
    return ready, bench.writer(ready), bench.reader(ready, subscription)


def test_nothing_can_be_written_before_somebody_listens(bench):
    writer = bench.writer(bench.publication())
    assert writer.offer(MESSAGE) == -1
    bench.subscription()
    assert writer.position_limit == WINDOW
    assert writer.offer(MESSAGE) == FRAMED


def test_the_window_of_the_channel_is_the_window_of_the_publication(bench):
    writer = bench.writer(bench.publication("aeron:ipc?pub-wnd=4k"))
    bench.subscription()
    assert writer.position_limit == 4096


def test_the_configured_window_is_used_where_it_is_shorter_than_half_a_term(start):
    bench = start(ipc_publication_term_window_length="8k")
    writer = bench.writer(bench.publication())
    bench.subscription()
    assert writer.position_limit == 8192


def test_the_limit_moves_in_steps_of_an_eighth_of_the_window(bench, pair):
    _, writer, reader = pair
    limits = {writer.position_limit}
    for _ in range(200):
        while writer.offer(MESSAGE) > 0:
            bench.turn()
        reader.poll(1)
        bench.turn()
        limits.add(writer.position_limit)
    steps = [b - a for a, b in zip(sorted(limits), sorted(limits)[1:], strict=False)]
    assert steps
    assert min(steps) >= WINDOW // 8


def test_consumed_terms_are_zero_before_they_are_written_again(bench, pair):
    ready, writer, reader = pair
    for _ in range(200):
        while writer.offer(b"\xff" * 1000) > 0:
            bench.turn()
        bench.turn()
        reader.poll(10)
        bench.turn()
    log = bench.log(ready)
    position = writer.position
    assert position > 2 * TERM
    index = position // TERM % 3
    offset = position % TERM
    assert bytes(log.term(index)[offset:]) == bytes(TERM - offset)
    following = bytes(log.term((index + 1) % 3)[: max(0, offset + WINDOW - TERM)])
    assert following == bytes(len(following))


def test_the_publishers_position_is_sampled(bench, pair):
    _, writer, _ = pair
    position = writer.offer(MESSAGE)
    bench.turn()
    assert bench.value(bench.counters(CounterType.PUBLISHER_POSITION)[0]) == position


def test_the_slowest_subscriber_decides_and_leaving_frees_the_publisher(bench, pair):
    _, writer, reader = pair
    slow = bench.subscription()
    for _ in range(20):
        assert writer.offer(MESSAGE) > 0
    reader.poll(20)
    bench.turn()
    assert writer.position_limit == WINDOW
    bench.do(lambda i, n: c.RemoveSubscription(i, n, slow.correlation_id))
    assert writer.position_limit == 20 * FRAMED + WINDOW


def test_without_subscribers_the_limit_goes_back_to_what_was_consumed(bench, pair):
    _, writer, reader = pair
    for _ in range(5):
        writer.offer(MESSAGE)
    reader.poll(3)
    bench.turn()
    (subscription,) = [
        k.registration_id
        for k in bench.cnc.counters
        if k.type_id == CounterType.SUBSCRIBER_POSITION
    ]
    bench.do(lambda i, n: c.RemoveSubscription(i, n, subscription))
    assert writer.position_limit == 3 * FRAMED
    assert writer.offer(MESSAGE) == -1
    late = bench.subscription()
    assert bench.value(bench.position_counter(late)) == 3 * FRAMED


def test_a_subscriber_position_beyond_the_publisher_is_not_believed(bench, pair):
    _, writer, _ = pair
    writer.offer(MESSAGE)
    (counter_id,) = bench.counters(CounterType.SUBSCRIBER_POSITION)
    bench.cnc.counters.set_value(counter_id, 2**62)
    bench.turn()
    assert writer.position_limit <= FRAMED + WINDOW
    bench.cnc.counters.set_value(counter_id, -(2**62))
    bench.turn()
    assert writer.position_limit <= FRAMED + WINDOW


def test_a_publication_starts_where_its_channel_says(bench):
    ready = bench.exclusive(
        "aeron:ipc?term-length=64k|init-term-id=-5|term-id=2|term-offset=96|session-id=9"
    )
    start = 7 * TERM + 96
    assert ready.session_id == 9
    assert bench.value(ready.limit_counter_id) == start
    subscription = bench.subscription()
    assert bench.value(bench.position_counter(subscription)) == start
    assert bench.writer(ready).offer(MESSAGE) == start + FRAMED


def test_the_log_says_what_the_channel_asked_for(bench):
    ready = bench.publication(
        "aeron:ipc?term-length=128k|mtu=2048|pub-wnd=16k|linger=3s|eos=false|max-resend=3"
        "|untethered-window-limit-timeout=7s|untethered-resting-timeout=9s|tags=1,77|sparse=false"
        "|response-correlation-id=prototype|control-mode=response|ssc=true"
    )
    metadata = bench.log(ready).metadata
    assert metadata.term_length == 131_072
    assert metadata.mtu_length == 2048
    assert metadata.publication_window_length == 16_384
    assert metadata.linger_timeout_ns == 3 * S
    assert metadata.signal_eos is False
    assert metadata.max_resend == 3
    assert metadata.untethered_window_limit_timeout_ns == 7 * S
    assert metadata.untethered_linger_timeout_ns == 7 * S
    assert metadata.untethered_resting_timeout_ns == 9 * S
    assert metadata.entity_tag == 77
    assert metadata.sparse is False
    assert metadata.response_correlation_id == -2
    assert metadata.is_response is True
    assert metadata.spies_simulate_connection is True
    assert metadata.correlation_id == ready.registration_id


def test_a_publication_drains_before_its_images_go(bench, pair):
    ready, writer, reader = pair
    writer.offer(MESSAGE)
    assert names(bench.remove_publication(ready.correlation_id)) == ["OperationSuccess"]
    log = bench.log(ready)
    assert log.end_of_stream_position == FRAMED
    assert bench.value(ready.limit_counter_id) == FRAMED
    assert bench.pass_time(5 * S) == []
    reader.poll(1)
    assert names(bench.pass_time(1 * S)) == ["UnavailableImage"]
    assert bench.files.exists(ready.log_file)
    assert bench.pass_time(1 * S) == []
    assert not bench.files.exists(ready.log_file)
    assert (
        bench.counters(CounterType.PUBLISHER_LIMIT)
        == bench.counters(CounterType.SUBSCRIBER_POSITION)
        == bench.counters(CounterType.PUBLISHER_POSITION)
        == []
    )


def test_a_draining_publication_is_joined_only_while_something_is_left(bench, pair):
    ready, writer, reader = pair
    writer.offer(MESSAGE)
    bench.remove_publication(ready.correlation_id)
    bench.subscription()
    assert names(bench.last) == ["SubscriptionReady", "AvailableImage"]
    late = bench.last[-1].position_counter_id
    bench.cnc.counters.set_value(late, FRAMED)
    reader.poll(1)
    bench.subscription()
    assert names(bench.last) == ["SubscriptionReady"]


def test_a_new_publication_of_the_stream_does_not_share_a_draining_one(bench, pair):
    ready, writer, _ = pair
    writer.offer(MESSAGE)
    bench.remove_publication(ready.correlation_id)
    second = bench.publication()
    assert second.registration_id == second.correlation_id
    assert second.session_id != ready.session_id


def test_revoking_ends_images_at_once_undrained(bench, pair):
    ready, writer, _ = pair
    writer.offer(MESSAGE)
    assert names(bench.remove_publication(ready.correlation_id, c.REVOKE_FLAG)) == [
        "OperationSuccess"
    ]
    log = bench.log(ready)
    assert log.is_publication_revoked
    assert names(bench.pass_time(1 * S)) == ["UnavailableImage"]
    assert not log.is_connected
    assert bench.value(SystemCounter.PUBLICATIONS_REVOKED) == 1
    bench.pass_time(1 * S)
    assert not bench.files.exists(ready.log_file)


def test_revoking_one_hold_on_a_shared_publication_revokes_it_for_all(bench, pair):
    ready, _, _ = pair
    second = bench.publication()
    bench.remove_publication(ready.correlation_id, c.REVOKE_FLAG)
    assert names(bench.pass_time(1 * S)) == ["UnavailableImage"]
    bench.pass_time(3 * S)
    assert bench.files.exists(ready.log_file)
    bench.remove_publication(second.correlation_id)
    bench.pass_time(1 * S)
    assert not bench.files.exists(ready.log_file)


def test_the_last_of_several_holds_ends_a_publication(bench):
    first, second = bench.publication(), bench.publication()
    assert second.registration_id == first.registration_id
    bench.remove_publication(first.correlation_id)
    bench.pass_time(3 * S)
    assert bench.files.exists(first.log_file)
    bench.remove_publication(second.correlation_id)
    bench.pass_time(3 * S)
    assert not bench.files.exists(first.log_file)


def abandon(log, length):
    """Moves the tail as a writer does that then dies."""
    return log.file.get_and_add_i64(log.file.length - LOG_META_LENGTH, length) & 0xFFFFFFFF


@pytest.mark.parametrize("header_is_written", [True, False])
def test_an_abandoned_claim_becomes_padding_after_the_timeout(bench, pair, header_is_written):
    ready, writer, reader = pair
    log = bench.log(ready)
    offset = abandon(log, 320)
    if header_is_written:
        log.file.store_i32(offset, -300)
    writer.offer(MESSAGE)
    bench.pass_time(14 * S)
    assert reader.poll(10) == []
    bench.pass_time(3 * S)
    assert [len(m.payload) for m in reader.poll(10)] == [1000]
    assert bench.value(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1


def test_an_abandoned_claim_of_an_exclusive_publication_waits_for_its_close(bench):
    ready = bench.exclusive()
    subscription = bench.subscription()
    writer, reader = bench.writer(ready), bench.reader(ready, subscription)
    view = writer.claim(100)
    del view
    bench.pass_time(40 * S)
    assert bench.value(SystemCounter.UNBLOCKED_PUBLICATIONS) == 0
    bench.remove_publication(ready.correlation_id)
    bench.pass_time(2 * S)
    assert bench.value(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1
    assert reader.poll(1) == []
    assert names(bench.pass_time(1 * S)) == ["UnavailableImage"]


def test_an_untethered_subscriber_is_dropped_rests_and_rejoins(start):
    bench = start(untethered_window_limit_timeout="2s", untethered_resting_timeout="3s")
    ready = bench.publication()
    fast = bench.subscription()
    slow = bench.subscription("aeron:ipc?tether=false")
    writer, reader = bench.writer(ready), bench.reader(ready, fast)
    counter_id = bench.position_counter(slow)
    while writer.position < WINDOW and writer.offer(MESSAGE) > 0:
        reader.poll(1)
    bench.turn()
    assert bench.pass_time(1900 * MS) == []
    assert names(bench.pass_time(1 * S)) == ["UnavailableImage"]
    # It lingers, still holding the publisher back, then it rests.
    assert writer.position_limit == WINDOW
    assert bench.pass_time(2 * S) == []
    assert writer.position_limit > WINDOW
    said = bench.pass_time(4 * S)
    assert said == [
        r.AvailableImage(
            ready.registration_id, ready.session_id, 7, slow.correlation_id, counter_id,
            ready.log_file, "aeron:ipc",
        )
    ]  # fmt: skip
    assert bench.value(counter_id) == writer.position


def test_an_untethered_subscriber_that_may_not_rejoin_is_gone(start):
    bench = start(untethered_window_limit_timeout="2s", untethered_resting_timeout="3s")
    ready = bench.publication()
    fast = bench.subscription()
    slow = bench.subscription("aeron:ipc?tether=false|rejoin=false")
    writer, reader = bench.writer(ready), bench.reader(ready, fast)
    while writer.position < WINDOW and writer.offer(MESSAGE) > 0:
        reader.poll(1)
    assert names(bench.pass_time(20 * S)) == ["UnavailableImage"]
    assert bench.position_counter(slow) == -1


def test_a_tethered_subscriber_holds_the_publisher_back_for_ever(bench, pair):
    _, writer, _ = pair
    while writer.offer(MESSAGE) > 0:
        bench.turn()
    assert bench.pass_time(60 * S) == []
    assert writer.offer(MESSAGE) == -2


def test_a_rejected_image_comes_back_after_the_cool_down(bench, pair):
    ready, _, _ = pair
    reject = lambda i, n: c.RejectImage(i, n, ready.registration_id, 0, "bad")  # noqa: E731
    assert names(bench.do(reject)) == [
        "OnPublicationError", "UnavailableImage", "OperationSuccess",
    ]  # fmt: skip
    assert names(bench.do(reject)) == ["OnPublicationError", "OperationSuccess"]
    assert bench.value(SystemCounter.IMAGES_REJECTED) == 2
    assert bench.value(SystemCounter.ERRORS) == 2
    bench.subscription()
    assert names(bench.last) == ["SubscriptionReady"]
    assert bench.pass_time(9 * S) == []
    assert names(bench.pass_time(2 * S)) == ["AvailableImage", "AvailableImage"]
    assert any("onPublicationError" in text for text in bench.errors())


def test_each_rejection_begins_the_cool_down_again(bench, pair):
    ready, _, _ = pair
    reject = lambda i, n: c.RejectImage(i, n, ready.registration_id, 0, "bad")  # noqa: E731
    bench.do(reject)
    assert bench.pass_time(8 * S) == []
    assert names(bench.do(reject)) == ["OnPublicationError", "OperationSuccess"]
    assert bench.pass_time(9 * S) == []
    assert names(bench.pass_time(2 * S)) == ["AvailableImage"]


def test_a_full_counters_buffer_refuses_a_publication_and_leaves_nothing_behind(bench):
    mapped = bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED)
    bench.subscription(stream_id=1)
    room = bench.cnc.counters.max_counter_id + 1 - 47
    for _ in range(room - 1):
        bench.send(lambda i, n: c.AddCounter(i, n, 1500, b"", ""))
    bench.turn()
    bench.heard()
    said = bench.do(lambda i, n: c.AddPublication(i, n, 7, "aeron:ipc"))
    (error,) = said
    assert error.code == 11
    assert error.message == (
        "java.lang.IllegalStateException : unable to allocate counter, buffer is full: "
        f"maxCounterId={bench.cnc.counters.max_counter_id}"
    )
    assert bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED) == mapped
    assert bench.files.list_dir(f"{bench.driver.aeron_dir}/publications") == []
    assert bench.counters(CounterType.PUBLISHER_POSITION) == []
