"""The command as a process: exit codes, extras that are missing, what it loads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aerolog.tools.command_line.application import COMMANDS
from aerolog.tools.main import main

RUN = "import sys; from aerolog.tools.main import main; code = main(sys.argv[1:]); "


def python(code: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environ},
    )


def without(*modules: str) -> str:
    """Code that makes modules as good as not installed."""
    return f"""
import importlib.util, sys
missing = {set(modules)!r}
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in missing else find(name, *more)
class Hidden:
    def find_spec(self, name, *more):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
"""


def test_the_overview_names_every_command_and_loads_none() -> None:
    ran = python(
        RUN + "loaded = [m for m in sys.modules if m.endswith(('_command', '_commands'))]; "
        "print(loaded, code)",
        "--help",
    )

    assert ran.stdout.rstrip().endswith("[] 0")
    for name in COMMANDS:
        assert name in ran.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["export", "--help"]])
def test_nothing_heavy_is_loaded_at_start(arguments: list[str]) -> None:
    ran = python(
        RUN + "heavy = {'numpy', 'pyarrow', 'pandas', 'polars', 'pyspark', 'zmq', 'rich'}; "
        "print(sorted(heavy & set(sys.modules)))",
        *arguments,
    )

    assert ran.stdout.rstrip().endswith("[]")
    assert ran.returncode == 0


def test_help_starts_and_ends_quickly() -> None:
    # Processor time of the child, beside what an empty program takes on the same machine.
    spent = "import time; print(time.process_time())"

    def quickest(code: str) -> float:
        return min(float(python(code, "--help").stdout.split()[-1]) for _ in range(3))

    assert quickest(RUN + spent) < 15 * quickest(spent)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0

    printed = capsys.readouterr()
    assert f"Usage: aerolog {name}" in printed.out
    assert printed.err == ""


def test_no_command_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Usage: aerolog" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nope"], "nope"),
        (["--nope"], "--nope"),
        (["publish"], "CHANNEL"),
        (["publish", "aeron:ipc"], "STREAM"),
        (["publish", "http://x", "1"], "Aeron URIs must start with 'aeron:', found: http://x"),
        (["publish", "aeron:ipc?a", "1"], "no more input found"),
        (["publish", "aeron:ipc", "x"], "STREAM"),
        (["publish", "aeron:ipc", "2147483648"], "STREAM"),
        (["publish", "aeron:ipc", "1", "--count", "-1"], "--count"),
        (["publish", "aeron:ipc", "1", "--size", "1kb"], "1kb"),
        (["publish", "aeron:ipc", "1", "--size", "0"], "--size must be more than 0"),
        (["publish", "aeron:ipc", "1", "--size", "8", "--file", "-"], "--size"),
        (["publish", "aeron:ipc", "1", "--size", "8", "--frame-size", "8"], "--size"),
        (["publish", "aeron:ipc", "1", "--rate", "0"], "--rate"),
        (["subscribe", "aeron:ipc", "1", "--format", "xml"], "xml"),
        (["subscribe", "aeron:ipc", "1", "--count", "0"], "--count"),
        (["record", "aeron:ipc", "1", "--duration", "soon"], "soon"),
        (["record", "aeron:ipc", "1", "--messages", "0"], "--messages"),
        (["record", "aeron:ipc", "1", "--control-channel", "x"], "Aeron URIs must start"),
        (["recordings", "describe"], "ID"),
        (["recordings", "describe", "-1"], "-1"),
        (["recordings", "extend", "1", "aeron:ipc"], "STREAM"),
        (["replay", "0", "--channel", "aeron:ipc"], "--stream"),
        (["replay", "0", "--stream", "1"], "--channel"),
        (["replay", "0", "--channel", "aeron:ipc", "--stream", "1", "--format", "raw"], "--format"),
        (["replay", "0", "--archive-dir", "x", "--follow"], "--follow"),
        (["replay", "0", "--length", "0"], "--length"),
        (["export", "0"], "--to"),
        (["export", "--to", "x"], "ID"),
        (["driver", "--nope"], "--nope"),
        (["driver", "-Dfoo"], "foo"),
        (["archive", "-x"], "-x"),
        (["archiving-driver", "--aeron-dir", "x", "-Dfoo"], "foo"),
    ],
)
def test_wrong_usage_exits_2_and_names_what_was_wrong(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    printed = capsys.readouterr()
    assert named in printed.err
    assert printed.out == ""


def test_a_failure_is_a_line_on_stderr_and_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recordings", "list", "--archive-dir", str(tmp_path / "none")]) == 1

    printed = capsys.readouterr()
    assert printed.err.startswith("aerolog: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_without_a_driver_a_client_command_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["subscribe", "aeron:ipc", "1", "--driver-timeout", "0.2s"]

    assert main([*arguments, "--aeron-dir", str(tmp_path / "none")]) == 1

    assert str(tmp_path / "none") in capsys.readouterr().err


def test_a_file_that_is_not_there_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["publish", "aeron:ipc", "1", "--file", str(tmp_path / "none")]

    assert main(arguments) == 1

    assert f"{tmp_path / 'none'}: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_cli_extra_it_is_named_and_exits_2(missing: str) -> None:
    ran = python(without(missing) + RUN + "sys.exit(code)", "driver")

    assert ran.returncode == 2
    assert "pip install 'aerolog[cli]'" in ran.stderr
    assert missing in ran.stderr
    assert ran.stdout == ""


def test_without_the_arrow_extra_export_names_it_and_exits_2(tmp_path: Path) -> None:
    ran = python(
        without("pyarrow", "numpy") + RUN + "sys.exit(code)",
        "export", "0", "--to", str(tmp_path / "out"), "--archive-dir", str(tmp_path),
    )  # fmt: skip

    assert ran.returncode == 2
    assert "pip install 'aerolog[arrow]'" in ran.stderr
    assert not (tmp_path / "out").exists()


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    from aerolog._version import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"aerolog {__version__}\n"


def test_output_that_nobody_reads_is_no_failure() -> None:
    read, write = os.pipe()
    os.close(read)

    ran = subprocess.run(
        [sys.executable, "-m", "aerolog.tools.main", "--version"],
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(write)

    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_wrong_environment_value_is_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AERON_ARCHIVE_CONTROL_STREAM_ID", "ten")

    assert main(["recordings", "list"]) == 2

    assert "AERON_ARCHIVE_CONTROL_STREAM_ID" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "closed", "code"),
    [
        ("--version", ">&-", 0),
        ("recordings list --archive-dir .", ">&- 2>&-", 1),
        ("passwords set users ann", "<&-", 2),
        ("retention apply --everything --max-age 1s", "<&-", 2),
        ("top", "<&-", 1),
    ],
)
def test_a_standard_stream_may_be_closed(
    tmp_path: Path, arguments: str, closed: str, code: int
) -> None:
    ran = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m aerolog.tools.main {arguments} {closed}'],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, b"Traceback" in ran.stderr) == (code, False), ran.stderr


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT", "SIGHUP"])
@pytest.mark.parametrize(
    ("module", "argument", "exit_code"),
    [
        ("aerolog", "--version", 0),
        ("aerolog.transport.driver", "--wrong", 2),
        ("aerolog.archive.service", "--wrong", 2),
    ],
)
def test_a_signal_that_comes_after_the_work_changes_no_exit_code(
    module: str, argument: str, exit_code: int, number: str
) -> None:
    """As with a node that ends by itself at the moment in which an operator ends it."""
    code = (
        "import atexit, os, runpy, signal, sys;"
        f"atexit.register(lambda: os.kill(os.getpid(), signal.{number}));"
        f"sys.argv[0] = {module!r};"
        f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )
    assert python(code, argument).returncode == exit_code
