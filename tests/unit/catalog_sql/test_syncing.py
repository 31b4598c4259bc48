"""Syncing: a folder's recordings and segments are in the tables, whatever its state."""

from __future__ import annotations

import json
import os
import shutil
import struct
from typing import TYPE_CHECKING, Self

import pytest
from sql_content import at_once, column, compact, content

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_map import FIELD, CatalogReader
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.format.layout import CATALOG_NAME, ENTRY_HEADER_LENGTH
from aerolog.archive.protocol.enums import RecordingState
from aerolog.catalog.index import RecordingCatalog, rebuild, sync_folder, sync_recordings
from aerolog.catalog.index import fingerprints as fingerprinting
from aerolog.catalog.index.folder_scan import MISSING_MAX, FolderScan
from aerolog.catalog.index.journal import record
from aerolog.catalog.index.models import Archive, Recording, Segment, Stream, Tag
from aerolog.catalog.index.row_changes import COLUMNS, values_of
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Some start processes, and some sync a folder many times over.
pytestmark = pytest.mark.timeout(400)

SEGMENT = 64 * 1024
STATES = {"VALID": "stopped", "INVALID": "invalid", "DELETED": "deleted"}


@pytest.fixture
def lite(folder: Path) -> Iterator[RecordingCatalog]:
    """The catalog in the folder."""
    with RecordingCatalog.open(archive_dir=folder) as opened:
        yield opened


def states(catalog: RecordingCatalog) -> dict[int, str]:
    return dict(column(catalog, Recording, "recording_id", "state"))


def segments(catalog: RecordingCatalog, recording_id: int) -> dict[int, str]:
    keys = dict(column(catalog, Recording, "recording_id", "id"))
    rows = column(catalog, Segment, "recording_fk", "base_position", "state")
    return {base: state for key, base, state in rows if key == keys[recording_id]}


def test_the_references_folder_is_in_the_tables_as_its_manifest_says(
    catalog: RecordingCatalog, golden: Path
) -> None:
    report = sync_folder(catalog, golden)
    assert (report.recordings, report.added, report.problems) == (15, 15, [])
    manifest = json.loads((golden / "manifest.json").read_text())
    rows = {
        row[0]: row
        for row in column(
            catalog,
            Recording,
            *("recording_id", "state", "start_position", "stop_position", "session_id"),
            *("stripped_channel", "original_channel", "start_time_ms", "size_bytes", "stream_fk"),
        )
    }
    streams = dict(column(catalog, Stream, "id", "stream_id"))
    assert len(rows) == len(manifest["recordings"]) == 15
    for known in manifest["recordings"]:
        entry = known["descriptor"]
        row = rows[entry["recordingId"]]
        is_active = entry["stopPosition"] == -1
        end = (known.get("content") or {}).get("endPosition")
        assert row[1] == ("active" if is_active else STATES[known["state"]])
        assert row[2] == entry["startPosition"]
        assert row[3] == (None if is_active else entry["stopPosition"])
        assert row[4:7] == (
            entry["sessionId"],
            entry["strippedChannel"],
            entry["originalChannel"],
        )
        assert row[7] == entry["startTimestamp"]
        assert end is None or row[8] == end - entry["startPosition"]
        assert streams[row[9]] == entry["streamId"]
        assert len(segments(catalog, row[0])) == len(known["segmentFiles"])
    assert segments(catalog, 9) == {0: "detached", 65536: "present"}
    assert sync_folder(catalog, golden).is_unchanged


def test_the_columns_of_a_row_are_in_the_order_that_rows_are_compared_in(folder: Path) -> None:
    scan = FolderScan(str(folder))
    (chunk,) = scan.chunks(10)
    found = scan.look_at(chunk[0])
    assert found is not None
    assert tuple(values_of(found)) == COLUMNS


def test_a_second_sync_changes_nothing(catalog: RecordingCatalog, folder: Path) -> None:
    first = sync_folder(catalog, folder)
    assert (first.recordings, first.added) == (4, 4)
    before = content(catalog)
    second = sync_folder(catalog, folder)
    assert second.recordings == 4
    assert second.is_unchanged
    assert content(catalog) == before
    assert states(catalog) == {0: "stopped", 1: "stopped", 2: "stopped", 3: "active"}


def test_what_came_since_is_added_and_what_changed_is_changed(
    lite: RecordingCatalog, folder: Path
) -> None:
    sync_folder(lite, folder)
    RecordingBuilder(stream_id=9).write(folder)
    with CatalogFile.open(folder) as archive:
        archive.recording_stopped(3, 640, 1_700_000_009_000)
    report = sync_folder(lite, folder)
    assert (report.added, report.changed) == (1, 1)
    rows = column(lite, Recording, "stop_position", "stop_time_ms", "size_bytes", "state")
    assert rows[3] == (640, 1_700_000_009_000, 640, "stopped")


