"""``aerolog verify``: what it says, what it changes and what it does not."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from damaged_archives import entry_offsets
from job_marks import commit
from mark_headers import archive_header

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.retention.holds import Holds
from aerolog.archive.verification import Health
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path

PLAN = "aerolog verify {} --repair-plan says what can be saved"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three recordings of four segments each."""
    folder = tmp_path / "archive"
    folder.mkdir()
    for _ in range(3):
        builder = RecordingBuilder()
        for number in range(200):
            builder.add(bytes([number + 1]) * 1000)
        builder.write(folder)
    return folder


def run(folder: Path, *arguments: object) -> int:
    return main(["verify", *map(str, arguments), "--archive-dir", str(folder)])


def content(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in paths}


def break_type(folder: Path, name: str) -> None:
    with (folder / name).open("r+b") as file:
        file.seek(1056 + 6)
        file.write(b"\x09")


def test_a_sound_folder_is_said_to_be(folder, capfd) -> None:
    before = content(folder)
    assert run(folder) == 0
    assert capfd.readouterr().out == (
        "3 recording(s), 12 closed segment(s), 634176 bytes: all sound\n"
    )
    assert content(folder) == before


def test_what_is_wrong_is_told_with_a_remedy_and_nothing_is_changed(folder, capfd) -> None:
    break_type(folder, "1-65536.rec")
    (folder / "2-0.rec").unlink()
    before = content(folder)
    assert run(folder) == 1
    assert capfd.readouterr().out.splitlines() == [
        "recording 1 at position 66592: unknown frame type 9 (1-65536.rec, offset 1056)",
        "  " + PLAN.format(1),
        "recording 2 at position 0: the segment file is not there (2-0.rec, offset 0)",
        "  bring the file back from a copy, or " + PLAN.format(2),
        "3 recording(s), 12 closed segment(s), 634176 bytes: 2 recording(s) are not sound",
    ]
    assert run(folder, 1, 2, "--repair-plan") == 1
    out = capfd.readouterr().out
    assert "recording 1: readable are positions 0 to 66592, 131072 to 211392" in out
    assert "  choice: --by mark: no byte changes, and none of the 139 messages can be read" in out
    assert "  repair: make padding of positions 66592 to 131072, 64480 bytes" in out
    assert "  repair: begin recording 2 at position 65536 (now 0)" in out
    assert content(folder) == before
    assert run(folder, 0) == 0


def test_json_has_all_of_it(folder, capfd) -> None:
    break_type(folder, "1-196608.rec")
    assert run(folder, 1, "--json", "--repair-plan") == 1
    found = json.loads(capfd.readouterr().out)
    assert found["sound"] is False
    (row,) = found["recordings"]
    (finding,) = row["findings"]
    assert (finding["kind"], finding["position"]) == ("type", 196608 + 1056)
    (step,) = row["steps"]
    assert (step["step"], step["position"], step["lost_bytes"]) == (
        "truncate", 196608 + 1056, 211392 - 196608 - 1056,
    )  # fmt: skip
    assert row["readable"] == [[0, 196608 + 1056]]
    assert run(folder, 0, "--json") == 0
    assert json.loads(capfd.readouterr().out)["sound"] is True


def test_a_repair_is_done_when_it_is_told_to(folder, capfd, monkeypatch) -> None:
    break_type(folder, "1-196608.rec")
    before = content(folder)
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115, PTH123
    assert run(folder, "--repair") == 2
    assert "--repair-plan" in capfd.readouterr().err
    assert content(folder) == before
    assert run(folder, "--repair", "--yes") == 0
    out, err = capfd.readouterr()
    assert "repair: end recording 1 behind its last sound frame" in err
    assert out.startswith("done: end recording 1 behind its last sound frame, at position 197664")
    assert out.endswith(": all sound\n")
    assert run(folder) == 0
    assert run(folder, "--repair", "--yes") == 0
    assert "there is nothing to repair" in capfd.readouterr().err


def unfinished(folder: Path, size: int = 3000) -> int:
    builder = RecordingBuilder()
    while builder.position < 20_000:
        builder.add(b"\x05" * size)
    builder.write(folder, stopped=False)
    return builder.position


def stop_of(folder: Path, recording_id: int) -> int:
    with CatalogReader.open(folder) as catalog:
        return catalog.descriptor(recording_id).stop_position


def test_a_repair_gives_a_recording_its_end_where_no_archive_runs(folder, capfd) -> None:
    end = unfinished(folder)
    before = content(folder)
    assert run(folder, 3, "--repair-plan") == 0
    text = f"end recording 3 at position {end}, behind its last whole frame"
    assert f"  repair: {text}\n" in capfd.readouterr().out
    assert run(folder) == 0
    assert content(folder) == before
    assert run(folder, 3, "--repair", "--yes") == 0
    assert capfd.readouterr().out.endswith(": all sound\n")
    assert stop_of(folder, 3) == end
    assert not list(folder.glob("*.damaged"))
    assert run(folder, "--repair", "--yes") == 0
    assert "there is nothing to repair" in capfd.readouterr().err


def test_a_repair_ends_a_recording_before_a_frame_that_is_not_whole(folder, capfd) -> None:
    end = unfinished(folder)
    data = bytearray((folder / "3-0.rec").read_bytes())
    page = (end - 1) // 4096 * 4096
    data[page:] = bytes(len(data) - page)
    (folder / "3-0.rec").write_bytes(data)
    assert run(folder, 3, "--repair", "--yes") == 0
    stop = stop_of(folder, 3)
    assert page - 2048 < stop < page
    assert not any((folder / "3-0.rec").read_bytes()[stop:])
    assert (folder / "3-0.rec.damaged").read_bytes()[stop:].startswith(data[stop:page])
    assert run(folder) == 0


