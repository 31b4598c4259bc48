"""Without ``--classic``: what would change is shown, nothing is done without a yes."""

from __future__ import annotations

import errno
import json
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any

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
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.archive_files.checked_files import open_catalog
from aerolog.tools.main import main
from aerolog.tools.reference.archive_tool import compact_action, orphans_action
from aerolog.tools.reference.archive_tool.actions import COMMANDS
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHANGING = [
    ("verify",),
    ("verify", "-a"),
    ("checksum", "CRC-32C", "-a"),
    ("compact",),
    ("delete-orphaned-segments",),
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
    # To verify, the orphan is a segment behind others that are missing.
    assert done.code == (1 if command[0] == "verify" else 0)
    assert "Go on? [y/N]: " in done.err
    assert file_states(with_orphan) != before
    assert states(with_orphan) != {} or command[0] == "compact"


def test_verify_tells_json_what_it_has_changed(folder: Path, tool: Callable) -> None:
    done = tool("verify", yes=True, as_json=True)
    told = json.loads(done.out)
    assert (done.code, told["dry_run"]) == (0, False)
    assert (told["ok"], told["faulty"], told["skipped"]) == (4, 0, 1)
    by_id = {row["recording_id"]: row for row in told["recordings"]}
    with CatalogReader.open(folder) as catalog:
        stop = catalog.descriptor(2).stop_position
    assert by_id[2]["changes"] == [{"field": "stop_position", "before": None, "after": stop}]
    assert by_id[3]["changes"] == [{"field": "state", "before": "INVALID", "after": "VALID"}]
    assert by_id[4]["verdict"] == "skipped"
    assert json.loads(tool("verify", yes=True, as_json=True).out)["ok"] == 4


def test_verify_makes_what_is_faulty_invalid_and_fails(folder: Path, tool: Callable) -> None:
    segment = folder / "1-0.rec"
    data = bytearray(segment.read_bytes())
    data[8:12] = (4711).to_bytes(4, "little")
    segment.write_bytes(data)
    done = tool("verify", "1", yes=True)
    assert done.code == 1
    assert "termOffset=4711" in done.out
    assert states(folder)[1] == 0


def test_a_length_that_ends_the_reference_is_a_fault_of_one_recording(
    folder: Path, tool: Callable
) -> None:
    segment = folder / "0-0.rec"
    data = bytearray(segment.read_bytes())
    data[1056:1060] = (-32).to_bytes(4, "little", signed=True)
    segment.write_bytes(data)
    told = json.loads(tool("verify", "-a", dry_run=True, as_json=True).out)
    verdicts = {row["recording_id"]: row["verdict"] for row in told["recordings"]}
    assert verdicts == {0: "faulty", 1: "ok", 2: "ok", 3: "ok", 4: "skipped"}


def test_a_last_frame_in_doubt_is_kept_unless_cut(folder: Path, tool: Callable) -> None:
    with CatalogReader.open(folder) as catalog:
        before = catalog.descriptor(0).stop_position
    last = max(folder.glob("0-*.rec"), key=lambda path: int(path.stem.partition("-")[2]))
    data = last.read_bytes()
    end = before - int(last.stem.partition("-")[2])
    page = (end - 1) // 4096 * 4096
    last.write_bytes(data[:page] + bytes(len(data) - page))
    kept = json.loads(tool("verify", "0", dry_run=True, as_json=True).out)["recordings"][0]
    assert kept["unverified_frame"]["is_cut"] is False
    assert kept["changes"] == []
    done = tool("verify", "0", "-cut", yes=True)
    assert "it is cut off" in done.out
    with CatalogReader.open(folder) as catalog:
        assert catalog.descriptor(0).stop_position == kept["unverified_frame"]["position"]
    assert last.stat().st_size == 65536
    assert not any(last.read_bytes()[kept["unverified_frame"]["offset"] :])


def test_missing_segments_are_a_fault_that_leaves_the_entry(folder: Path, tool: Callable) -> None:
    builder = RecordingBuilder(stream_id=10)
    while builder.position < 9 * 65536:
        builder.add(bytes(1000))
    number = builder.write(folder)
    for base in (0, 65536, 131072, 262144):
        (folder / f"{number}-{base}.rec").unlink()
    before = states(folder)
    done = tool("verify", "-a", str(number), yes=True, as_json=True)
    (row,) = json.loads(done.out)["recordings"]
    shown = ", ".join(f"{number}-{base}.rec" for base in (0, 65536, 131072))
    assert row["problem"] == f"missing: {shown} and 1 more"
    assert (done.code, row["verdict"], row["changes"]) == (1, "faulty", [])
    assert states(folder) == before


@pytest.mark.parametrize("command", ["compact", "checksum CRC-32", "migrate"])
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


def test_verify_changes_nothing_under_a_running_archive(folder: Path, tool: Callable) -> None:
    running = new_mark(folder)
    before = file_states(folder)
    done = tool("verify", yes=True)
    assert done.code == 0
    assert "nothing is changed" in done.err
    assert file_states(folder) == before
    assert running.is_owned


def test_an_archive_that_ended_does_not_stand_in_the_way(folder: Path, tool: Callable) -> None:
    new_mark(folder).terminated()
    assert tool("compact", yes=True).code == 0
    assert set(states(folder)) == {0, 1, 2}


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


def test_checksums_that_are_stored_are_found_right(folder: Path, tool: Callable) -> None:
    assert tool("checksum", "CRC-32C", "-a", yes=True).code == 0
    assert tool("verify", "-a", "-checksum", "CRC-32C", dry_run=True).code == 0
    data = bytearray((folder / "0-0.rec").read_bytes())
    data[100] ^= 1
    (folder / "0-0.rec").write_bytes(data)
    done = tool("verify", "-checksum", "CRC-32C", "-a", "0", dry_run=True)
    assert (done.code, "checksum failed" in done.out) == (1, True)


@pytest.mark.parametrize(
    "command",
    [
        "verify 1 2",
        "verify x",
        "verify -checksum",
        "verify -checksum foo",
        "checksum foo",
        "checksum CRC-32 1 2",
        "mark-valid x",
        "delete-orphaned-segments 1 2",
    ],
)
def test_arguments_that_make_no_sense_are_usage_errors(command: str, tool: Callable) -> None:
    with pytest.raises(typer.BadParameter):
        tool(*command.split(), yes=True)


@pytest.mark.parametrize(
    "command", ["verify 9", "mark-valid 9", "mark-valid 4", "checksum CRC-32 9"]
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


@pytest.mark.parametrize(
    "number",
    [errno.EACCES, errno.EPERM, errno.EBUSY, errno.EIO, errno.ESTALE, errno.ENOLINK, errno.EUCLEAN],
)
@pytest.mark.parametrize("arguments", [(), ("-a",), ("1",)])
def test_what_cannot_be_read_is_a_finding_of_its_own_and_no_entry_becomes_invalid(
    number: int, arguments: tuple[str, ...], folder: Path, tool: Callable, unreadable: Callable
) -> None:
    before = states(folder)[1]
    unreadable(number)

    done = tool("verify", *arguments, yes=True, as_json=True)

    told = json.loads(done.out)
    (row,) = [row for row in told["recordings"] if row["recording_id"] == 1]
    assert (done.code, row["verdict"], row["changes"]) == (1, "unreadable", [])
    assert (told["faulty"], told["unreadable"]) == (0, 1)
    assert states(folder)[1] == before
    assert "1 that cannot be read" in tool("verify", *arguments, yes=True).out


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_the_classic_form_leaves_the_entry_of_what_cannot_be_read(
    number: int, folder: Path, classic: Callable, unreadable: Callable
) -> None:
    before = states(folder)[1]
    unreadable(number)

    done = classic("verify", "1")

    assert done.code == 255
    assert "ERR: " in done.out
    assert states(folder)[1] == before


@pytest.mark.parametrize("arguments", [(), ("-a",), ("1",)])
def test_a_link_that_leads_nowhere_makes_no_entry_invalid(
    arguments: tuple[str, ...], folder: Path, tool: Callable
) -> None:
    before = states(folder)[1]
    (folder / "1-0.rec").unlink()
    (folder / "1-0.rec").symlink_to("/mnt/of-nobody/1-0.rec")

    told = json.loads(tool("verify", *arguments, yes=True, as_json=True).out)

    assert (told["faulty"], told["unreadable"]) == (0, 1)
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
    for command in (("verify", "--yes"), ("mark-invalid", "1", "--yes")):
        done = run_unprivileged("archive-tool", folder, *command)
        assert (done.returncode, done.stdout) == (1, "")
        assert "archive-mark.dat cannot be read: Permission denied" in done.stderr
    assert file_states(folder) == before


@pytest.mark.parametrize("as_json", [False, True])
def test_verify_without_a_terminal_runs_where_nothing_is_to_change(
    as_json: bool, folder: Path, tool: Callable
) -> None:
    tool("verify", yes=True)
    before = file_states(folder)

    done = tool("verify", "-a", as_json=as_json)

    assert done.code == 0
    assert done.out
    assert file_states(folder) == before


def test_verify_without_a_terminal_shows_what_it_would_change(
    folder: Path, tool: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.BadParameter, match="--yes"):
        tool("verify")

    assert "stop_position none ->" in capsys.readouterr().out


def test_the_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["archive-tool", "--help"]) == 0

    text = capsys.readouterr().out.replace("-\n", "-").partition("Arguments:")[0]
    looking, changing = text.replace("\n", " ").split("Commands that ")[1:]
    for part, changes in ((looking, False), (changing, True)):
        words = set(re.findall(r"[a-z-]+", part.partition(":")[2]))
        assert words == {name for name, one in COMMANDS.items() if one.changes == changes}


def while_asked(monkeypatch: pytest.MonkeyPatch, action: Any, happens: Callable[[], None]) -> None:
    def agreed(*_: object) -> bool:
        happens()
        return True

    monkeypatch.setattr(action, "is_agreed", agreed)


def test_a_segment_that_was_attached_while_it_was_asked_stays(
    with_orphan: Path, tool: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extend() -> None:
        with CatalogFile.open(with_orphan, capacity=4096) as catalog:
            catalog.extend_recording(0, 0, 0, catalog.descriptor(0).session_id)

    while_asked(monkeypatch, orphans_action, extend)
    before = {path.name for path in with_orphan.glob("*.rec")}
    done = tool("delete-orphaned-segments", "0", yes=True)
    assert (done.code, "1 belong to their recordings by now" in done.out) == (0, True)
    assert {path.name for path in with_orphan.glob("*.rec")} == before


def test_a_catalog_that_changes_while_it_is_asked_is_not_compacted(
    folder: Path, tool: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change() -> None:
        with CatalogFile.open(folder, capacity=4096) as catalog:
            catalog.change_state(0, RecordingState.INVALID)

    while_asked(monkeypatch, compact_action, change)
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
    while_asked(monkeypatch, compact_action, start)
    with pytest.raises(AerologError, match="an archive runs in"):
        tool("compact", yes=True)
    assert (folder / "archive.catalog").read_bytes() == before
