"""Images: how they begin, who is told, what is counted, how they end."""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.loss_report import read_loss_report
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import frame_codec as f
from aerolog.transport.protocol import responses as r

STREAM = 7
MS = 1_000_000
S = 1_000_000_000
TERM = 64 * 1024
HERE = ("10.0.0.1", 24325)
CHANNEL = "aeron:udp?endpoint=10.0.0.1:24325"
EOS, REVOKED = 0xE0, 0xF0


def sub(channel, stream_id=STREAM):
    return lambda i, n: c.AddSubscription(i, n, stream_id, channel)


def test_a_setup_makes_an_image_and_is_answered(bench):
    ready = bench.subscription(CHANNEL)
    source = bench.source(HERE, initial_term_id=-2)
    image = bench.image(source, position=2 * TERM + 64)
    (answer,) = source.heard()
    assert isinstance(answer, f.StatusMessage)
    assert (answer.term_id, answer.term_offset, answer.window) == (0, 64, TERM // 2)
    assert answer.session_id == source.session_id
    host, port = source.port.local_address
    assert image.source_identity == f"{host}:{port}"
    assert (image.session_id, image.stream_id) == (77, STREAM)
    assert image.subscription_registration_id == ready.correlation_id
    assert image.log_file.endswith(f"images/{image.correlation_id}.logbuffer")
    assert bench.types() == [7, 14, 4, 3, 5, 20]
    start = 2 * TERM + 64
    identity = f"{source.session_id} {STREAM} {CHANNEL}"
    position = bench.counter(CounterType.SUBSCRIBER_POSITION)
    assert position.label == f"sub-pos: {ready.correlation_id} {identity} @{start}"
    assert (position.counter_id, position.value) == (image.position_counter_id, start)
    assert (position.registration_id, position.owner_id, position.reference_id) == (
        ready.correlation_id,
        bench.client_id,
        image.correlation_id,
    )
    for kind, name, value in (
        (3, "rcv-hwm", start),
        (5, "rcv-pos", start),
        (20, "rcv-naks-sent", 0),
    ):
        counter = bench.counter(kind)
        assert counter.label == f"{name}: {image.correlation_id} {identity}"
        assert (counter.value, counter.registration_id) == (value, image.correlation_id)
        assert counter.owner_id == bench.client_id


def test_the_log_of_an_image_says_how_it_is_received(bench):
    bench.subscription(
        CHANNEL + "|rcv-wnd=16k|rejoin=false|tether=false|group=true|sparse=false|so-rcvbuf=256k"
        "|so-sndbuf=64k|untethered-resting-timeout=7s"
    )
    image = bench.image(bench.source(HERE))
    log = LogBuffers.open(bench.files.open_mapped(image.log_file))
    said = log.metadata
    assert (said.session_id, said.stream_id, said.initial_term_id) == (77, STREAM, 5)
    assert (said.term_length, said.mtu_length, said.receiver_window_length) == (TERM, 1408, 16384)
    assert (said.socket_rcvbuf_length, said.socket_sndbuf_length) == (256 * 1024, 64 * 1024)
    assert (said.group, said.rejoin, said.tether) == (True, False, False)
    assert (said.sparse, said.reliable, said.is_response) == (False, True, False)
    assert said.untethered_window_limit_timeout_ns == 5 * S
    assert said.untethered_linger_timeout_ns == 5 * S
    assert said.untethered_resting_timeout_ns == 7 * S
    assert said.correlation_id == image.correlation_id
    assert log.end_of_stream_position == 2**63 - 1


def test_without_a_matching_subscription_there_is_no_image(bench):
    bench.subscription(CHANNEL + "|session-id=78")
    source = bench.source(HERE)
    source.setup()
    source.data(0, b"x" * 32)
    assert bench.turn() == []
    assert source.heard() == []
    assert bench.types() == [7, 14]
    other = bench.source(HERE, session_id=78)
    assert bench.image(other).session_id == 78


def test_data_without_setup_asks_for_one(bench):
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    source.data(0, b"x" * 32)
    bench.turn()
    (asked,) = source.heard()
    assert (asked.flags, asked.session_id, asked.window) == (0x80, source.session_id, 0)


def test_every_matching_subscription_gets_the_image(bench):
    first = bench.subscription(CHANNEL)
    second = bench.subscription(CHANNEL + "|session-id=77|alias=second")
    bench.subscription(CHANNEL, 8)
    bench.source(HERE).setup()
    one, two = bench.turn()
    assert one.subscription_registration_id == first.correlation_id
    assert two.subscription_registration_id == second.correlation_id
    assert one.correlation_id == two.correlation_id
    assert bench.types() == [7, 14, 4, 4, 3, 5, 20]


def test_what_is_received_and_read_moves_the_counters_and_the_window(bench):
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    image = bench.image(source)
    source.heard()
    position = 0
    for _ in range(12):
        position = source.data(position, b"x" * 992)
    bench.turn()
    assert bench.counter(CounterType.RECEIVER_HWM).value == position
    assert bench.counter(CounterType.RECEIVER_POSITION).value == position
    assert source.heard() == []
    bench.consume(image, position)
    (status,) = source.heard()
    assert status.term_offset == position


def test_a_late_subscription_joins_where_the_slowest_is(bench):
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    image = bench.image(source)
    position = source.data(source.data(0, b"x" * 992), b"y" * 992)
    bench.turn()
    bench.consume(image, 1024)
    late = bench.subscription(CHANNEL + "|alias=late")
    (joined,) = [m for m in bench.last if isinstance(m, r.AvailableImage)]
    assert joined.subscription_registration_id == late.correlation_id
    assert joined.correlation_id == image.correlation_id
    assert bench.value(joined.position_counter_id) == 1024
    assert bench.cnc.counters.counter_label(joined.position_counter_id).endswith("late @1024")
    bench.consume(image, position)
    assert bench.value(joined.position_counter_id) == 1024


def test_the_end_of_a_stream_is_told_when_all_is_read(bench):
    ready = bench.subscription(CHANNEL)
    source = bench.source(HERE)
    image = bench.image(source)
    position = source.data(0, b"x" * 992)
    source.heartbeat(position, EOS)
    bench.turn()
    assert bench.pass_time(3 * S) == []
    assert bench.counter(CounterType.RECEIVER_POSITION).value == position
    bench.consume(image, position)
    (gone,) = bench.pass_time(S)
    assert gone == r.UnavailableImage(image.correlation_id, ready.correlation_id, STREAM, CHANNEL)
    statuses = source.heard(f.StatusMessage)
    assert [s.flags for s in statuses[-3:]] == [0x40] * 3
    log = LogBuffers.open(bench.files.open_mapped(image.log_file))
    assert log.end_of_stream_position == position
    assert bench.types() == [7, 14, 4, 3, 5, 20]
    bench.pass_time(3 * S)
    assert bench.types() == [7, 14]
    assert not bench.files.exists(image.log_file)


def test_a_stream_that_ended_may_begin_again(bench):
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    first = bench.image(source)
    source.heartbeat(0, EOS)
    assert [type(m) for m in bench.pass_time(2 * S)] == [r.UnavailableImage]
    second = bench.image(source, position=64)
    assert second.correlation_id > first.correlation_id
    assert bench.value(second.position_counter_id) == 64


def test_a_silent_sender_loses_its_image_and_may_come_back(bench):
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    image = bench.image(source)
    told = bench.pass_time(4 * S)
    assert [type(m) for m in told] == [r.UnavailableImage]
    assert told[0].correlation_id == image.correlation_id
    source.heard()
    source.heartbeat(0)
    bench.turn()
    (asked,) = source.heard()
    assert asked.flags == 0x80
    assert bench.image(source).correlation_id != image.correlation_id


def test_without_rejoin_a_lost_session_stays_away(bench):
    bench.subscription(CHANNEL + "|rejoin=false")
    source = bench.source(HERE)
    bench.image(source)
    assert len(bench.pass_time(4 * S)) == 1
    source.heard()
    for _ in range(5):
        source.heartbeat(0)
        source.setup()
        assert bench.pass_time(S) == []
    assert source.heard() == []


def test_a_removed_subscription_ends_its_images_and_then_the_endpoint(bench):
    ready = bench.subscription(CHANNEL)
    source = bench.source(HERE)
    image = bench.image(source)
    source.heard()
    (answer,) = bench.remove(ready)
    assert isinstance(answer, r.OperationSuccess)
    assert bench.types() == [7, 14, 3, 5, 20]
    (status,) = source.heard()
    assert status.flags == 0x40
    assert bench.pass_time(1500 * MS) == []
    assert len(source.heard()) >= 4
    bench.pass_time(3 * S)
    assert bench.types() == []
    assert not bench.files.exists(image.log_file)


def test_after_its_last_subscriber_left_nobody_joins_an_image(bench):
    ready = bench.subscription(CHANNEL)
    bench.subscription(CHANNEL, 8)
    source = bench.source(HERE)
    bench.image(source)
    bench.remove(ready)
    bench.subscription(CHANNEL)
    assert [type(m) for m in bench.last] == [r.SubscriptionReady]


def test_a_revoked_stream_ends_at_once(bench):
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    image = bench.image(source)
    source.heartbeat(0, REVOKED)
    (gone,) = bench.pass_time(300 * MS)
    assert gone.correlation_id == image.correlation_id
    assert bench.value(SystemCounter.PUBLICATION_IMAGES_REVOKED) == 1
    log = LogBuffers.open(bench.files.open_mapped(image.log_file))
    assert log.is_publication_revoked


@pytest.mark.parametrize("option", ["", "|reliable=false"])
def test_a_gap_of_a_revoked_stream_is_left_alone(bench, option):
    bench.subscription(CHANNEL + option)
    source = bench.source(HERE)
    bench.image(source)
    source.heartbeat(0, REVOKED)
    source.data(512, b"x" * 96)
    bench.turn()
    assert source.heard(f.Nak) == []
    assert bench.value(SystemCounter.LOSS_GAP_FILLS) == 0
    assert [type(m) for m in bench.pass_time(300 * MS)] == [r.UnavailableImage]


def test_a_rejected_image_tells_its_sender_why_until_it_ends(bench):
    bench.subscription(CHANNEL + "|gtag=258")
    source = bench.source(HERE)
    image = bench.image(source)
    source.heard()
    answer = bench.do(
        lambda i, n: c.RejectImage(i, n, image.correlation_id, 0, "because of reasons")
    )
    assert [type(m) for m in answer] == [r.OperationSuccess]
    assert bench.value(SystemCounter.IMAGES_REJECTED) == 1
    said = []
    told = []
    for _ in range(40):
        source.heartbeat(0)
        told += bench.pass_time(100 * MS)
        said += source.heard()
    errors = [frame for frame in said if isinstance(frame, f.ErrorFrame)]
    assert len(errors) >= 5
    assert (errors[0].code, errors[0].text) == (13, "because of reasons")
    assert (errors[0].group_tag, errors[0].flags) == (258, 0x08)
    assert type(told[0]) is r.UnavailableImage
    assert bench.value(SystemCounter.ERROR_FRAMES_SENT) == len(errors)


def test_an_image_that_is_unknown_cannot_be_rejected(bench):
    assert bench.refused(lambda i, n: c.RejectImage(i, n, 4711, 0, "why")) == (
        11,
        "ERROR - Unable to resolve image for correlationId=4711",
    )


def test_a_gap_is_reported_to_the_sender_and_to_the_loss_report(bench):
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    image = bench.image(source)
    source.heard()
    source.data(0, b"x" * 96)
    source.data(512, b"y" * 96)
    bench.turn()
    bench.pass_time(1 * MS, MS // 10)
    naks = source.heard(f.Nak)
    assert (naks[0].term_id, naks[0].term_offset, naks[0].length) == (5, 128, 384)
    assert bench.counter(CounterType.RECEIVER_NAKS_SENT).value == len(naks)
    (lost,) = read_loss_report(bench.files.open_mapped(f"{bench.driver.aeron_dir}/loss-report.dat"))
    assert (lost.observation_count, lost.total_bytes_lost) == (1, 384)
    assert (lost.session_id, lost.stream_id) == (77, STREAM)
    assert (lost.channel, lost.source) == (CHANNEL, image.source_identity)


def test_gaps_of_an_unreliable_stream_are_filled(bench):
    bench.subscription(CHANNEL + "|reliable=false")
    source = bench.source(HERE)
    bench.image(source)
    source.heard()
    source.data(0, b"x" * 96)
    position = source.data(512, b"y" * 96)
    bench.turn()
    bench.pass_time(1 * MS, MS // 10)
    assert source.heard(f.Nak) == []
    assert bench.value(SystemCounter.LOSS_GAP_FILLS) == 1
    assert bench.counter(CounterType.RECEIVER_POSITION).value == position


@pytest.mark.parametrize(
    ("channel", "flags", "longest_ns"),
    [
        ("", 0, MS),
        ("|group=true", 0, 20 * MS),
        ("", 0x40, 20 * MS),
        ("|group=false", 0x40, MS),
        ("|nak-delay=5ms", 0, 20 * MS),
    ],
)
def test_a_member_of_a_group_waits_before_it_reports_a_gap(bench, channel, flags, longest_ns):
    bench.subscription(CHANNEL + channel)
    source = bench.source(HERE)
    bench.image(source, flags=flags)
    source.heard()
    source.data(512, b"y" * 96)
    bench.turn()
    waited_ns = 0
    while not source.heard(f.Nak):
        bench.pass_time(MS // 10, MS // 10)
        waited_ns += MS // 10
        assert waited_ns <= longest_ns
    assert (waited_ns > MS) == (longest_ns > MS)


def test_cubic_shows_its_numbers(bench):
    bench.subscription(CHANNEL + "|cc=cubic")
    source = bench.source(HERE)
    image = bench.image(source)
    assert bench.types() == [7, 14, 4, 10, 10, 3, 5, 20]
    rtt, window = bench.counters(CounterType.PER_IMAGE)
    identity = f"{image.correlation_id} 77 {STREAM} {CHANNEL}|cc=cubic"
    assert rtt.label == f"rcv-cc-cubic-rtt: {identity}"
    assert window.label == f"rcv-cc-cubic-wnd: {identity}"
    assert (window.owner_id, window.registration_id) == (-1, image.correlation_id)
    (status,) = source.heard()
    assert status.window == window.value == 10 * 1408


def test_an_unknown_congestion_control_costs_the_image_not_the_subscription(bench):
    bench.subscription(CHANNEL + "|cc=reno")
    source = bench.source(HERE)
    source.setup()
    assert bench.turn() == []
    assert bench.types() == [7, 14]
    assert "unsupported congestion control : cc=reno" in bench.errors()[0]
    assert list(bench.files.list_dir(f"{bench.driver.aeron_dir}/images")) == []


def test_a_window_that_takes_no_datagram_costs_the_image(bench):
    bench.subscription(CHANNEL + "|rcv-wnd=1024")
    bench.source(HERE).setup()
    assert bench.turn() == []
    assert bench.types() == [7, 14]
    assert "mtuLength=1408 > initialWindowLength=1024" in bench.errors()[0]


def test_a_disk_without_room_costs_the_image(bench):
    bench.subscription(CHANNEL)
    bench.files.fill_up()
    bench.source(HERE).setup()
    assert bench.turn() == []
    assert bench.types() == [7, 14]
    assert "insufficient usable storage for new log" in bench.errors()[0]


def test_full_counters_cost_the_image_and_leave_nothing_behind(bench):
    bench.subscription(CHANNEL)
    for _ in range(bench.driver.context.counters.available() - 3):
        bench.do(lambda i, n: c.AddCounter(i, n, 1500, b"", "filler"))
    source = bench.source(HERE)
    source.setup()
    assert bench.turn() == []
    assert {3, 4, 5, 20}.isdisjoint(bench.types())
    assert list(bench.files.list_dir(f"{bench.driver.aeron_dir}/images")) == []
    assert "unable to allocate counter" in bench.errors()[0]


def test_a_stream_has_no_more_sessions_than_allowed(start):
    bench = start(driver_stream_session_limit=1)
    bench.subscription(CHANNEL)
    bench.image(bench.source(HERE))
    other = bench.source(HERE, session_id=78)
    other.setup()
    assert bench.turn() == []
    assert (
        f"exceeded session limit, streamId={STREAM} sourceAddress=/10.0.0.2:" in (bench.errors()[0])
    )


def test_bytes_of_images_count_as_mapped_until_they_are_gone(bench):
    before = bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED)
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    bench.image(source)
    assert bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED) == before + 3 * TERM + 4096
    source.heartbeat(0, EOS)
    bench.pass_time(5 * S)
    assert bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED) == before


def test_a_dead_client_takes_its_images_with_it_without_a_word(bench):
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    bench.image(source)
    bench.do(c.ClientClose)
    bench.alive.clear()
    assert [type(m) for m in bench.pass_time(5 * S)] == [r.UnavailableCounter]
    assert bench.types() == []
    assert 0x40 in {s.flags for s in source.heard(f.StatusMessage)}
