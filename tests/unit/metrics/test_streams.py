"""Metrics of streams: by stream and channel, whatever their sessions are, and no more than told."""

import pytest
from top_driver import MadeUpDriver

from aerolog.tools.metrics.driver_metrics import error_class
from aerolog.tools.metrics.samples import Samples
from aerolog.tools.metrics.stream_metrics import StreamMetrics, channel_name
from aerolog.tools.views.stream_views import streams

Values = dict[tuple[str, ...], float]


def collect(metrics: StreamMetrics, driver: MadeUpDriver) -> dict[str, Values]:
    snapshot = driver.snapshot()
    samples = Samples(driver.wall_ms)
    metrics.add(samples, streams(snapshot), snapshot)
    return {
        one.family.name.removeprefix("aerolog_stream_"): one.values for one in samples.collected()
    }


def publish(
    driver: MadeUpDriver, registration_id: int, stream_id: int, channel: str, position: int
) -> int:
    """A publication with one subscriber that is 64 bytes behind."""
    session = 1000 + registration_id, stream_id, channel
    found = driver.add_of_stream(12, "pub-pos (concurrent)", registration_id, session, owner_id=1)
    limit = driver.add_of_stream(1, "pub-lmt", registration_id, session, owner_id=1)
    reading = driver.add_of_stream(
        4, "sub-pos", registration_id + 10_000, session, owner_id=1, reference_id=registration_id
    )
    driver.counters[reading].label += " @0"
    driver.set(found, position)
    driver.set(limit, position + 32_768)
    driver.set(reading, position - 64)
    return found


def test_sessions_of_a_stream_share_its_labels() -> None:
    driver = MadeUpDriver()
    publish(driver, 2, 10, "aeron:ipc?term-length=64k|session-id=7", 1024)
    publish(driver, 4, 10, "aeron:ipc?term-length=128k", 2048)
    publish(driver, 6, 11, "aeron:ipc", 320)

    found = collect(StreamMetrics("d", 10), driver)

    ten, eleven = ("d", "10", "aeron:ipc"), ("d", "11", "aeron:ipc")
    assert found["sessions"] == {ten: 2, eleven: 1}
    assert found["published_bytes_total"] == {ten: 3072, eleven: 320}
    assert found["consumed_bytes_total"] == {ten: 2944, eleven: 256}
    assert found["subscriber_lag_bytes"] == {ten: 64, eleven: 64}
    assert found["publisher_window_bytes"] == {ten: 32_768, eleven: 32_768}


def test_what_is_over_the_limit_shares_a_label_set_and_is_told() -> None:
    driver = MadeUpDriver()
    for number in range(50):
        publish(driver, 2 + 2 * number, number, "aeron:ipc", 1024)
    metrics = StreamMetrics("d", 10)

    found = collect(metrics, driver)

    assert all(len(values) <= 11 for values in found.values())
    assert found["published_bytes_total"]["d", "other", "other"] == 40 * 1024
    assert sum(found["sessions"].values()) == 50
    assert metrics.bound.overflowed == 40


def test_bytes_count_on_when_a_session_goes_and_another_comes() -> None:
    driver = MadeUpDriver()
    first = publish(driver, 2, 10, "aeron:ipc", 1024)
    metrics = StreamMetrics("d", 10)
    labels = "d", "10", "aeron:ipc"
    assert collect(metrics, driver)["published_bytes_total"][labels] == 1024

    publish(driver, 8, 10, "aeron:ipc", 512)
    del driver.counters[first]

    assert collect(metrics, driver)["published_bytes_total"][labels] == 1536


def test_a_publication_that_continues_a_recording_counts_what_is_new() -> None:
    driver = MadeUpDriver()
    channel = "aeron:ipc?init-term-id=3|term-id=9|term-offset=128|term-length=64k"
    position = publish(driver, 2, 10, channel, 1_000_000)
    metrics = StreamMetrics("d", 10)
    labels = "d", "10", "aeron:ipc"
    assert collect(metrics, driver)["published_bytes_total"][labels] == 0

    driver.grow(position, 320)

    assert collect(metrics, driver)["published_bytes_total"][labels] == 320


def test_a_stream_that_waits_for_a_subscriber_is_counted_with_what_limits_it() -> None:
    driver = MadeUpDriver()
    stream = 1, 10, "aeron:ipc"
    position = driver.add_of_stream(12, "pub-pos (exclusive)", 2, stream, owner_id=1)
    limit = driver.add_of_stream(1, "pub-lmt", 2, stream, owner_id=1)
    reading = driver.add_of_stream(4, "sub-pos", 4, stream, owner_id=1, reference_id=2)
    driver.set(position, 32_768)
    driver.set(limit, 32_768)
    driver.set(reading, 0)

    found = collect(StreamMetrics("d", 10), driver)

    assert found["limited_sessions"] == {("d", "10", "aeron:ipc", "slow subscriber"): 1}
    assert found["subscriber_lag_bytes"] == {("d", "10", "aeron:ipc"): 32_768}


@pytest.mark.parametrize(
    ("channel", "name"),
    [
        ("aeron:ipc", "aeron:ipc"),
        ("aeron:ipc?term-length=64k|session-id=5", "aeron:ipc"),
        ("aeron:udp?session-id=5|endpoint=h:1|mtu=8k", "aeron:udp?endpoint=h:1"),
        ("aeron-spy:aeron:udp?endpoint=h:1", "aeron:udp?endpoint=h:1"),
        (
            "aeron:udp?control-mode=dynamic|control=h:2|tags=1",
            "aeron:udp?control=h:2|control-mode=dynamic",
        ),
        ("aeron:udp?endpoint=|tags=1", "aeron:udp"),
        ("nothing", "nothing"),
        ("?|=", ""),
    ],
)
def test_a_channel_keeps_where_it_goes(channel: str, name: str) -> None:
    assert channel_name(channel) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("io.aeron.exceptions.AeronException: WARN - x\n at y", "AeronException"),
        ("ValueError: x", "ValueError"),
        ("ValueError", "ValueError"),
        ("java.lang.IllegalStateException\n\tat", "IllegalStateException"),
        ("io.aeron.X$Inner: y", "X$Inner"),
        ("(-1) unknown", "other"),
        ("", "other"),
        ("_x: y", "other"),
    ],
)
def test_an_error_is_counted_by_its_class(text: str, name: str) -> None:
    assert error_class(text) == name
