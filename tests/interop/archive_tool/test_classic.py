"""The classic form says what the reference's tool says, on the same files."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

import pytest
from archive_tool_runs import agree, file_states, reference_says, synopses, we_say
from damaged_archives import CATALOG_DAMAGES, MARK_DAMAGES, cut, put, put_in_entry

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.protocol.enums import RecordingState
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.cnc_header import CncHeader, CncLengths
from aerolog.transport.memory.error_log import DistinctErrorLog
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

#: Recording 6 is DELETED and has no files: the reference's dump ends there with an exception.
DELETED, INVALID = 6, 10


CNC_DAMAGES: dict[str, Callable[[Path], None]] = {
    "sound": put("cnc.dat", "i", 0, 0x200),
    "not initialised": put("cnc.dat", "i", 0, 0),
    "other version": put("cnc.dat", "i", 0, 1 << 16),
    "cut in its header": cut("cnc.dat", 100),
    "cut in its counters": cut("cnc.dat", 5_000_000),
}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("describe", 0),
        ("describe-all 1 2", 0),
        ("describe 6", 0),
        ("describe 99", 1),
        ("describe x", 1),
        ("pid", 0),
        ("errors", 1),
        ("count-entries", 0),
        ("max-entries 7", 0),
        ("dump 0", 1),
        ("dump 9223372036854775808", 1),
    ],
)
def test_the_golden_folder(folder: Path, command: str, code: int) -> None:
    before = file_states(folder)
    assert agree(folder, *command.split()).code == code
    assert file_states(folder) == before


@pytest.mark.parametrize("arguments", [["capacity"], ["pid", "x"], ["mark-valid"], []], ids=str)
def test_wrong_usage(folder: Path, arguments: list[str]) -> None:
    theirs, ours = reference_says(folder, *arguments), we_say(folder, *arguments)
    assert (ours.code, ours.err) == (theirs.code, theirs.err) == (255, "ERR: Invalid command\n")
    assert synopses(ours.out) == synopses(theirs.out)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    theirs, ours = reference_says(missing, "describe"), we_say(missing, "describe")
    assert (ours.code, ours.err) == (theirs.code, theirs.err)
    assert theirs.code == 255


@pytest.mark.parametrize("limit", [[], ["3"]], ids=str)
def test_dumps(folder: Path, limit: list[str]) -> None:
    for index in (DELETED, INVALID):
        put_in_entry(index, "i", 4, RecordingState.VALID)(folder)
    put_in_entry(DELETED, "q", 32 + 48, 0)(folder)  # empty: it has no segments
    assert agree(folder, "dump", *limit).code == 0


def test_a_dump_does_not_end_at_a_deleted_recording(folder: Path) -> None:
    theirs, ours = reference_says(folder, "dump", "2"), we_say(folder, "dump", "2")
    same = theirs.out[: theirs.out.index("Recording 6\n")]
    assert ours.out.startswith(same)
    assert (theirs.code, ours.code) == (1, 0)
    assert re.findall(r"^Recording (\d+)$", ours.out, re.MULTILINE) == [str(i) for i in range(15)]


@pytest.mark.parametrize("damage", CATALOG_DAMAGES.values(), ids=CATALOG_DAMAGES)
def test_damaged_catalogs(folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder)
    before = file_states(folder)
    ours = we_say(folder, "describe-all")
    assert file_states(folder) == before
    assert ours == reference_says(folder, "describe-all")


@pytest.mark.parametrize("damage", MARK_DAMAGES.values(), ids=MARK_DAMAGES)
def test_damaged_mark_files(folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder)
    before = file_states(folder)
    assert we_say(folder, "errors") == reference_says(folder, "errors")
    assert file_states(folder) == before


def test_error_logs(folder: Path) -> None:
    mapped = MappedFile.open(str(folder / "archive-mark.dat"))
    log = DistinctErrorLog(mapped, 8192, 1024 * 1024, SystemClock())
    for text in ("java.lang.Error: one\n\tat some.Place\n", "two", "two"):
        log.record(text)
    theirs = agree(folder, "errors")
    assert "2 distinct errors observed." in theirs.out
    assert "\n2 observations from " in theirs.out


@pytest.mark.parametrize("damage", CNC_DAMAGES.values(), ids=CNC_DAMAGES)
def test_error_logs_of_drivers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(folder.parent)  # the folder's archive had its driver in "aeron"
    aeron_dir = folder.parent / "aeron"
    aeron_dir.mkdir()
    header = CncHeader(CncLengths.of(), 10_000_000_000, 1_700_000_000_000, 1)
    cnc = CncFile.create(RealFileSystem(), str(aeron_dir), header)
    cnc.error_log(SystemClock()).record("java.lang.Error: of the driver\n\tat some.Place\n")
    damage(aeron_dir)
    before = file_states(aeron_dir)
    agree(folder, "errors")
    assert file_states(aeron_dir) == before


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [
        (64, "i", 1 << 20),
        (64, "i", 5),
        (64, "i", -5),
        (70, "H", 7),
        (69, "B", 0x41),
        (11936, "i", 60000),
    ],
    ids=str,
)
def test_dumps_of_damaged_segments(folder: Path, at: int, form: str, value: int) -> None:
    CATALOG_DAMAGES["negative length"](folder)  # three recordings remain
    put("0-0.rec", form, at, value)(folder)
    assert "Recording 0" in agree(folder, "dump", "100").out


def test_folders_of_ours(tmp_path: Path, folder: Path) -> None:
    random = Random(1)
    ours = tmp_path / "ours"
    ours.mkdir()
    for start_position, segment_length in ((0, 64 * 1024), (69632, 256 * 1024)):
        builder = RecordingBuilder(start_position=start_position, segment_length=segment_length)
        for _ in range(60):
            builder.add(random.randbytes(random.choice([0, 1, 500, 5000])))
        builder.write(ours)
        builder.write(ours, stopped=False)
    (ours / "archive-mark.dat").write_bytes((folder / "archive-mark.dat").read_bytes())
    with CatalogFile.open(ours) as catalog:
        catalog.change_state(2, RecordingState.INVALID)
    assert agree(ours, "describe-all").code == 0
    with CatalogFile.open(ours) as catalog:
        assert len(catalog) == 3
    put_in_entry(2, "i", 4, RecordingState.VALID)(ours)
    assert agree(ours, "dump").code == 0
