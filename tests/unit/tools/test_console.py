"""Tables, JSON and progress, on pipes and terminals."""

import json
import os
import pty
import subprocess
import sys

import pytest

from aerolog.tools.terminal import console


def test_a_table_in_a_pipe_has_a_row_a_line_whatever_its_width(
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = "aeron:udp?alias=" + "x" * 300

    console.print_table(["id", "channel"], [[1, long], [22, "[bold]aeron:ipc[/]"]], right=["id"])

    heading, first, second = capsys.readouterr().out.splitlines()
    assert heading.split() == ["id", "channel"]
    assert first.split() == ["1", long]
    assert second.split() == ["22", "[bold]aeron:ipc[/]"]


def test_fields_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_fields({"name": "[x]", "none": None})

    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["name", "[x]"],
        ["none"],
    ]


def test_json_keeps_the_order_and_every_character(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({"b": "\u00e4", "a": None})
    console.print_json_line({"x": 1})

    document, line = capsys.readouterr().out.rsplit("\n", 2)[:2]
    assert json.loads(document) == {"b": "\u00e4", "a": None}
    assert document.index('"b"') < document.index('"a"')
    assert line == '{"x": 1}'


def test_progress_in_a_pipe_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress("working", 10) as bar:
        bar.update(5)
    with console.position_progress("reading", 64, 128) as on_position:
        on_position(128)

    assert capsys.readouterr() == ("", "")


PROGRAM = """
from aerolog.tools.terminal import console
console.print_table(["column"], [["value"]])
with console.progress("working", 10) as bar:
    bar.update(5)
"""


def on_a_terminal(**environ: str) -> bytes:
    """What a program writes when stdout and stderr are a terminal."""
    ours, theirs = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "FORCE_COLOR"}}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**clean, "TERM": "xterm-256color", **environ},
    ) as child:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # how a terminal says that the other side is gone
                break
            if not part:
                break
            written += part
        assert child.wait(30) == 0
    os.close(ours)
    return written


def test_a_terminal_gets_colour_and_progress() -> None:
    written = on_a_terminal()

    assert b"\x1b[1m" in written
    assert b"working" in written


def test_no_color_is_respected() -> None:
    written = on_a_terminal(NO_COLOR="1")

    assert b"value" in written
    assert b"\x1b[3" not in written
    assert b"\x1b[9" not in written
