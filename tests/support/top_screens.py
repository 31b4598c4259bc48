"""Screens as text, and their comparison with those that are committed.

``AEROLOG_UPDATE_SCREENS=1 pytest tests/unit/top`` writes the committed ones anew.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import App
    from textual.pilot import Pilot

FOLDER = Path(__file__).parents[1] / "unit" / "top" / "screens"
UPDATE = "AEROLOG_UPDATE_SCREENS"
DEADLINE_S = 20.0


def text_of(app: App[int]) -> str:
    """What the terminal shows, without colours, blanks at line ends left out."""
    strips = app.screen._compositor.render_strips()
    return "".join(f"{strip.text.rstrip()}\n" for strip in strips)


async def until(pilot: Pilot[int], condition: Callable[[], bool]) -> None:
    """Waits until the dashboard is as it should be; a layout is made a moment after its cause."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"not in {DEADLINE_S} s; the screen is:\n{text_of(pilot.app)}")
        await pilot.pause(0.01)


async def check_screen(name: str, pilot: Pilot[int]) -> None:
    """Compares the screen with the committed one of that name and size."""
    width, height = pilot.app.size
    path = FOLDER / f"{name}-{width}x{height}.txt"
    if os.environ.get(UPDATE):
        FOLDER.mkdir(exist_ok=True)
        await pilot.pause(0.5)
        path.write_text(text_of(pilot.app), encoding="utf-8")
    assert path.exists(), f"{path.name} is missing: {UPDATE}=1 writes it"
    wanted = path.read_text(encoding="utf-8")
    deadline = time.monotonic() + DEADLINE_S
    while text_of(pilot.app) != wanted:
        if time.monotonic() > deadline:
            pytest.fail(
                f"the screen is not that of {path.name} ({UPDATE}=1 accepts it):\n"
                f"{text_of(pilot.app)}",
                pytrace=False,
            )
        await pilot.pause(0.01)


@contextmanager
def time_zone(name: str) -> Iterator[None]:
    """Runs with a time zone of its own: times on the screen are local."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()
