"""The archive tool starts without the command line's machinery, and ends as with it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from aerolog.tools.reference.archive_tool.plain_archive_tool import plain_arguments

if TYPE_CHECKING:
    from pathlib import Path

_LOADED = (
    "import sys; from aerolog.tools.main import main; code = main(sys.argv[1:]);"
    "print(sorted({'typer', 'rich', 'pydantic'} & sys.modules.keys()), file=sys.stderr);"
    "sys.exit(code)"
)


@pytest.mark.parametrize(
    ("arguments", "code", "out"),
    [(["describe"], 0, "INFO: mark"), (["pid"], 0, "4242"), ([], 255, "Usage")],
)
@pytest.mark.parametrize("form", [[], ["--classic"]], ids=str)
def test_nothing_of_the_machinery_is_loaded(
    folder: Path, arguments: list[str], code: int, out: str, form: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, "archive-tool", *form, str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "AEROLOG_TRACEBACK"},
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (code, "[]")
    assert done.stdout.startswith(out)


@pytest.mark.parametrize(
    "arguments",
    [
        ["archive-tool", "x", "describe", "--json"],
        ["archive-tool", "x", "compact", "--dry-run"],
        ["archive-tool", "--classic", "--help"],
        ["archive-tool", "--classic", "x", "pid", "--debug"],
        ["archive-tool", "--classic", "--json", "x", "pid"],
    ],
)
def test_the_rest_is_left_to_the_machinery(arguments: list[str]) -> None:
    assert plain_arguments(arguments) is None


def test_flags_of_the_reference_are_arguments() -> None:
    given = ["x", "verify", "-a", "-checksum", "CRC-32"]
    assert plain_arguments(["archive-tool", *given]) == given
    assert plain_arguments(["archive-tool", "--classic", *given]) == given
    assert plain_arguments(["archive-tool", *given, "--classic"]) == given
