"""The dashboard in a terminal that Textual simulates: what is drawn, and what keys do."""

from __future__ import annotations

import pytest
from textual.widgets import Input
from top_driver import IpcStream, MadeUpDriver
from top_screens import text_of, until

from aerolog.tools.command_line.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED
from aerolog.tools.top.glyphs import BLOCKS
from aerolog.tools.top.key_bindings import KEYS
from aerolog.tools.top.streams_page import StreamsPage
from aerolog.tools.top.top_app import TopApp

SIZE = (80, 24)
#: Driver, totals, bar of pages, heading above; keys below.
AROUND = 5


def app_of(*stream_ids: int) -> tuple[MadeUpDriver, TopApp]:
    driver = MadeUpDriver()
    for one in stream_ids:
        IpcStream(driver, one, 10 + one, 100 * one)
    return driver, TopApp(driver, BLOCKS, 0)


def lines_of(app: TopApp) -> list[str]:
    return text_of(app).splitlines()


async def test_only_the_lines_that_are_seen_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = StreamsPage.line

    def counted(page: StreamsPage, index: int, width: int):
        made.append(index)
        return make(page, index, width)

    monkeypatch.setattr(StreamsPage, "line", counted)
    driver, app = app_of(*range(1, 1001))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("end")
        seen = set(range(1_000 - (SIZE[1] - AROUND), 1_000))
        await until(pilot, lambda: set(made[-len(seen) :]) == seen)
        made.clear()
        driver.pass_time()
        app.look()
        await until(pilot, lambda: set(made) == seen)


async def test_the_screen_follows_the_chosen_line() -> None:
    _, app = app_of(*range(1, 101))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("S", "S", "S", "end")
        await until(pilot, lambda: lines_of(app)[-2].split()[:2] == ["100", "110"])
        await until(pilot, lambda: lines_of(app)[-1].endswith("100/100"))
        await pilot.press("home")
        await until(pilot, lambda: lines_of(app)[AROUND - 1].split()[:2] == ["1", "11"])
        await pilot.press("pagedown", "pagedown", "j", "k", "up", "pageup")
        await until(pilot, lambda: lines_of(app)[-1].endswith("18/100"))


async def test_text_moves_as_a_whole_and_not_beyond_its_end() -> None:
    _, app = app_of()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("question_mark", "end")
        await until(pilot, lambda: lines_of(app)[-2].startswith(" SLOW"))
        top = app.dashboard.page.cursor
        await pilot.press("down", "pagedown")
        assert app.dashboard.page.cursor == top
        await pilot.press("up")
        assert app.dashboard.page.cursor == top - 1
        await until(pilot, lambda: not lines_of(app)[-2].startswith(" SLOW"))


async def test_a_terminal_that_grows_is_filled() -> None:
    _, app = app_of(*range(1, 101))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("end")
        await pilot.resize_terminal(130, 50)
        await until(pilot, lambda: "POSITION" in lines_of(app)[3])
        await until(pilot, lambda: sum("ipc term" in one for one in lines_of(app)) == 50 - AROUND)


@pytest.mark.parametrize("size", [(80, 24), (20, 6), (1, 1), (200, 60)])
async def test_any_size_is_drawn(size: tuple[int, int]) -> None:
    _, app = app_of(1, 2, 3)
    async with app.run_test(size=size) as pilot:
        for key in ("2", "3", "5", "6", "question_mark", "escape", "1", "enter", "escape", "slash"):
            await pilot.press(key)
            assert len(lines_of(app)) <= size[1]
    assert app.fault is None


async def test_letters_of_a_filter_are_no_keys() -> None:
    _, app = app_of(1001, 1002)
    async with app.run_test(size=SIZE) as pilot:
        table = app.dashboard.table
        assert table is not None
        await pilot.press("slash", *"q 1002", "enter")
        await until(pilot, lambda: table.filter == "q 1002" and not app.query_one(Input).display)
        await pilot.press("slash", "escape")
        await until(pilot, lambda: table.filter == "" and len(table.rows) == 2)
        assert app.is_running


async def test_pages_without_rows_have_no_filter() -> None:
    _, app = app_of()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3", "slash")
        assert not app.query_one(Input).display


async def test_quitting_and_interrupting_have_their_codes() -> None:
    for key, code in (("q", None), ("ctrl+c", EXIT_INTERRUPTED)):
        _, app = app_of()
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press(key)
            await until(pilot, lambda app=app: not app.is_running)
        assert app.return_value == code


async def test_an_interrupt_works_while_a_filter_is_typed() -> None:
    _, app = app_of()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", "x", "ctrl+c")
        await until(pilot, lambda: not app.is_running)
    assert app.return_value == EXIT_INTERRUPTED


async def test_a_fault_of_the_source_ends_it_and_is_kept() -> None:
    driver, app = app_of()
    async with app.run_test(size=SIZE):
        fault = RuntimeError("no more")

        def look():
            raise fault

        driver.look = look
        app.look()
    assert (app.fault, app.return_value) == (fault, EXIT_FAILED)


async def test_looks_are_taken_at_the_interval() -> None:
    driver = MadeUpDriver()
    looks = []
    look = driver.look

    def counted():
        looks.append(1)
        driver.pass_time()
        return look()

    driver.look = counted
    app = TopApp(driver, BLOCKS, 0.01)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: len(looks) >= 5)
        await pilot.press("minus")
        await until(pilot, lambda: "every 0.5s" in text_of(app))
        assert app.dashboard.interval_s == 0.5


async def test_every_key_does_something_and_is_explained() -> None:
    _, app = app_of(1)
    async with app.run_test(size=(80, 70)) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: " Columns" in text_of(app))
        shown = text_of(app)
        bound = {
            binding.key for binding in app.active_bindings.values() for binding in [binding.binding]
        }
        for key in KEYS:
            assert f"{key.shown} " in shown
            assert key.does in shown
            assert set(key.names) <= bound
            assert hasattr(app, "action_" + key.action.partition("(")[0])
