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
    from collections.abc import Iterator

    from aerolog.tools.top.app import TopApp

FOLDER = Path(__file__).parents[1] / "unit" / "top" / "screens"
UPDATE = "AEROLOG_UPDATE_SCREENS"


def text_of(app: TopApp) -> str:
    """What the terminal shows, without colours, blanks at line ends left out."""
    strips = app.screen._compositor.render_strips()
    return "".join(f"{strip.text.rstrip()}\n" for strip in strips)


def check_screen(name: str, app: TopApp) -> None:
    """Compares a screen with the committed one of that name and size."""
    width, height = app.size
    path = FOLDER / f"{name}-{width}x{height}.txt"
    shown = text_of(app)
    if os.environ.get(UPDATE):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert path.exists(), f"{path.name} is missing: {UPDATE}=1 writes it"
    if shown != path.read_text(encoding="utf-8"):
        pytest.fail(
            f"the screen is not that of {path.name} ({UPDATE}=1 accepts it):\n{shown}",
            pytrace=False,
        )


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
