"""The program on the page of the SQL catalog runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.catalog.index.facts import FIELDS, checked
from aerolog.catalog.index.journal_file import JOURNAL_NAME, JournalFile
from aerolog.catalog.index.models import Base
from aerolog.catalog.index.recording_catalog import DATABASE_NAME

if TYPE_CHECKING:
    import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "catalog" / "sql.md").read_text()


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [text for named, text in found if named == language]


def test_the_program_prints_what_it_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks("python")
    exec(compile(program, "sql.md", "exec"), {"folder": folder})
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "4 new recordings, 0 problems"
    assert sorted(said[1:]) == ["0 stopped 0", "1 stopped 1", "2 stopped 2", "3 active 3"]


def test_the_journal_on_the_page_is_one(tmp_path: Path) -> None:
    (lines,) = [block for block in blocks("") if block.startswith("{")]
    (tmp_path / JOURNAL_NAME).write_text(lines)
    with JournalFile.locked(tmp_path) as journal:
        assert journal is not None
        (line,) = journal.lines()
    (fact,) = line.facts
    assert fact.pop("kind") in FIELDS
    assert checked("tag", fact) == fact


def test_the_page_has_every_table_and_file() -> None:
    for name in (*Base.metadata.tables, DATABASE_NAME, JOURNAL_NAME):
        assert f"`{name}`" in PAGE
