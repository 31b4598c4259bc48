"""The examples of the pages archive-tool and explain print what the pages say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from golden_data import GOLDEN_ARCHIVE

from aerolog.tools.main import main

ROOT = Path(__file__).resolve().parents[3]
_EXAMPLE = re.compile(r"^```text\n\$ aerolog ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    return [
        (command, expected)
        for page in ("archive-tool", "explain")
        for command, expected in _EXAMPLE.findall((ROOT / f"docs/tools/{page}.md").read_text())
    ]


def test_the_pages_have_examples() -> None:
    assert len(examples()) >= 4


@pytest.mark.parametrize(("command", "expected"), examples(), ids=[one for one, _ in examples()])
def test_an_example_prints_what_its_page_says(
    command: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(command.replace("$GOLDEN", str(GOLDEN_ARCHIVE)).split())
    printed = "".join(capsys.readouterr())
    flags = doctest.ELLIPSIS
    assert doctest.OutputChecker().check_output(expected, printed, flags), printed
