"""The archive from a command line: what it says, where, and how it exits."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from shared_memory import memory_path

from aerolog.archive.service import main_archive, main_archiving_driver

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folders(tmp_path: Path):
    """Options for an Aeron directory and an archive folder of the test's own."""
    aeron_dir = memory_path("main")
    yield [f"-Daeron.dir={aeron_dir}", f"-Daeron.archive.dir={tmp_path / 'archive'}"]
    shutil.rmtree(aeron_dir, ignore_errors=True)


@pytest.mark.parametrize("main", [main_archive, main_archiving_driver])
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-Daeron.archive.segment.file.length=100k"], "not a power of 2"),
        (["-Daeron.archive.threading.mode=INVOKER"], "INVOKER is for embedded archives"),
        (["--what"], "unknown option '--what'"),
        (["/no/such/file.properties"], "loading properties from /no/such/file.properties"),
    ],
    ids=["range", "invoker", "option", "file"],
)
def test_unusable_arguments_exit_2(main, arguments, text, folders, capsys) -> None:
    assert main(folders + arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert text in output.err


def test_a_driver_that_nobody_turns_is_refused(folders, capsys) -> None:
    assert main_archiving_driver([*folders, "-Daeron.threading.mode=INVOKER"]) == 2
    assert "aeron.threading.mode=INVOKER" in capsys.readouterr().err


def test_no_driver_exits_1(folders, capsys) -> None:
    assert main_archive([*folders, "-Daeron.driver.timeout=50"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("ERROR: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_0_after_one_line(folders, number: int) -> None:
    code = (
        "import sys; from aerolog.archive.service import main_archiving_driver as main;"
        " sys.exit(main(sys.argv[1:]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *folders],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "/nonexistent"},
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("aerolog archiving driver ready: ")
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