def test_a_recording_that_a_crash_left_has_the_size_of_its_data(
    lite: RecordingCatalog, folder: Path
) -> None:
    builder = RecordingBuilder(stream_id=9)
    for _ in range(300):
        builder.add(b"z" * 1000)
    recording_id = builder.write(folder, stopped=False)
    sync_folder(lite, folder)
    sizes = dict(column(lite, Recording, "recording_id", "size_bytes"))
    assert sizes[recording_id] == builder.position > 4 * SEGMENT


def test_missing_segments_are_named_and_come_back(lite: RecordingCatalog, folder: Path) -> None:
    sync_folder(lite, folder)
    (folder / "1-65536.rec").rename(folder / "away")
    report = sync_folder(lite, folder)
    assert segments(lite, 1)[SEGMENT] == "missing"
    (problem,) = report.problems
    assert "recording 1 misses 1 of its segments, the first at position 65536" in problem
    (folder / "away").rename(folder / "1-65536.rec")
    report = sync_folder(lite, folder)
    assert (report.problems, segments(lite, 1)[SEGMENT]) == ([], "present")


def test_segments_before_the_start_are_detached_until_they_are_gone(
    lite: RecordingCatalog, folder: Path
) -> None:
    sync_folder(lite, folder)
    with CatalogFile.open(folder) as archive:
        archive.update_start_position(1, SEGMENT)
    sync_folder(lite, folder)
    assert segments(lite, 1)[0] == "detached"
    (folder / "1-0.rec").unlink()
    assert sync_folder(lite, folder).problems == []
    assert 0 not in segments(lite, 1)


def test_what_is_no_segment_of_the_archive_is_named(lite: RecordingCatalog, folder: Path) -> None:
    before = sync_folder(lite, folder)
    strange = [
        "77-0.rec",
        "x-1.rec",
        "1-y.rec",
        "1--5.rec",
        "1-4096.rec",
        "01-0.rec",
        "2-65536000.rec",
    ]
    for name in strange:
        (folder / name).write_bytes(b"")
    (folder / "2-6553600.rec").mkdir()
    (folder / "0-0.rec").write_bytes(bytes(1000))
    report = sync_folder(lite, folder)
    assert before.problems == []
    text = "\n".join(report.problems)
    for name in (*strange, "2-6553600.rec", "0-0.rec"):
        assert name in text
    assert "has 1000 bytes in place of 65536" in text
    assert len(report.problems) == len(strange) + 2
    assert states(lite) == {0: "stopped", 1: "stopped", 2: "stopped", 3: "active"}


def damage(folder: Path, recording_id: int, offset: int, data: bytes) -> None:
    """Write over a part of an entry in the catalog."""
    with CatalogReader.open(folder) as archive:
        at = archive.entry(recording_id).offset
    with (folder / CATALOG_NAME).open("r+b") as file:
        file.seek(at + offset)
        file.write(data)


