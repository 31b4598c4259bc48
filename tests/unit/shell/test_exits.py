"""Exit codes are documented where they are defined, in the manual and on a page."""

import re
from pathlib import Path

from aerolog.tools.command_line import exit_codes
from aerolog.tools.command_line.application import COMMANDS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "exit-codes.md"


def test_every_code_has_a_meaning() -> None:
    codes = {value for name, value in vars(exit_codes).items() if name.startswith("EXIT_")}

    assert set(exit_codes.CODES) == {0, *codes}
    assert set(exit_codes.OWN_CODES) <= set(COMMANDS)


def test_the_page_has_them_all() -> None:
    page = PAGE.read_text()

    for code, meaning in exit_codes.CODES.items():
        assert f"| {code} | {meaning} |" in page
    for command, codes in exit_codes.OWN_CODES.items():
        for code, meaning in codes.items():
            assert f"| `aerolog {command}` | {code} | {meaning} |" in page
    rows = re.findall(r"^\| (?:.* \| )?\d+ \|", page, re.MULTILINE)
    assert len(rows) == len(exit_codes.CODES) + sum(map(len, exit_codes.OWN_CODES.values()))
