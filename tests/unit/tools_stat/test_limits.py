"""What limits a stream, case by case."""

import pytest

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.stream_limits import Limit, LimitKind, limited_by
from aerolog.tools.views.stream_views import StreamView, streams

from .made_up import UDP, MadeUpDriver

WINDOW = 32_768


def look(driver: MadeUpDriver) -> StreamView:
    (stream,) = streams(DriverView.open(driver.folder).counters())
    return stream


def limit(driver: MadeUpDriver, previous: StreamView | None = None) -> Limit:
    return limited_by(look(driver), previous, 1.0)


def test_a_stream_that_flows_is_limited_by_nothing(driver: MadeUpDriver) -> None:
    driver.ipc(position=1000, limit=WINDOW + 900, readers={3: 900})

    assert limit(driver).kind is LimitKind.NOTHING
    assert limit(driver, look(driver)).text == "nothing: no messages are published"


def test_nobody_reads(driver: MadeUpDriver) -> None:
    driver.ipc(position=0, limit=0, readers={})

    assert limit(driver).kind is LimitKind.NO_SUBSCRIBER


def test_the_slowest_subscriber_is_named(driver: MadeUpDriver) -> None:
    driver.client(1, "pricing")
    driver.ipc(position=WINDOW + 32, limit=WINDOW, readers={3: 9000, 4: 0})

    found = limit(driver)

    assert found.kind is LimitKind.SLOW_SUBSCRIBER
    assert "subscription 4 of client 1 'pricing' is 32,800 bytes behind" in found.text


def test_a_recording_that_is_slow_is_named(driver: MadeUpDriver) -> None:
    driver.ipc(position=WINDOW, limit=WINDOW, readers={3: 0})
    key = (44).to_bytes(8, "little") + (7).to_bytes(4, "little") + bytes(100)
    driver.counters.allocate(
        ArchiveCounterType.RECORDING_POSITION,
        "rec-pos: 44 7 1001 aeron:ipc - archiveId=0",
        key,
        1,
        1,
    )

    assert "recording 44 (subscription 3)" in limit(driver).text


