"""What a start loads: nothing that takes longer to load than the command takes to run."""

import os
import subprocess
import sys

import pytest

#: Top-level modules that no help, no completion and no light command needs.
HEAVY = {
    "numpy", "pyarrow", "pandas", "polars", "duckdb", "pyspark", "sqlalchemy", "alembic",
    "rich", "textual", "prometheus_client", "opentelemetry", "requests", "google",
    "sphinx", "zmq", "asyncio", "multiprocessing", "sqlite3",
}  # fmt: skip

EVERY_HELP = """
import io, sys
from contextlib import redirect_stdout
from aerolog.tools.command_line.application import COMMANDS
from aerolog.tools.main import main
heavy = {heavy!r}
for arguments in ([], *([name] for name in COMMANDS)):
    with redirect_stdout(io.StringIO()):
        assert main([*arguments, "--help"]) == 0
    found = sorted(heavy & set(sys.modules))
    if found:
        print(" ".join(arguments), "loads", *found)
        break
"""

ONE = """
import io, sys
from contextlib import redirect_stdout
from aerolog.tools.main import main
with redirect_stdout(io.StringIO()):
    assert main({arguments!r}) == 0
print(*sorted({heavy!r} & set(sys.modules)))
"""


def output(code: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_no_help_loads_a_heavy_library() -> None:
    # The last one is what Typer needs to look at arguments: help has none.
    assert output(EVERY_HELP.format(heavy=HEAVY | {"pydantic"})) == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["__complete", "bash", "aerolog recordings list --arch", "--arch"],
        ["__complete", "bash", "aerolog driver -Daeron.th", "-Daeron.th"],
        ["completion", "fish"],
        ["man", "tail"],
    ],
)
def test_a_light_command_loads_none_either(arguments: list[str]) -> None:
    assert output(ONE.format(arguments=arguments, heavy=HEAVY)) == ""


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["tail", "--help"], ["nothing"], ["tail"], ["recordings", "list", "--limit"]],
)
def test_nothing_is_coloured_where_there_is_no_terminal(
    arguments: list[str],
) -> None:
    kept = {k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "NO_COLOR", "TERM"}}
    ran = subprocess.run(
        [sys.executable, "-m", "aerolog.tools.main", *arguments],
        capture_output=True,
        timeout=60,
        check=False,
        env=kept | {"TERM": "xterm-256color"},
    )

    assert ran.stdout or ran.stderr
    assert b"\x1b" not in ran.stdout + ran.stderr
