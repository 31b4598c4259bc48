"""Figures of benchmarks in the documentation carry their command, their date and their machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = re.compile(r"`make bench\s[^`]+`")
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")
MACHINE = re.compile(r"\bmachine\s(?:of|with)\s\w+\s(?:cores|processors)\b")
#: How benchmarks are called, without figures.
INSTRUCTIONS = {"docs/reference/cli.md", "docs/how-to/tune.md"}


def undated(text: str) -> list[str]:
    """The paragraphs that name a benchmark without a date, in sections that have figures of it."""
    return [
        paragraph.strip().splitlines()[0]
        for paragraph in text.split("\n\n")
        if COMMAND.search(paragraph) and not DATE.search(paragraph)
    ]


def test_figures_have_a_date_and_a_machine(checkout: Path, tracked: list[Path]) -> None:
    found = []
    for path in tracked:
        place = path.relative_to(checkout).as_posix()
        is_prose = place.startswith("docs/") or place == "README.md"
        if path.suffix != ".md" or not is_prose or place in INSTRUCTIONS:
            continue
        if place.startswith(("docs/spec/", "docs/decisions/")):
            continue
        text = path.read_text()
        found += [f"{place}: {line}" for line in undated(text)]
        if COMMAND.search(text) and not MACHINE.search(text):
            found.append(f"{place}: on which machine?")
    assert not found, "\n".join(found)


def test_a_figure_without_a_date_is_found() -> None:
    assert undated("`make bench ARGS=ipc-32` reads 3 GB/s.\n\nMore.") == [
        "`make bench ARGS=ipc-32` reads 3 GB/s."
    ]
    assert undated("`make bench ARGS=ipc-32`, 2026-11-23, reads 3 GB/s.") == []
