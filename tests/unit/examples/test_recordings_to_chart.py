"""From recordings to a chart: the program runs, and is what the guide shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "examples" / "recordings_to_chart.py"
PAGE = ROOT / "docs" / "guide" / "from-recordings-to-a-chart.md"


def cells() -> list[str]:
    parts = re.split(r"^# %% .*\n", PROGRAM.read_text(), flags=re.MULTILINE)
    return [part.strip("\n") + "\n" for part in parts[1:]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the program wrote to, and what it said; the second run finds the archive made."""
    empty = tmp_path_factory.mktemp("empty")
    out = empty / "charts" / "of-today"
    command = [sys.executable, "-m", "examples.recordings_to_chart"]
    said = [
        subprocess.run(
            [*command, str(empty / "archive"), str(out)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout
        for _ in range(2)
    ]
    assert said[0] == said[1]
    return out, said[0]


def test_the_guide_shows_the_program() -> None:
    assert blocks("python") == cells()


def test_the_guide_shows_what_the_program_says(run: tuple[Path, str]) -> None:
    shown = blocks("text")
    assert len(shown) == 5
    for text in shown:
        assert text in run[1]


def test_a_chart_is_drawn(run: tuple[Path, str]) -> None:
    out = run[0]
    assert (out / "delays.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    svg = (out / "delays.svg").read_text()
    assert ET.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    drawn = re.findall(r"<!-- (.*?) -->", svg)
    assert {"UA", "B6", "DL", "AA", "EWR", "JFK", "LGA", "Over the day"} <= set(drawn)
