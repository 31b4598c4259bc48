"""docs/where-is-what.md names files that exist, and few of them for each change."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "where-is-what.md"
TOP = ("archive", "catalog", "cluster", "docs", "scripts", "tests", "tools", "transport")
SPAN = re.compile(r"`([^`\n]+)`")
STEP = re.compile(r"^\d+\. ", re.MULTILINE)
LIMIT = 5
CHANGES = {
    title: text
    for title, _, text in (
        section.partition("\n") for section in PAGE.read_text().split("\n## ")[1:]
    )
}


def paths(text: str) -> list[str]:
    """What is quoted and begins with a folder of the checkout, or is a file at its top."""
    return [
        span
        for span in SPAN.findall(text)
        if span.partition("/")[0] in TOP or span in {"CHANGELOG.md", "pyproject.toml"}
    ]


def test_every_path_is_there(checkout: Path):
    named = paths(PAGE.read_text())
    assert len(named) > 60
    assert [path for path in named if not (checkout / path).exists()] == []


def test_there_are_thirteen_changes():
    assert len(CHANGES) == 13


@pytest.mark.parametrize("title", CHANGES)
def test_a_change_has_few_steps_and_tests_that_prove_it(title: str):
    assert 1 <= len(STEP.findall(CHANGES[title])) <= LIMIT
    assert [path for path in paths(CHANGES[title]) if path.startswith("tests/")]
