"""The examples of archive-tool-changes.md print what the page says, and change nothing."""

from __future__ import annotations

import doctest
import os
import re
import shutil
from pathlib import Path

import pytest
from archive_tool_runs import file_states

from aerolog.tools.main import main

ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("AEROLOG_SHARED", ROOT.parent / "shared"))
PAGE = ROOT / "docs" / "tools" / "archive-tool-changes.md"
_EXAMPLE = re.compile(r"^```text\n\$ aerolog ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = _EXAMPLE.findall(PAGE.read_text())


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize(("command", "expected"), EXAMPLES, ids=[one for one, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(
    command: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = SHARED / "golden" / "java-archive-1"
    if not golden.exists():
        pytest.skip(f"no golden archive folder at {golden}; set AEROLOG_SHARED")
    folder = tmp_path / "archive"
    shutil.copytree(golden, folder, copy_function=shutil.copyfile)
    before = file_states(folder)
    assert main(command.replace("$GOLDEN", str(folder)).split()) == 0
    printed = "".join(capsys.readouterr())
    flags = doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(expected, printed, flags), printed
    assert file_states(folder) == before
