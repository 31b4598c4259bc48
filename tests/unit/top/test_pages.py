"""Pages without a terminal: order, filter, the chosen line, what is opened."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from top_driver import START_MS, IpcStream, MadeUpCounter, MadeUpDriver

from aerolog.tools.top.cycles_page import agents_of, quantile
from aerolog.tools.top.errors_page import ErrorPage
from aerolog.tools.top.glyphs import BLOCKS
from aerolog.tools.top.measurement import CycleHistogram, DriverState
from aerolog.tools.top.stream_page import StreamPage
from aerolog.tools.top.table_cells import short_channel
from aerolog.tools.top.text_lines import plain
from aerolog.tools.top.top_dashboard import Dashboard
from aerolog.tools.views.driver_view import ObservedError
from aerolog.transport.counters.counter_types import CounterType

WIDTH = 100


def dashboard(*stream_ids: int) -> tuple[MadeUpDriver, list[IpcStream], Dashboard]:
    driver, shown = MadeUpDriver(), Dashboard(BLOCKS, 1.0)
    made = [IpcStream(driver, one, 10 + one, 100 * one) for one in stream_ids]
    shown.take(driver.look())
    return driver, made, shown


def look(driver: MadeUpDriver, shown: Dashboard, seconds: float = 1.0) -> None:
    driver.pass_time(seconds)
    shown.take(driver.look())


def stream_ids(shown: Dashboard) -> list[int]:
    assert shown.table is not None
    return [row.view.stream_id for row in shown.table.rows]


def chosen(shown: Dashboard) -> int:
    assert shown.table is not None
    return shown.table.chosen().view.stream_id


def test_the_fastest_stream_is_first_and_chosen() -> None:
    driver, made, shown = dashboard(1, 2, 3)
    made[1].publish(2_000)
    made[2].publish(1_000)
    look(driver, shown)
    assert (stream_ids(shown), chosen(shown)) == ([2, 3, 1], 2)
    made[2].publish(9_000)
    look(driver, shown)
    assert (stream_ids(shown), chosen(shown)) == ([3, 2, 1], 3)


def test_a_chosen_line_is_followed_wherever_the_order_takes_it() -> None:
    driver, made, shown = dashboard(1, 2, 3)
    shown.page.move(1)
    followed = chosen(shown)
    for published in (5_000, 0, 100):
        next(one for one in made if one.stream_id == followed).publish(published)
        look(driver, shown)
        assert chosen(shown) == followed


def test_when_the_chosen_stream_ends_the_one_at_its_place_is_chosen() -> None:
    driver, made, shown = dashboard(1, 2, 3)
    shown.page.move(2)
    gone = next(one for one in made if one.stream_id == chosen(shown))
    for counter in (gone.position, gone.limit, *gone.readers):
        del driver.counters[counter]
    look(driver, shown)
    assert shown.page.cursor == 1
    assert chosen(shown) == stream_ids(shown)[1]


def test_columns_are_sorted_by_one_after_the_other_and_turned_round() -> None:
    driver, made, shown = dashboard(3, 1, 2)
    made[0].publish(64, read_by=0)
    look(driver, shown)
    assert plain(shown.page.head(WIDTH)[-1]).split()[0] == "STREAM"
    titles = []
    for _ in range(7):
        shown.sort_next(1)
        head = plain(shown.page.head(WIDTH)[-1])
        titles += [word for word in head.split() if word[-1] in "▲▼"]
    assert titles == ["POSITION▼", "BEHIND▼", "BY▲", "STREAM▲", "SESSION▲", "CHANNEL▲", "RATE▼"]
    shown.sort_next(4)
    assert stream_ids(shown) == [1, 2, 3]
    shown.reverse()
    assert stream_ids(shown) == [3, 2, 1]
    shown.sort_next(-2)
    assert stream_ids(shown)[0] == 3


def test_a_filter_keeps_lines_with_all_of_its_words() -> None:
    _, _, shown = dashboard(1001, 1002, 2001)
    shown.set_filter("IPC 100")
    assert sorted(stream_ids(shown)) == [1001, 1002]
    shown.set_filter("1001 slow")
    assert stream_ids(shown) == []
    assert shown.page.count() == 1
    assert "none of 3 matches '1001 slow'" in plain(shown.page.line(0, WIDTH))
    shown.back()
    assert len(stream_ids(shown)) == 3


def test_while_it_is_held_still_only_the_driver_is_told() -> None:
    driver, made, shown = dashboard(1)
    shown.pause()
    made[0].publish(4_096)
    look(driver, shown)
    assert shown.table is not None
    assert shown.table.chosen().position == 0
    driver.state = DriverState.SILENT
    look(driver, shown)
    assert "PAUSED" in plain(shown.top_lines(WIDTH)[0])
    assert "the driver is silent by now" in plain(shown.top_lines(WIDTH)[0])
    driver.restart(pid=815)
    look(driver, shown)
    assert "another driver runs by now, pid 815" in plain(shown.top_lines(WIDTH)[0])
    shown.pause()
    look(driver, shown)
    assert stream_ids(shown) == []
    assert "another driver, pid 815" in plain(shown.top_lines(WIDTH)[1])


def test_a_rate_over_a_pause_is_the_mean_of_it() -> None:
    driver, made, shown = dashboard(1)
    shown.pause()
    made[0].publish(10_000)
    look(driver, shown, 10)
    shown.pause()
    shown.take(driver.look())
    assert shown.table is not None
    assert shown.table.chosen().rate == 1_000


def test_an_opened_stream_shows_its_last_picture_when_it_has_ended() -> None:
    driver, made, shown = dashboard(1)
    made[0].publish(4_096)
    shown.open()
    assert isinstance(shown.page, StreamPage)
    driver.counters = {
        key: one for key, one in driver.counters.items() if one.type_id == CounterType.SYSTEM
    }
    look(driver, shown)
    shown.page.head(WIDTH)
    text = [plain(shown.page.line(index, WIDTH)) for index in range(shown.page.count())]
    assert " this stream has ended: what follows is its last picture" in text
    assert any(line.startswith(" publication 100") for line in text)


def test_enter_on_an_empty_page_opens_nothing() -> None:
    _, _, shown = dashboard()
    for page in range(5):
        shown.select(page)
        shown.open()
        assert shown.page is shown.pages[page]


def test_an_error_opens_in_full() -> None:
    driver, _, shown = dashboard()
    driver.errors = [ObservedError(2, START_MS, START_MS, "one\ntwo")]
    look(driver, shown)
    shown.select(3)
    shown.open()
    assert isinstance(shown.page, ErrorPage)
    shown.page.head(WIDTH)
    assert [plain(shown.page.line(index, WIDTH)) for index in range(2)] == [" one", " two"]


def test_pages_go_round() -> None:
    _, _, shown = dashboard()
    titles = []
    for _ in range(7):
        titles.append(shown.page.title)
        shown.turn(1)
    assert titles == ["Streams", "Loss", "Cycles", "Errors", "Archive", "Cluster", "Streams"]
    shown.turn(-2)
    assert shown.page.title == "Cluster"


def test_help_is_opened_and_closed_by_the_same_key() -> None:
    _, _, shown = dashboard()
    shown.show_help()
    assert shown.page.title == "Help"
    shown.show_help()
    assert shown.page.title == "Streams"


def test_the_interval_goes_up_and_down_within_bounds() -> None:
    shown = Dashboard(BLOCKS, 0.9)
    seen = []
    for _ in range(9):
        shown.change_interval(1)
        seen.append(shown.interval_s)
    assert seen == [2, 5, 10, 30, 60, 60, 60, 60, 60]
    for _ in range(9):
        shown.change_interval(-1)
    assert shown.interval_s == 0.25


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        ("aeron:ipc", "ipc"),
        ("aeron:ipc?term-length=64k", "ipc term-length=64k"),
        ("aeron:udp?mtu=8k|endpoint=10.0.0.7:40123", "10.0.0.7:40123 mtu=8k"),
        ("aeron:udp?control=h:1|control-mode=dynamic", "h:1 control-mode=dynamic"),
        ("aeron:udp?tags=1", "udp tags=1"),
        ("", ""),
        ("not a channel\n", "not a channel?"),
    ],
)
def test_a_channel_is_shown_by_where_it_goes(channel: str, text: str) -> None:
    assert short_channel(channel) == text


def test_agents_are_found_with_their_thresholds_and_archives() -> None:
    driver = MadeUpDriver()
    driver.set(26, 5_000)
    driver.set(27, 3)
    for name in ("archive-conductor", "archive-recorder"):
        driver.add(
            MadeUpCounter(103, f"{name} max cycle time in ns: DEDICATED - archiveId=9", value=77)
        )
        exceeded = f"{name} work cycle exceeded count: threshold=2s DEDICATED - archiveId=9"
        driver.add(MadeUpCounter(104, exceeded, value=4))
    driver.add(MadeUpCounter(105, "archive-recorder max write time in ns - archiveId=9", value=8))
    reading = driver.look()
    found = [
        (one.name, one.owner, one.longest_ns, one.exceeded, one.threshold)
        for one in agents_of(reading, reading)
    ]
    assert found == [
        ("Conductor", "driver", 5_000, 3, "100ms"),
        ("Sender", "driver", 0, 0, "100ms"),
        ("Receiver", "driver", 0, 0, "100ms"),
        ("NameResolver", "driver", 0, 0, "5s"),
        ("archive-conductor", "archive 9", 77, 4, "2s"),
        ("archive-recorder", "archive 9", 77, 4, "2s"),
        ("archive-recorder write", "archive 9", 8, None, ""),
    ]


def test_modules_and_services_are_agents_of_their_clusters() -> None:
    driver = MadeUpDriver()
    module, service = struct.pack("<i", 9), struct.pack("<ii", 9, 0)
    driver.add(MadeUpCounter(200, "Consensus Module state - clusterId=9", module, 1))
    driver.add(MadeUpCounter(201, "Cluster node role - clusterId=9", module, 2))
    for type_id, key, value in ((216, module, 77), (218, service, 88), (236, service, 99)):
        driver.add(MadeUpCounter(type_id, "max", key, value))
        driver.add(MadeUpCounter(type_id + 1, "exceeded count: threshold=1s", key, 4))
    reading = driver.look()
    found = [
        (one.name, one.owner, one.longest_ns, one.exceeded, one.threshold)
        for one in agents_of(reading, reading)[4:]
    ]
    assert found == [
        ("consensus module", "cluster 9, active, leader", 77, 4, "1s"),
        ("service 0", "cluster 9, active, leader", 88, 4, "1s"),
        ("service 0 snapshot", "cluster 9, active, leader", 99, 4, "1s"),
    ]


def test_recent_cycles_are_those_since_the_oldest_look() -> None:
    driver = MadeUpDriver()
    driver.cycles = [CycleHistogram("Sender", (0, 5, 7))]
    oldest = driver.look()
    driver.cycles = [CycleHistogram("Sender", (1, 5, 9))]
    sender = agents_of(driver.look(), oldest)[1]
    assert (sender.ever, sender.recent) == ((1, 5, 9), (1, 0, 2))


@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=40), st.floats(0.01, 1))
def test_a_quantile_bounds_its_share_of_the_cycles(counts: list[int], share: float) -> None:
    bound = quantile(counts, share)
    if not sum(counts):
        assert bound is None
        return
    assert bound is not None
    below = sum(count for n, count in enumerate(counts) if 1 << (n + 1) <= bound)
    under = sum(count for n, count in enumerate(counts) if 1 << (n + 1) < bound)
    assert below >= share * sum(counts) - 1e-6
    assert under < max(share * sum(counts), 1)


@pytest.mark.parametrize("width", [80, 60, 40, 10])
def test_a_long_directory_gives_way_to_what_matters(width: int) -> None:
    driver, shown = MadeUpDriver(), Dashboard(BLOCKS, 1.0)
    driver.aeron_dir = "/dev/shm/" + "deep/" * 20 + "feed"
    shown.take(driver.look())
    text = plain(shown.top_lines(width)[0])
    assert f"pid {driver.pid} up" in text
    assert text.endswith("every 1s ")
    if width == 80:
        assert "/feed  pid" in text
        assert len(text) == width
