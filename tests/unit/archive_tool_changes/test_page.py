"""The examples of archive-folder.md print what the page says, and change nothing."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from archive_tool_runs import file_states
from golden_data import copy_archive

from aerolog.tools.main import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "tools" / "archive-folder.md"
_EXAMPLE = re.compile(r"^```text\n\$ aerolog ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = _EXAMPLE.findall(PAGE.read_text())


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize(("command", "expected"), EXAMPLES, ids=[one for one, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(
    command: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_archive(tmp_path / "archive")
    before = file_states(folder)
    assert main(command.replace("$GOLDEN", str(folder)).split()) == 0
    printed = "".join(capsys.readouterr())
    flags = doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(expected, printed, flags), printed
    assert file_states(folder) == before
