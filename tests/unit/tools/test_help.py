"""Help of every command: plain, with examples, on one screen."""

import re
import shlex
from typing import Any

import pytest

from aerolog.tools.command_line.application import COMMANDS, application
from aerolog.tools.command_line.options import TIME_RULE
from aerolog.tools.main import main

SCREEN_LINES = 48
SCREEN_COLUMNS = 80


def commands() -> dict[str, Any]:
    """Every command by its path, groups left out."""
    root = application()
    context = root.make_context("aerolog", [], resilient_parsing=True)
    found = {}
    for name in COMMANDS:
        command = root.get_command(context, name)
        inner = getattr(command, "commands", None)
        if inner is not None:
            found |= {f"{name} {sub}": one for sub, one in inner.items()}
        else:
            found[name] = command
    return found


ALL = commands()


@pytest.mark.parametrize("path", ["", "recordings", "catalog", *ALL])
def test_help_fits_a_screen(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*path.split(), "--help"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= SCREEN_LINES
    assert max(map(len, lines)) <= SCREEN_COLUMNS
    assert lines[0].startswith(f"Usage: aerolog {path}".rstrip())


@pytest.mark.parametrize("path", ALL)
def test_help_has_examples_that_parse(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*path.split(), "--help"])
    out = capsys.readouterr().out
    examples = [
        re.split(r" [|<>]", line.strip().removeprefix("aerolog "))[0]
        for line in out.splitlines()
        if line.startswith("  aerolog ")
    ]
    assert examples
    for example in examples:
        words = shlex.split(example)
        assert words[: len(path.split())] == path.split()
        given = words[len(path.split()) :]
        # A wrong option, argument or value raises.
        ALL[path].make_context(path, given)


def test_options_show_their_defaults_and_variables(capsys: pytest.CaptureFixture[str]) -> None:
    main(["publish", "--help"])

    out = capsys.readouterr().out
    assert "[default 10]" in out
    assert "Usage: aerolog publish CHANNEL STREAM [OPTIONS]" in out
    assert out.index("Arguments:") < out.index("Options:") < out.index("Examples:")
    assert out.index("Examples:") < out.index("Connection (or variables")


def test_required_options_are_in_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", "--help"])

    out = capsys.readouterr().out
    assert "Usage: aerolog export [ID...] --to DIR [OPTIONS]" in out
    assert "[required]" in out


def test_a_long_name_stands_above_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    main(["recordings", "replicate", "--help"])

    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  --source-response-channel CHANNEL")
    assert lines[at + 1].strip() == "Where the source answers the archive."


def test_the_help_of_every_option_that_takes_a_time_says_the_rule() -> None:
    options = {
        (path, option.opts[0])
        for path, command in ALL.items()
        for option in command.params
        if TIME_RULE in (getattr(option, "help", None) or "")
    }

    assert options == {
        ("catalog search", "--since"),
        ("catalog search", "--until"),
        ("errors", "--since"),
        ("recordings times", "--at"),
        ("replay", "--from"),
        ("retention hold", "--until"),
    }
