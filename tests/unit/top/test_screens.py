"""Every page as it is drawn, at the least size that is promised and at a larger one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from top_driver import START_MS, IpcStream, MadeUpDriver, NetworkStream
from top_screens import check_screen, text_of, time_zone, until

from aerolog.tools.top.glyphs import ASCII, BLOCKS
from aerolog.tools.top.measurement import (
    ArchiveFigures,
    CycleHistogram,
    DriverState,
    RecordingFigures,
    ReplayFigures,
)
from aerolog.tools.top.text_lines import plain
from aerolog.tools.top.top_app import TopApp
from aerolog.tools.top.top_dashboard import Dashboard
from aerolog.tools.views.driver_view import LossEntry, ObservedError

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = [(80, 24), (120, 40)]


@pytest.fixture(autouse=True)
def _utc() -> Iterator[None]:
    with time_zone("UTC"):
        yield


def busy_driver() -> tuple[MadeUpDriver, TopApp]:
    """A driver with a bit of everything, and a dashboard that has looked at it for a while."""
    driver = MadeUpDriver()
    driver.add_client(1, "feed")
    driver.add_client(2)
    feed = IpcStream(driver, 1001, 254012593, 100, subscribers=2)
    orders = NetworkStream(driver, 2001, -770012, 200)
    lossy = NetworkStream(driver, 2002, 900913, 300, "aeron:udp?endpoint=224.20.30.39:54326|mtu=8k")
    quiet = [IpcStream(driver, 3000 + n, 10 + n, 1000 + 10 * n) for n in range(20)]
    driver.errors = [
        ObservedError(3, START_MS - 90_000, START_MS + 10_000, "first line of one\n  at a place"),
        ObservedError(1, START_MS - 60_000, START_MS - 60_000, "io error \x1b[2Jof another"),
    ]
    driver.archive_errors = [ObservedError(7, START_MS, START_MS + 12_000, "no space left")]
    driver.losses = [
        LossEntry(4, 5_600, START_MS, START_MS + 14_000, 900913, 2002, lossy.channel, "10.0.0.9:1"),
        LossEntry(1, 64, START_MS, START_MS, 77, 99, "aeron:udp?endpoint=10.0.0.1:9", "10.0.0.8:1"),
    ]
    driver.set(26, 1_234_567)
    driver.set(28, 220_000_000)
    driver.set(29, 2)
    app = TopApp(driver, BLOCKS, 0)
    for turn in range(12):
        feed.publish(1_000 * (turn + 1))
        orders.publish(50_000 * (turn % 5), waits=turn % 2)
        lossy.publish(1_400, naks=turn % 3)
        quiet[turn].publish(640)
        driver.grow(0, 50_000 * (turn % 5) + 1_400)
        driver.grow(6, turn % 3)
        driver.cycles = [CycleHistogram("Sender", histogram(turn))]
        works(driver, turn)
        driver.pass_time()
        app.dashboard.take(driver.look())
    feed.publish(200_000, read_by=1)
    driver.pass_time()
    return driver, app


def histogram(turn: int) -> tuple[int, ...]:
    return tuple((turn + 1) * max(0, 40 - (n - 12) ** 2) for n in range(40))


def works(driver: MadeUpDriver, turn: int) -> None:
    driver.recordings = [
        RecordingFigures(7, 1, 254012593, 1001, "aeron:ipc", 0, 10_000_000 * turn, 60, "sound"),
        RecordingFigures(8, 9, 5, None, "", None, 1_000, 61),
    ]
    driver.replays = [
        ReplayFigures(90, 3, 11, 5001, "aeron:ipc", 0, 8_000_000 * turn, 200_000_000, live=False),
        ReplayFigures(91, 7, 12, 5002, "aeron:ipc", 0, 9_000_000 * turn, 110_000_000, live=True),
        ReplayFigures(92, None, 13, 5003, "aeron:ipc", 4_096, 5_000, None, live=False),
    ]
    driver.stopped = [
        RecordingFigures(6, 1, 9, 1001, "aeron:ipc", 0, 123_456_789, -1, "sound"),
        RecordingFigures(5, 1, 8, 1001, "aeron:ipc", 4_096, 4_096, -1, ""),
    ]
    driver.archive = ArchiveFigures(
        "/data/archive",
        "archive live",
        1_234,
        45_600_000_000,
        80_000_000_000,
        500_000_000_000,
        index="1,233/1,234",
        health="2 unchecked",
        retention="5m02s ago, -2.00 GB, 1 held",
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("streams", ()),
        ("stream", ("home", "enter")),
        ("loss", ("2",)),
        ("loss-of-an-ended-stream", ("2", "down", "enter")),
        ("cycles", ("3",)),
        ("errors", ("4",)),
        ("error", ("4", "enter")),
        ("archive", ("5",)),
        ("help", ("question_mark",)),
        ("filtered", ("slash", *"10.0", "enter")),
        ("typing-a-filter", ("slash", *"3")),
        ("sorted-by-stream", ("S", "S", "S")),
        ("paused", ("space",)),
    ],
)
async def test_the_page_is_drawn_as_it_was_agreed(
    name: str, keys: tuple[str, ...], size: tuple[int, int]
) -> None:
    _, app = busy_driver()
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        await check_screen(name, pilot)


@pytest.mark.parametrize("state", [DriverState.SILENT, DriverState.CLOSED, DriverState.ABSENT])
async def test_a_driver_that_is_gone_is_told_above_the_last_picture(state: DriverState) -> None:
    driver, app = busy_driver()
    async with app.run_test(size=(80, 24)) as pilot:
        driver.state, driver.heartbeat_age_ms = state, 12_000
        driver.pass_time()
        app.look()
        await check_screen(f"driver-{state}", pilot)


async def test_no_driver_at_all_says_what_to_do() -> None:
    driver = MadeUpDriver(state=DriverState.ABSENT)
    app = TopApp(driver, BLOCKS, 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await check_screen("no-driver", pilot)


def test_plain_ascii_has_no_other_character() -> None:
    driver, app = busy_driver()
    shown = Dashboard(ASCII, 1.0)
    shown.model = app.dashboard.model
    for _ in range(5):
        shown.turn(1)
        shown.take(driver.look())
        lines = [*shown.top_lines(80), shown.bottom_line(80)]
        lines += [shown.page.line(index, 80) for index in range(shown.page.count())]
        assert len(lines) > 5
        assert "".join(map(plain, lines)).isascii()


async def test_what_files_say_moves_no_cursor() -> None:
    _, app = busy_driver()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: "io error ?[2Jof another" in text_of(app))
        assert "\x1b" not in text_of(app)
