"""Time indexes and holds of a folder in the tables: few rows, the same however they came there."""

from __future__ import annotations

from pathlib import Path

import pytest
from sql_content import column, content

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.protocol.enums import RecordingState
from aerolog.archive.retention.holds import Holds
from aerolog.archive.time_index import index_path
from aerolog.catalog.index import RecordingCatalog, rebuild, sync_folder, sync_recordings
from aerolog.catalog.index.folder_watch import FolderWatch
from aerolog.catalog.index.models import Hold, TimeIndexEntry, TimeIndexFile
from aerolog.catalog.index.search import Search, search
from aerolog.catalog.index.time_mirror import SPANS
from aerolog.testing.recordings import RecordingBuilder, write_time_index

START_MS = 1_700_000_000_000
START_NS = START_MS * 1_000_000
HOUR_NS = 3600 * 10**9
HOUR_MS = 3600 * 1000
Rows = list[tuple[int, int | None, int, int | None]]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A recording of ten hours with a pause of eight, one that goes on, one without an index."""
    folder = tmp_path / "paused"
    folder.mkdir()
    for stopped in (True, False, True):
        builder = RecordingBuilder()
        for _ in range(100):
            builder.add(bytes(1000))
        builder.write(folder, stopped=stopped)
    with CatalogFile.open(folder) as catalog:
        catalog.recording_stopped(0, builder.position, START_MS + 10 * HOUR_MS)
        catalog.recording_stopped(2, builder.position, START_MS + 10 * HOUR_MS)
    half, end = 52_800, builder.position
    pause = [(0, 0), (HOUR_NS, half), (9 * HOUR_NS, half), (10 * HOUR_NS, end)]
    write_time_index(folder, 0, [(START_NS + after, at) for after, at in pause])
    write_time_index(folder, 1, [(START_NS, 0), (START_NS + HOUR_NS, half)])
    return folder


def rows(catalog: RecordingCatalog, key: int) -> Rows:
    names = ("recording_fk", "time_ns", "until_ns", "position", "until_position")
    return [row[1:] for row in column(catalog, TimeIndexEntry, *names) if row[0] == key]  # type: ignore[misc]


def found(catalog: RecordingCatalog, since_ms: int, until_ms: int | None = None) -> list[int]:
    wanted = Search(since_ms=START_MS + since_ms, order="id")
    if until_ms is not None:
        wanted = Search(since_ms=START_MS + since_ms, until_ms=START_MS + until_ms, order="id")
    return [one.recording_id for one in search(catalog, wanted)]


def test_rows_are_the_spans_in_which_something_was_recorded(
    catalog: RecordingCatalog, archive: Path
) -> None:
    report = sync_folder(catalog, archive)
    assert (report.times_changed, report.problems) == (2, [])
    spans = rows(catalog, 1)
    assert 4 <= len(spans) <= SPANS + 2
    # Spans lie side by side, but for the pause.
    gaps = [
        (spans[at + 1][0] - (spans[at][1] or 0)) // HOUR_NS
        for at in range(len(spans) - 1)
        if spans[at + 1][0] != spans[at][1]
    ]
    assert len(gaps) == 1
    assert 7 <= gaps[0] <= 8
    assert spans[0][2] == 0
    assert all(span[2] < (span[3] or 0) for span in spans)
    last = rows(catalog, 2)[-1]
    assert last[1] is None, "it goes on"
    assert last[3] is None


def test_a_search_leaves_out_who_was_silent(catalog: RecordingCatalog, archive: Path) -> None:
    sync_folder(catalog, archive)
    assert found(catalog, 0, 60_000) == [0, 1, 2]
    assert found(catalog, 4 * HOUR_MS, 5 * HOUR_MS) == [1, 2]
    assert found(catalog, 10 * HOUR_MS - 60_000, 20 * HOUR_MS) == [0, 1, 2]
    assert found(catalog, 11 * HOUR_MS) == [1]


def test_a_sync_of_what_is_known_writes_nothing(catalog: RecordingCatalog, archive: Path) -> None:
    sync_folder(catalog, archive)
    before = content(catalog)
    assert sync_folder(catalog, archive).is_unchanged
    assert sync_recordings(catalog, archive, [0, 1, 2]).is_unchanged
    # An index that grows within its last span changes no row.
    write_time_index(
        archive, 1, [(START_NS, 0), (START_NS + HOUR_NS, 52_800), (START_NS + HOUR_NS + 5, 53_000)]
    )
    assert sync_folder(catalog, archive).is_unchanged
    rebuild(catalog, archive)
    assert content(catalog) == before


def test_what_changes_is_followed(catalog: RecordingCatalog, archive: Path) -> None:
    sync_folder(catalog, archive)
    write_time_index(archive, 1, [(START_NS, 0), (START_NS + 3 * HOUR_NS, 90_000)])
    assert sync_folder(catalog, archive).times_changed == 1
    with CatalogFile.open(archive) as written:
        written.recording_stopped(1, 105_600, START_MS + 4 * HOUR_MS)
    assert sync_recordings(catalog, archive, [1]).times_changed == 1
    assert found(catalog, 5 * HOUR_MS, 6 * HOUR_MS) == [2]
    Path(index_path(archive, 0)).unlink()
    assert sync_folder(catalog, archive).times_changed == 1
    assert rows(catalog, 1) == []
    assert found(catalog, 5 * HOUR_MS, 6 * HOUR_MS) == [0, 2]
    before = content(catalog)
    rebuild(catalog, archive)
    assert content(catalog) == before


def test_a_recording_that_is_purged_has_no_times(catalog: RecordingCatalog, archive: Path) -> None:
    sync_folder(catalog, archive)
    with CatalogFile.open(archive) as written:
        written.change_state(0, RecordingState.DELETED)
    sync_folder(catalog, archive)
    assert rows(catalog, 1) == []
    assert column(catalog, TimeIndexFile, "recording_fk") == [(2,)]


def test_a_clock_that_was_set_back_widens_spans(catalog: RecordingCatalog, archive: Path) -> None:
    steps = [(HOUR_NS, 0), (2 * HOUR_NS, 26_400), (-HOUR_NS, 26_400), (4 * HOUR_NS, 105_600)]
    write_time_index(archive, 0, [(START_NS + after, at) for after, at in steps])
    sync_folder(catalog, archive)
    assert found(catalog, -HOUR_MS, -HOUR_MS // 2) == []  # before any of them had begun
    assert found(catalog, HOUR_MS, 3 * HOUR_MS) == [0, 1, 2]
    spans = rows(catalog, 1)
    assert spans[0][0] == -(2**63)
    before = content(catalog)
    rebuild(catalog, archive)
    assert content(catalog) == before


def test_damage_is_named_and_passed_over(catalog: RecordingCatalog, archive: Path) -> None:
    with Path(index_path(archive, 0)).open("r+b") as index:
        index.write(bytes(8192))
    report = sync_folder(catalog, archive)
    assert rows(catalog, 1) == []
    assert ["time index of recording 0" in text for text in report.problems] == [True]
    assert found(catalog, 4 * HOUR_MS, 5 * HOUR_MS) == [0, 1, 2]


def test_holds_are_those_of_the_folder(catalog: RecordingCatalog, archive: Path) -> None:
    holds = Holds.open(archive)
    holds.add(0, "audit", until_ms=START_MS * 2)
    holds.add(0, "court")
    holds.add(2, "audit")
    holds.add(99, "not there yet")
    assert sync_folder(catalog, archive).holds_changed == 3
    assert sorted(column(catalog, Hold, "recording_fk", "reason", "until_ms")) == [
        (1, "audit", START_MS * 2),
        (1, "court", None),
        (3, "audit", None),
    ]
    assert sync_folder(catalog, archive).is_unchanged
    holds.remove(0, "court")
    assert sync_folder(catalog, archive).holds_changed == 1
    before = content(catalog)
    rebuild(catalog, archive)
    assert content(catalog) == before


def test_a_watch_sees_new_indexes_and_holds(archive: Path) -> None:
    watch = FolderWatch(archive)
    watch.look()
    write_time_index(archive, 2, [(START_NS, 0), (START_NS + HOUR_NS, 52_800)])
    changes = watch.look()
    assert (changes.ids, changes.is_whole) == ({2}, False)
    Holds.open(archive).add(0, "audit")
    assert watch.look().is_whole
