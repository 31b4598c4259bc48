"""The overview of all commands: in sections, on one screen."""

import pytest

from aerolog.tools.command_line.application import COMMANDS, SECTIONS
from aerolog.tools.main import main

SCREEN_LINES = 48


def test_every_command_stands_in_one_section() -> None:
    listed = [name for names in SECTIONS.values() for name in names]

    assert len(listed) == len(set(listed))
    assert set(COMMANDS) == set(listed)


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


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["nothing"], 2, "Usage: aerolog COMMAND ...\n"),
        (["recordings", "nothing"], 2, "Usage: aerolog recordings COMMAND ...\n"),
        (["--nothing"], 2, "Error: No such option: --nothing"),
        (["recordings", "--nothing"], 2, "Error: No such option: --nothing"),
        (["recordings", "list", "--nothing"], 2, "Usage: aerolog recordings list [OPTIONS]\n"),
    ],
)
def test_what_is_unknown_is_told_by_whom_it_was_asked(
    arguments: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    printed = capsys.readouterr()
    assert told in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["tail", "--help"],
        ["tail", "7", "--format", "nothing", "--help"],
        ["tail", "--nothing", "--help"],
        ["tail", "7", "--count", "--help"],
    ],
)
def test_help_is_given_whatever_else_is_on_the_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("Usage: aerolog tail ID|CHANNEL [STREAM] [OPTIONS]\n")
