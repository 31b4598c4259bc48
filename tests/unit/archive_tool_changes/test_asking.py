"""What would change in a folder is shown, and nothing is done without a yes."""

from __future__ import annotations

import errno
import json
import os
import re
from functools import partial
from typing import TYPE_CHECKING

import pytest
import typer
from archive_tool_runs import file_states
from mark_headers import archive_header
from old_archives import new_mark
from unprivileged import forbid, run_unprivileged

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.archive_files.checked_files import open_catalog
from aerolog.tools.main import main
from aerolog.tools.recordings import folder_changes
from aerolog.tools.reference.archive_tool.archive_tool_table import COMMANDS
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHANGING = [
    ("checksum", "CRC-32C", "--all"),
    ("compact",),
    ("delete-orphaned",),
    ("mark-invalid", "0"),
    ("mark-valid", "3"),
]


def states(folder: Path) -> dict[int, int]:
    with CatalogReader.open(folder) as catalog:
        return {entry.descriptor.recording_id: entry.state for entry in catalog.entries()}


@pytest.fixture
def with_orphan(folder: Path) -> Path:
    (folder / "0-1048576.rec").write_bytes(bytes(65536))
    return folder


@pytest.mark.parametrize("command", CHANGING)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_dry_run_changes_nothing_and_says_what_it_would(
    command: tuple[str, ...], as_json: bool, with_orphan: Path, tool: Callable
) -> None:
    before = file_states(with_orphan)
    done = tool(*command, dry_run=True, as_json=as_json)
    assert done.code in {0, 1}
    assert file_states(with_orphan) == before
    if as_json:
        assert json.loads(done.out)["dry_run"] is True
    else:
        assert "Traceback" not in done.out + done.err
        assert done.out


@pytest.mark.parametrize("command", CHANGING)
@pytest.mark.parametrize("answer", ["n\n", "\n", "nonsense\n", ""])
def test_without_a_yes_nothing_changes(
    command: tuple[str, ...], answer: str, with_orphan: Path, tool: Callable
) -> None:
    before = file_states(with_orphan)
    with pytest.raises(typer.Exit) as left:
        tool(*command, answers=answer)
    assert left.value.exit_code == 1
    assert file_states(with_orphan) == before


@pytest.mark.parametrize("command", CHANGING)
def test_without_a_terminal_nobody_is_asked(
    command: tuple[str, ...], with_orphan: Path, tool: Callable
) -> None:
    before = file_states(with_orphan)
    with pytest.raises(typer.BadParameter, match="--yes"):
        tool(*command)
    assert file_states(with_orphan) == before


@pytest.mark.parametrize("command", CHANGING)
def test_a_yes_does_what_the_switch_does(
    command: tuple[str, ...], with_orphan: Path, tool: Callable
) -> None:
    before = file_states(with_orphan)
    done = tool(*command, answers="yes\n")
    assert done.code == 0
    assert "Go on? [y/N]: " in done.err
    assert file_states(with_orphan) != before
    assert states(with_orphan) != {} or command[0] == "compact"


@pytest.mark.parametrize("command", ["compact", "checksum CRC-32", "upgrade"])
def test_what_harms_a_running_archive_is_refused(
    command: str, folder: Path, tool: Callable
) -> None:
    running = new_mark(folder)
    before = file_states(folder)
    with pytest.raises(AerologError, match="an archive runs there, process 4321"):
        tool(*command.split(), yes=True)
    assert file_states(folder) == before
    assert tool(*command.split(), dry_run=True).code == 0
    assert running.is_owned


def test_an_archive_that_ended_does_not_stand_in_the_way(folder: Path, tool: Callable) -> None:
    new_mark(folder).terminated()
    assert tool("compact", yes=True).code == 0
    assert set(states(folder)) == {0, 1, 2}


