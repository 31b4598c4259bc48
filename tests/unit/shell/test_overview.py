"""The overview of all commands: in sections, on one screen."""

import pytest

from aerolog.tools.app import COMMANDS, SECTIONS
from aerolog.tools.main import main

SCREEN_LINES = 48


def test_every_command_stands_in_one_section() -> None:
    listed = [name for names in SECTIONS.values() for name in names]

    assert len(listed) == len(set(listed))
    assert set(COMMANDS) <= set(listed)


def test_the_overview_shows_each_command_below_its_heading(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--help"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= SCREEN_LINES
    for heading, names in SECTIONS.items():
        listed = [name for name in names if name in COMMANDS]
        if listed:
            at = lines.index(f"{heading}:") + 1
            assert [line.split()[0] for line in lines[at : at + len(listed)]] == listed


def test_meanings_stand_in_one_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0

    lines = capsys.readouterr().out.splitlines()
    columns = {
        line.index(COMMANDS[line.split()[0]][1])
        for line in lines
        if line.startswith("  ") and line.split()[0] in COMMANDS
    }
    assert len(columns) == 1