DAMAGES = {
    "segment length": (FIELD["segment_file_length"], struct.pack("<i", 12345)),
    "start position": (FIELD["start_position"], struct.pack("<q", -64)),
    "channel's length": (ENTRY_HEADER_LENGTH + 80, struct.pack("<i", 1 << 30)),
    "entry's length": (0, struct.pack("<i", 1 << 20)),
    "id": (FIELD["recording_id"], struct.pack("<q", 1 << 40)),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_entry_is_named_and_the_others_are_synced(
    lite: RecordingCatalog, folder: Path, what: str
) -> None:
    sync_folder(lite, folder)
    damage(folder, 1, *DAMAGES[what])
    report = sync_folder(lite, folder)
    assert any("at offset" in problem and CATALOG_NAME in problem for problem in report.problems)
    # It may come back: what is known of it stays.
    assert states(lite) == {0: "stopped", 1: "stopped", 2: "stopped", 3: "active"}
    shutil.copytree(folder, folder.parent / "copy")
    with RecordingCatalog.open(f"sqlite:///{folder.parent / 'new.db'}") as fresh:
        sync_folder(fresh, folder.parent / "copy")
        assert states(fresh).keys() >= {0, 2, 3}


@pytest.mark.parametrize("at", [2, 3])
def test_a_catalog_that_is_cut_while_it_is_read_is_named_and_doubles_nothing(
    lite: RecordingCatalog, folder: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    path = folder / CATALOG_NAME
    with CatalogReader.open(folder) as reader:
        offsets = [entry.offset for entry in reader.entries()]
    decode = RecordingDescriptor.decode
    decoded: list[RecordingDescriptor] = []

    def cut_and_decode(data: memoryview) -> RecordingDescriptor:
        if len(decoded) == at:  # its length is known by then
            os.truncate(path, offsets[at])
        decoded.append(decode(data))
        return decoded[-1]

    monkeypatch.setattr(RecordingDescriptor, "decode", cut_and_decode)
    report = sync_folder(lite, folder)
    assert any(CATALOG_NAME in problem for problem in report.problems), report.problems
    assert set(states(lite)) == set(range(at))


def test_a_position_that_is_damaged_does_not_fill_the_tables(
    lite: RecordingCatalog, folder: Path
) -> None:
    damage(folder, 1, FIELD["stop_position"], struct.pack("<q", 1 << 46))
    report = sync_folder(lite, folder)
    (problem,) = report.problems
    assert f"misses {(1 << 30) - 2} of its segments, {MISSING_MAX} of them are noted" in problem
    assert len(segments(lite, 1)) == MISSING_MAX + 2


def test_a_folder_without_a_catalog_is_refused(lite: RecordingCatalog, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sync_folder(lite, tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_folder(lite, tmp_path / "nowhere")


def test_a_catalog_of_another_version_is_refused_and_the_rows_stay(
    lite: RecordingCatalog, folder: Path
) -> None:
    sync_folder(lite, folder)
    before = content(lite)
    with (folder / CATALOG_NAME).open("r+b") as file:
        file.write(struct.pack("<i", 9 << 16))
    with pytest.raises(FileFormatError, match="version"):
        sync_folder(lite, folder)
    with pytest.raises(FileFormatError, match="version"):
        rebuild(lite, folder)
    assert content(lite) == before


def test_purged_recordings_keep_their_row_and_a_rebuild_has_it_too(
    catalog: RecordingCatalog, folder: Path
) -> None:
    sync_folder(catalog, folder)
    record(catalog, folder, "tag", recording_id=1, key="kept", value="before")
    with CatalogFile.open(folder) as archive:
        archive.change_state(1, RecordingState.DELETED)
        archive.change_state(2, RecordingState.INVALID)
    sync_folder(catalog, folder)
    assert states(catalog) == {0: "stopped", 1: "deleted", 2: "invalid", 3: "active"}
    compact(folder, 1)
    report = sync_folder(catalog, folder)
    assert (report.purged, report.problems) == (1, [])
    assert states(catalog) == {0: "stopped", 1: "purged", 2: "invalid", 3: "active"}
    assert segments(catalog, 1) == {}
    assert sync_folder(catalog, folder).is_unchanged
    record(catalog, folder, "tag", recording_id=1, key="kept", value="after")
    before = content(catalog)
    assert rebuild(catalog, folder).problems == []
    assert content(catalog) == before
    assert column(catalog, Tag, "value") == [("after",)]


def test_another_recording_under_the_same_id_takes_nothing_over(
    lite: RecordingCatalog, folder: Path
) -> None:
    sync_folder(lite, folder, fingerprints=True)
    damage(folder, 1, FIELD["start_timestamp"], struct.pack("<q", 1_800_000_000_000))
    report = sync_folder(lite, folder)
    assert report.added == 1
    assert "is another one than before" in report.problems[0]
    rows = column(lite, Recording, "recording_id", "start_time_ms")
    assert dict(rows)[1] == 1_800_000_000_000
    assert sync_folder(lite, folder).is_unchanged


def test_a_folder_that_was_moved_with_its_database_stays_one_archive(folder: Path) -> None:
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
    moved = folder.rename(folder.parent / "moved")
    with RecordingCatalog.open(archive_dir=moved) as catalog:
        report = sync_folder(catalog, moved)
        assert report.is_unchanged
        assert column(catalog, Archive, "place") == [(str(moved),)]


def test_several_archives_share_a_database(
    catalog: RecordingCatalog, folder: Path, golden: Path
) -> None:
    sync_folder(catalog, folder)
    alone = content(catalog)["recordings"]
    sync_folder(catalog, golden)
    assert sorted(place for (place,) in column(catalog, Archive, "place")) == sorted(
        [str(folder), str(golden)]
    )
    assert len(content(catalog)["recordings"]) == 19
    rebuild(catalog, golden)
    found = content(catalog)["recordings"]
    assert len(found) == 19
    assert [row for row in found if row in alone] == alone


def test_some_recordings_can_be_synced_alone(lite: RecordingCatalog, folder: Path) -> None:
    report = sync_recordings(lite, folder, [2, 0, 99])
    assert (report.recordings, report.added) == (2, 2)
    assert sorted(states(lite)) == [0, 2]
    sync_folder(lite, folder)
    assert sync_recordings(lite, folder, [0, 1, 2, 3]).is_unchanged
    (folder / "1-65536.rec").unlink()
    assert sync_recordings(lite, folder, [1]).segments_changed == 1
    assert segments(lite, 1)[SEGMENT] == "missing"


def test_fingerprints_are_of_closed_segments_and_computed_once(
    lite: RecordingCatalog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import xxhash

    sync_folder(lite, folder)
    assert set(column(lite, Segment, "fingerprint")) == {(None,)}
    report = sync_folder(lite, folder, fingerprints=True)
    keys = dict(column(lite, Recording, "id", "recording_id"))
    ends = {
        row[0]: row[1] + row[2]
        for row in column(lite, Recording, "recording_id", "start_position", "size_bytes")
    }
    closed = 0
    for key, base, value in column(lite, Segment, "recording_fk", "base_position", "fingerprint"):
        data = (folder / f"{keys[key]}-{base}.rec").read_bytes()
        is_closed = (keys[key] != 3 and base < ends[keys[key]]) or base + SEGMENT <= ends[keys[key]]
        expected = xxhash.xxh3_64_hexdigest(data[: min(ends[keys[key]] - base, SEGMENT)])
        assert value == (expected if is_closed else None)
        closed += is_closed
    assert report.fingerprints == closed > 3
    monkeypatch.setattr(fingerprinting, "fingerprint", None)
    assert sync_folder(lite, folder, fingerprints=True).fingerprints == 0


def test_a_fingerprint_is_dropped_when_its_segment_goes_on(
    lite: RecordingCatalog, folder: Path
) -> None:
    sync_folder(lite, folder, fingerprints=True)
    before = dict(column(lite, Segment, "base_position", "fingerprint"))
    with CatalogReader.open(folder) as archive:
        stop = archive.descriptor(1).stop_position
    with CatalogFile.open(folder) as archive:
        archive.update_stop_position(1, stop - 32)
    sync_folder(lite, folder)
    key = dict(column(lite, Recording, "recording_id", "id"))[1]
    rows = column(lite, Segment, "recording_fk", "base_position", "fingerprint")
    after = {base: value for owner, base, value in rows if owner == key}
    last = max(base for base in after if base < stop)
    assert after.pop(last) is None
    assert before[last] is not None
    assert all(after[base] for base in after if base < last)
    assert sync_folder(lite, folder, fingerprints=True).fingerprints == 1


def test_a_segment_shorter_than_its_recording_has_no_fingerprint(
    lite: RecordingCatalog, folder: Path
) -> None:
    with (folder / "1-0.rec").open("r+b") as file:
        file.truncate(1000)
    report = sync_folder(lite, folder, fingerprints=True)
    assert any("ends before byte 65536" in problem for problem in report.problems)
    assert sum("1-0.rec" in problem for problem in report.problems) == 2


SYNCING = """
import sys
from aerolog.catalog.index import RecordingCatalog, rebuild, sync_folder

sys.stdin.read()
with RecordingCatalog.open(sys.argv[1]) as catalog:
    for _ in range(3):
        sync_folder(catalog, sys.argv[2])
        rebuild(catalog, sys.argv[2]) if sys.argv[3] == "rebuild" else None
"""


def test_syncs_and_rebuilds_at_once_neither_double_nor_lose(
    url: str, golden: Path, tmp_path: Path
) -> None:
    said = at_once([[SYNCING, url, str(golden), how] for how in ("sync", "rebuild", "sync")])
    assert said == ["", "", ""]
    with (
        RecordingCatalog.open(url) as catalog,
        RecordingCatalog.open(f"sqlite:///{tmp_path / 'other.db'}") as alone,
    ):
        sync_folder(alone, golden)
        assert content(catalog) == content(alone)


def test_memory_of_fingerprints_is_a_block(tmp_path: Path) -> None:
    from aerolog.transport.memory.filesystem import RealFileSystem

    lengths = []

    class Door(RealFileSystem):
        def open_data_file(self, path: str, **options: bool) -> object:  # type: ignore[override]
            file = super().open_data_file(path, **options)

            class Watched:
                def __enter__(self) -> Self:
                    return self

                def __exit__(self, *_: object) -> None:
                    file.close()

                def file_size(self) -> int:
                    return file.file_size()

                def read_at(self, length: int, offset: int) -> bytes:
                    lengths.append(length)
                    return file.read_at(length, offset)

            return Watched()

    path = tmp_path / "1-0.rec"
    with path.open("wb") as sparse:
        sparse.truncate(16 * 1024 * 1024)
    assert fingerprinting.fingerprint(Door(), str(path), 16 * 1024 * 1024 - 7) is not None
    assert max(lengths) <= 1024 * 1024
    assert sum(lengths) == 16 * 1024 * 1024 - 7