def test_a_subscriber_that_is_late_with_room_left_limits_nothing(driver: MadeUpDriver) -> None:
    driver.ipc(position=WINDOW // 2, limit=WINDOW, readers={3: 0})

    assert limit(driver).kind is LimitKind.NOTHING


def test_a_network_publication_without_receivers(driver: MadeUpDriver) -> None:
    driver.sent(position=640, limit=640, sent=640, allowed=640)

    assert limit(driver).kind is LimitKind.NO_SUBSCRIBER


def test_receivers_elsewhere_hold_the_sender(driver: MadeUpDriver) -> None:
    driver.sent(position=WINDOW, limit=2 * WINDOW, sent=1024, allowed=1056)

    found = limit(driver)

    assert found.kind is LimitKind.FLOW_CONTROL
    assert "31,744 bytes wait to be sent, 32 bytes are allowed" in found.text


def test_a_group_that_lacks_receivers(driver: MadeUpDriver) -> None:
    driver.sent(position=1000, limit=WINDOW, sent=0, allowed=0)
    driver.stream(17, "fc-receivers", 20, 0, channel=f"{UDP}|term-length=64k")

    found = limit(driver)

    assert found.kind is LimitKind.FLOW_CONTROL
    assert "waits for its group" in found.text


def test_a_slow_subscriber_behind_a_receiver(driver: MadeUpDriver) -> None:
    driver.sent(position=WINDOW, limit=2 * WINDOW, sent=WINDOW // 2, allowed=WINDOW // 2 + 32)
    driver.received(hwm=WINDOW // 2, position=WINDOW // 2, readers={3: 0, 4: WINDOW // 2})

    found = limit(driver)

    assert found.kind is LimitKind.SLOW_SUBSCRIBER
    assert "subscription 3 " in found.text


def test_a_receiver_window_that_is_small_for_the_rate(driver: MadeUpDriver) -> None:
    ids = driver.sent(position=1000, limit=WINDOW, sent=1000, allowed=9000)
    driver.received(hwm=1000, position=1000, readers={3: 1000})
    before = look(driver)
    driver.counters.set_value(ids[4], 7)

    found = limit(driver, before)

    assert found.kind is LimitKind.RECEIVER_WINDOW
    assert "met its limit 7 times in 1.0 s" in found.text
    assert limit(driver, look(driver)).kind is LimitKind.NOTHING


def test_congestion_control_has_the_window(driver: MadeUpDriver) -> None:
    driver.sent(position=WINDOW, limit=2 * WINDOW, sent=5000, allowed=5100)
    driver.received(hwm=5000, position=5000, readers={3: 5000})
    driver.stream(10, "rcv-cc-cubic-wnd", 30, 2816, channel=UDP)
    driver.stream(10, "rcv-cc-cubic-rtt", 30, 1_500_000, channel=UDP)

    found = limit(driver)

    assert found.kind is LimitKind.CONGESTION
    assert "2,816 bytes at a round trip of 1.50 ms" in found.text


def test_a_gap_that_is_asked_for_again_is_loss(driver: MadeUpDriver) -> None:
    ids = driver.received(hwm=9000, position=2000, readers={3: 2000}, naks=1)
    before = look(driver)
    driver.counters.set_value(ids[1], 9500)
    driver.counters.set_value(ids[2], 3000)
    driver.counters.set_value(ids[3], 4)

    found = limit(driver, before)

    assert found.kind is LimitKind.LOSS
    assert "6,500 bytes" in found.text
    assert "3 times in 1.0 s" in found.text


def test_a_gap_that_closes_by_itself_is_no_loss(driver: MadeUpDriver) -> None:
    ids = driver.received(hwm=9000, position=2000, readers={3: 2000})
    assert limit(driver).kind is LimitKind.NOTHING
    before = look(driver)
    driver.counters.set_value(ids[2], 8000)

    assert limit(driver, before).kind is LimitKind.NOTHING


def test_a_subscriber_of_a_far_publisher_is_measured_by_the_window(driver: MadeUpDriver) -> None:
    driver.received(hwm=100_000, position=100_000, readers={3: 0})
    assert limit(driver).kind is LimitKind.SLOW_SUBSCRIBER
    stream = look(driver)
    stream.receivers[0].window_length = 1 << 20

    assert limited_by(stream).kind is LimitKind.NOTHING


def test_a_spy_holds_the_publisher(driver: MadeUpDriver) -> None:
    driver.sent(position=WINDOW, limit=WINDOW, sent=WINDOW, allowed=9 * WINDOW)
    driver.stream(4, "sub-pos", 3, 0, channel=f"aeron-spy:{UDP}", reference_id=20, suffix=" @0")

    assert "spy 3 of client 1" in limit(driver).text


def test_a_sender_that_does_not_get_round_to_it(driver: MadeUpDriver) -> None:
    driver.sent(position=WINDOW, limit=WINDOW, sent=0, allowed=4 * WINDOW)

    assert limit(driver).kind is LimitKind.SENDER


def test_a_publisher_faster_than_its_window(driver: MadeUpDriver) -> None:
    ids = driver.sent(position=1000, limit=1000, sent=1000, allowed=4 * WINDOW)
    before = look(driver)
    for counter_id in ids[:3]:
        driver.counters.set_value(counter_id, 5000)

    assert limit(driver, before).kind is LimitKind.PUBLISHER_WINDOW


@pytest.mark.parametrize("type_id", [1, 12])
def test_half_a_publication_limits_nothing(driver: MadeUpDriver, type_id: int) -> None:
    driver.stream(type_id, "pub-pos", 10, 5)

    assert limit(driver).kind is LimitKind.NOTHING
