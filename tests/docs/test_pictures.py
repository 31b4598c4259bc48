"""The pictures of the concepts are what their program draws."""

from __future__ import annotations

import runpy
from xml.etree import ElementTree as ET

import pytest
from page_samples import ROOT

PROGRAM = ROOT / "docs" / "_ext" / "pictures.py"
CONCEPTS = ROOT / "docs" / "concepts"
PICTURES = runpy.run_path(str(PROGRAM))["PICTURES"]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_as_its_program_draws_it(name: str) -> None:
    drawn = PICTURES[name]().svg()
    assert (CONCEPTS / f"{name}.svg").read_text(encoding="utf-8") == drawn
    assert ET.fromstring(drawn).tag.endswith("svg")


def test_every_picture_is_drawn_and_shown() -> None:
    files = {path.stem for path in CONCEPTS.glob("*.svg")}
    text = "".join(page.read_text(encoding="utf-8") for page in CONCEPTS.glob("*.md"))
    assert files == PICTURES.keys()
    assert {name for name in files if f"]({name}.svg)" not in text} == set()
