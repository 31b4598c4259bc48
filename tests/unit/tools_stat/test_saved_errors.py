"""Errors from files: texts that a driver or archive saved, bytes of a log, whole cnc.dat files."""

import json
from pathlib import Path

import pytest

from aerolog.tools.stat.error_forms import parse_saved
from aerolog.transport.memory.error_log import ErrorObservation
from aerolog.transport.memory.error_text import format_error_log

from .made_up import MadeUpDriver

JAVA = ErrorObservation(3, 1_700_000_000_123, 1_700_000_009_999, "a.B: text\n\tat x\n\n\tat y\n")
PLAIN = ErrorObservation(1, 1_700_000_000_000, 1_700_000_000_000, "one line")
TRICKY = ErrorObservation(2, 5, 6, "says\n2 distinct errors observed.\nin its text")


@pytest.mark.parametrize("errors", [[], [JAVA], [PLAIN, JAVA, PLAIN], [TRICKY, PLAIN]])
def test_a_saved_text_is_read_back(errors) -> None:
    assert parse_saved(format_error_log(errors)) == errors


def test_a_text_that_is_cut_off_gives_what_is_there() -> None:
    text = format_error_log([PLAIN, JAVA])

    assert parse_saved(text[: text.index("\tat x")]) == [
        PLAIN,
        ErrorObservation(3, JAVA.first_ms, JAVA.last_ms, "a.B: text"),
    ]


def test_times_that_are_none_are_no_fault() -> None:
    (found,) = parse_saved("\n4 observations from now to then for:\ntext\n\n")

    assert (found.count, found.first_ms, found.last_ms) == (4, -1, -1)


def texts(aerolog, path: Path, *more: object) -> list[str]:
    ran = aerolog("errors", "--file", path, *more, "--json")
    assert (ran.code, ran.err) == (0, "")
    return [error["text"] for error in json.loads(ran.out)["errors"]]


def test_each_kind_of_file_is_known(aerolog, driver: MadeUpDriver, tmp_path: Path) -> None:
    driver.error_log.record("in the log")
    cnc = driver.folder / "cnc.dat"
    lengths = driver.cnc.header.lengths
    offset = lengths.total - lengths.error_log
    section = tmp_path / "section"
    section.write_bytes(cnc.read_bytes()[offset:])
    saved = tmp_path / "saved-error.log"
    saved.write_text(format_error_log([PLAIN]))

    assert texts(aerolog, cnc) == ["in the log"]
    assert texts(aerolog, cnc, "--offset", offset) == ["in the log"]
    assert texts(aerolog, section) == ["in the log"]
    assert texts(aerolog, saved) == ["one line"]


def test_a_file_that_is_missing_or_short_is_told(aerolog, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()

    for path, more in ((tmp_path / "nix", ()), (empty, ()), (tmp_path, ())):
        ran = aerolog("errors", "--file", path, *more)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)


def test_errors_of_an_archive_need_its_mark_file(aerolog, tmp_path: Path) -> None:
    from aerolog.testing.recordings import RecordingBuilder

    RecordingBuilder().write(tmp_path)

    ran = aerolog("errors", "--archive-dir", tmp_path)

    assert ran.code == 1
    assert "no mark file" in ran.err