def test_the_catalog_file_becomes_longer_and_never_shorter(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "archive.catalog"
    before = path.stat().st_size

    def told(*arguments: str) -> str:
        assert main(["recordings", "capacity", *arguments, "--archive-dir", str(folder)]) == 0
        return capsys.readouterr().out

    assert told() == f"{before}\n"
    assert told("2m", "--dry-run") == f"{before} -> {2 << 20}\n"
    assert path.stat().st_size == before
    assert told("2m") == f"{before} -> {2 << 20}\n"
    assert path.stat().st_size == 2 << 20
    assert json.loads(told("4k", "--json"))["capacity"] == 2 << 20
    assert states(folder).keys() == set(range(5))
    assert main(["recordings", "capacity", "1", "--archive-dir", str(folder)]) == 2


@pytest.mark.parametrize(
    "command", ["checksum foo", "checksum CRC-32 x", "mark-valid x", "delete-orphaned 1 2"]
)
def test_arguments_that_make_no_sense_are_usage_errors(command: str, folder: Path) -> None:
    before = file_states(folder)
    assert main(["recordings", *command.split(), "--yes", "--archive-dir", str(folder)]) == 2
    assert file_states(folder) == before


@pytest.mark.parametrize("command", [*CHANGING, ("upgrade",)])
def test_what_is_no_folder_of_an_archive_is_told(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, told in (("missing", "there is no such folder"), (".", "has no archive.catalog")):
        at = str(tmp_path / path)
        assert main(["recordings", *command, "--yes", "--archive-dir", at]) == 1
        assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_compact_keeps_every_valid_recording_as_it_is(folder: Path, tool: Callable) -> None:
    with CatalogReader.open(folder) as catalog:
        before = {i: catalog.descriptor(i) for i in catalog.ids()}
    kept = {p.name: p.read_bytes() for p in folder.glob("*.rec") if p.name[0] in "012"}
    done = tool("compact", yes=True)
    assert done.out.startswith("removed 2 recordings and 1 segment files")
    with CatalogReader.open(folder) as catalog:
        assert {i: catalog.descriptor(i) for i in catalog.ids()} == before
        assert catalog.next_recording_id == 5
    assert {p.name: p.read_bytes() for p in folder.glob("*.rec")} == kept


def test_checksums_that_are_stored_are_found_right(
    folder: Path, tool: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool("checksum", "CRC-32C", "--all", yes=True).code == 0
    verify = ["verify", "--archive-dir", str(folder), "--checksum", "CRC-32C"]
    assert main(verify) == 0
    data = bytearray((folder / "0-0.rec").read_bytes())
    data[100] ^= 1
    (folder / "0-0.rec").write_bytes(data)
    capsys.readouterr()
    assert main([*verify, "0"]) == 1
    assert "checksum" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", ["mark-invalid 9", "mark-valid 9", "mark-valid 4", "checksum CRC-32 9"]
)
def test_what_cannot_be_done_says_why_in_words(command: str, folder: Path, tool: Callable) -> None:
    before = file_states(folder)
    with pytest.raises(AerologError) as error:
        tool(*command.split(), yes=True)
    assert "java" not in str(error.value)
    assert file_states(folder) == before


@pytest.fixture
def unreadable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets the segments of recording 1 fail with an error number."""
    opened = RealFileSystem.open_data_file

    def fail_with(number: int) -> None:
        def open_data_file(files: RealFileSystem, path: str, **options: bool) -> object:
            if path == f"{folder}/1-0.rec":
                raise OSError(number, os.strerror(number), path)
            return opened(files, path, **options)

        monkeypatch.setattr(RealFileSystem, "open_data_file", open_data_file)

    return fail_with


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_the_references_tool_leaves_the_entry_of_what_cannot_be_read(
    number: int, folder: Path, classic: Callable, unreadable: Callable
) -> None:
    before = states(folder)[1]
    unreadable(number)

    done = classic("verify", "1")

    assert done.code == 255
    assert "ERR: " in done.out
    assert states(folder)[1] == before


def test_a_disk_that_does_not_answer_is_no_matter_of_permission(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: str, number: int) -> None:
        raise OSError(number, os.strerror(number))

    for number, remedy in ((errno.EIO, "look at the disk"), (errno.EACCES, "run as a user who")):
        monkeypatch.setattr(CatalogReader, "open", partial(fails, number=number))
        with pytest.raises(AerologError, match=remedy):
            open_catalog(str(folder))


def test_where_the_mark_file_cannot_be_read_nothing_is_changed(folder: Path) -> None:
    (folder / "archive-mark.dat").write_bytes(bytes(8192))
    forbid(folder / "archive-mark.dat")
    before = file_states(folder)
    for command in (("compact",), ("mark-invalid", "1")):
        done = run_unprivileged("recordings", *command, "--yes", "--archive-dir", folder)
        assert (done.returncode, done.stdout) == (1, "")
        assert "archive-mark.dat cannot be read: Permission denied" in done.stderr
    assert file_states(folder) == before


def test_the_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["archive-tool", "--help"]) == 0

    text = capsys.readouterr().out.replace("-\n", "-").partition("Tables, dry runs")[0]
    looking, changing = text.replace("\n", " ").split("Commands that ")[1:]
    for part, changes in ((looking, False), (changing, True)):
        words = set(re.findall(r"[a-z-]+", part.partition(":")[2]))
        assert words == {name for name, one in COMMANDS.items() if one.changes == changes}


def while_asked(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    def agreed(*_: object) -> bool:
        happens()
        return True

    monkeypatch.setattr(folder_changes, "is_agreed", agreed)


def test_a_segment_that_was_attached_while_it_was_asked_stays(
    with_orphan: Path, tool: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extend() -> None:
        with CatalogFile.open(with_orphan, capacity=4096) as catalog:
            catalog.extend_recording(0, 0, 0, catalog.descriptor(0).session_id)

    while_asked(monkeypatch, extend)
    before = {path.name for path in with_orphan.glob("*.rec")}
    done = tool("delete-orphaned", "0", yes=True)
    assert (done.code, "1 belong to their recordings by now" in done.out) == (0, True)
    assert {path.name for path in with_orphan.glob("*.rec")} == before


def test_a_catalog_that_changes_while_it_is_asked_is_not_compacted(
    folder: Path, tool: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change() -> None:
        with CatalogFile.open(folder, capacity=4096) as catalog:
            catalog.change_state(0, RecordingState.INVALID)

    while_asked(monkeypatch, change)
    with pytest.raises(AerologError, match="has changed since the plan"):
        tool("compact", yes=True)
    assert states(folder)[0] == RecordingState.INVALID


def test_an_archive_that_is_started_while_it_is_asked_keeps_its_catalog(
    folder: Path, tool: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks: list[ArchiveMarkFile] = []

    def start() -> None:
        marks.append(ArchiveMarkFile.claim(folder, archive_header(pid=os.getpid())))
        marks[0].ready()

    before = (folder / "archive.catalog").read_bytes()
    while_asked(monkeypatch, start)
    with pytest.raises(AerologError, match="an archive runs in"):
        tool("compact", yes=True)
    assert (folder / "archive.catalog").read_bytes() == before
