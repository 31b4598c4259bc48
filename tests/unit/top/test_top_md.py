"""The page of the dashboard shows its screens and its keys as they are."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from top_screens import FOLDER, UPDATE

from aerolog.tools.top.key_bindings import KEYS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tools" / "top.md"
SCREEN = re.compile(r"(<!-- screen: ([\w-]+) -->\n```text\n)(.*?)(```\n)", re.DOTALL)


def test_its_screens_are_those_that_are_drawn() -> None:
    """Updated with the screens, by the same switch."""
    text = PAGE.read_text(encoding="utf-8")
    assert len(SCREEN.findall(text)) == 2

    def screen(match: re.Match[str]) -> str:
        drawn = (FOLDER / f"{match[2]}.txt").read_text(encoding="utf-8")
        return f"{match[1]}{drawn}{match[4]}"

    wanted = SCREEN.sub(screen, text)
    if os.environ.get(UPDATE):
        PAGE.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        pytest.fail(f"{PAGE.name} shows other screens: {UPDATE}=1 updates them")


def test_it_lists_every_key() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(key.shown, key.does) for key in KEYS]
