"""``--debug``: the same message and exit code, with the traceback before them."""

import errno
import os
from pathlib import Path

import pytest

from aerolog.tools.command_line import invocation
from aerolog.tools.main import main


@pytest.mark.parametrize("place", [0, 1, 2, 4])
def test_it_shows_where_an_error_comes_from_wherever_it_stands(
    place: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["recordings", "list", "--archive-dir", str(tmp_path / "none")]
    assert main(arguments) == 1
    message = capsys.readouterr().err

    assert main([*arguments[:place], "--debug", *arguments[place:]]) == 1

    shown = capsys.readouterr().err
    assert shown.startswith("Traceback (most recent call last):\n")
    assert shown.endswith(message)
    assert "Traceback" not in message


def test_the_variable_does_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AEROLOG_TRACEBACK", "1")

    assert main(["recordings", "list", "--archive-dir", str(tmp_path / "none")]) == 1

    assert capsys.readouterr().err.startswith("Traceback")


def test_behind_two_dashes_it_is_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", "--", "--debug", "1"]) == 2

    shown = capsys.readouterr().err
    assert "found: --debug" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (KeyError("x"), "a fault of aerolog itself: KeyError: 'x'; --debug shows where"),
        (RuntimeError("a\nb"), "a fault of aerolog itself: RuntimeError: a b; --debug shows where"),
        (ZeroDivisionError(), "a fault of aerolog itself: ZeroDivisionError; --debug shows where"),
    ],
)
def test_a_fault_of_the_program_is_a_line_and_exits_70(
    fault: Exception,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> None:
        raise fault

    monkeypatch.setattr(invocation, "application", broken)

    assert main(["export"]) == 70
    assert capsys.readouterr().err == f"aerolog: {told}\n"

    assert main(["export", "--debug"]) == 70
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert "in broken" in shown
    assert "--debug" not in shown


@pytest.mark.parametrize(
    ("error", "free", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/tmp/x"), 9, "No space left on device"),
        (
            OSError(errno.ENOSPC, "No space left on device", "/tmp/x"),
            0,
            "the file system has no inodes left for more files, remove some",
        ),
        (ValueError("embedded null byte"), 9, "the name of a file has a zero byte"),
    ],
)
def test_an_error_says_what_is_lacking(
    error: Exception,
    free: int,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> None:
        raise error

    monkeypatch.setattr(invocation, "application", broken)
    found = os.statvfs_result((4096, 4096, 10, 10, 10, 10, free, free, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _path: found)

    assert main(["export"]) == 1
    assert capsys.readouterr().err.endswith(f"{told}\n")


@pytest.mark.parametrize("service", ["driver", "archive", "archiving-driver"])
def test_a_service_that_cannot_start_shows_where(
    service: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AEROLOG_TRACEBACK", raising=False)
    (tmp_path / "file").touch()
    arguments = [
        service, f"-Daeron.dir={tmp_path / 'file' / 'aeron'}",
        f"-Daeron.archive.dir={tmp_path / 'file' / 'archive'}", "-Daeron.driver.timeout=1",
    ]  # fmt: skip
    code = main(arguments)
    message = capfd.readouterr().err
    assert code in {1, 2}
    assert message.startswith("ERROR: ")

    assert main([*arguments, "--debug"]) == code

    shown = capfd.readouterr().err
    assert "Traceback (most recent call last):\n" in shown
    assert "Traceback" not in message
    assert "AEROLOG_TRACEBACK" not in os.environ