def test_under_an_archive_that_runs_a_recording_stays_active(folder, capfd) -> None:
    unfinished(folder)
    mark = ArchiveMarkFile.claim(folder, archive_header())
    mark.ready()
    assert run(folder, 3, "--repair-plan") == 0
    assert "end recording" not in capfd.readouterr().out
    mark.terminated()


def test_an_invalidated_recording_is_verified_no_more(folder, capfd) -> None:
    break_type(folder, "1-65536.rec")
    assert run(folder, 1, "--repair", "--yes", "--by", "other") == 2
    assert "--by takes pad, copy, mark" in capfd.readouterr().err
    assert run(folder, 1, "--repair", "--yes", "--by", "mark") == 0
    assert "done: mark recording 1 INVALID" in capfd.readouterr().out
    assert run(folder) == 0
    assert capfd.readouterr().out.startswith("2 recording(s), 8 closed")


def test_noted_fingerprints_tell_a_change_later(folder, capfd) -> None:
    assert run(folder, "--note") == 0
    assert Health.open(folder, 2).state == "sound"
    with (folder / "2-0.rec").open("r+b") as file:
        file.seek(500)
        file.write(b"\xff")
    capfd.readouterr()
    assert run(folder) == 1
    assert "the segment is not what it was" in capfd.readouterr().out
    assert Health.open(folder, 2).state == "sound"  # nothing is noted unless it is told
    assert run(folder, 2, "--repair", "--yes") == 0
    assert run(folder) == 0


def test_a_damaged_health_file_is_told_and_is_no_failure(folder, capfd) -> None:
    assert run(folder, "--note") == 0
    (folder / "aerolog" / "health" / "0.health").write_bytes(b"what is this")
    assert run(folder) == 0
    assert "health file is left aside, it is cut off" in capfd.readouterr().out


@pytest.mark.parametrize("entry", [0, 1])
def test_a_damaged_catalog_is_told_and_the_rest_is_verified(folder, capfd, entry) -> None:
    data = bytearray((folder / "archive.catalog").read_bytes())
    at = entry_offsets(data)[entry]
    data[at + 32 + 64 : at + 32 + 68] = (12345).to_bytes(4, "little")  # a term length
    (folder / "archive.catalog").write_bytes(data)
    assert run(folder) == 1
    out = capfd.readouterr().out
    assert "12345" in out
    assert "aerolog explain DIR/archive.catalog tells more" in out


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("7",), 1, "unknown recording id: 7"),
        (("--checksum", "MD5"), 2, "--checksum takes CRC-32 or CRC-32C"),
        (("--repair", "--note", "--yes"), 2, "--repair goes with neither"),
        (("seven",), 2, "Invalid value"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(folder, capfd, arguments, code, text) -> None:
    assert run(folder, *arguments) == code
    err = capfd.readouterr().err
    assert text in err
    assert "Traceback" not in err


def test_a_folder_that_is_none_is_named(tmp_path, capfd) -> None:
    assert run(tmp_path / "nowhere") == 1
    assert "there is no such folder" in capfd.readouterr().err
    assert run(tmp_path) == 1
    assert "has no archive.catalog" in capfd.readouterr().err


def test_a_missing_extra_is_named(folder, capfd, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xxhash", None)
    assert run(folder) == 0  # frames need none
    capfd.readouterr()
    assert run(folder, "--note") == 2
    assert "pip install 'aerolog[verify]'" in capfd.readouterr().err


@pytest.mark.parametrize("way", ["mark", "copy"])
@pytest.mark.parametrize("by", ["hold", "job"])
def test_a_repair_puts_nothing_out_of_reach_that_is_needed(folder, capfd, way, by) -> None:
    break_type(folder, "1-65536.rec")
    if by == "hold":
        Holds.open(folder).add(1, "incident 4711")
    else:
        with RecordingCatalog.open(archive_dir=folder) as catalog:
            sync_folder(catalog, folder)
            commit(catalog, folder, {0: 1 << 20, 1: 64, 2: 1 << 20})
    entry = (folder / "archive.catalog").read_bytes()
    assert run(folder, 1, "--repair", "--yes", "--by", way) == 1
    err = capfd.readouterr().err
    assert "not done: recording 1 is needed from position " in err
    assert ("held: incident 4711" if by == "hold" else "job nightly has loaded it") in err
    assert (folder / "archive.catalog").read_bytes() == entry
    run(folder, 1, "--repair", "--yes", "--by", way, "--force")
    assert (folder / "archive.catalog").read_bytes() != entry


def test_what_cannot_be_read_is_cut_off_unless_it_is_held(folder, capfd) -> None:
    (folder / "1-0.rec").unlink()
    Holds.open(folder).add(1, "incident 4711")
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
        commit(catalog, folder, dict.fromkeys(range(3), 0))
    assert run(folder, 1, "--repair", "--yes") == 1
    assert "not done: recording 1 is needed from position 0 on: held" in capfd.readouterr().err
    Holds.open(folder).remove(1)
    # The job has not read it, and never can.
    assert run(folder, 1, "--repair", "--yes") == 0
    assert "not done" not in capfd.readouterr().err
