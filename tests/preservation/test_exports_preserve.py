"""A second export keeps every row of the first, whatever became of the recordings meanwhile."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from live_recordings import FRAME, SEGMENT, Live, live_archive
from preservation import content_of

from aerolog.catalog.export import ExportReport, check_export, export_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Row = tuple[int, int, bytes]
COLUMNS = ["position", "payload"]


def rows_of(target: Path) -> set[Row]:
    """Recording, position and payload of each row, of whatever file, without a reader of ours."""
    found: set[Row] = set()
    for path in target.rglob("*.parquet"):
        name = re.search(r"recording[_-](?:id=)?0*(\d+)", str(path.relative_to(target)))
        assert name is not None, path
        table = pq.ParquetFile(path).read(COLUMNS)
        pairs = zip(table["position"].to_pylist(), table["payload"].to_pylist(), strict=True)
        # A row has the position behind its message, whose frame is always as long.
        rows = [(int(name[1]), position - FRAME, payload) for position, payload in pairs]
        assert len(rows) == len(set(rows)), path
        assert not found & set(rows), f"rows of {path} are in another file too"
        found |= set(rows)
    return found


class Changes:
    """Changes of a live archive's recordings, each kind once, in an order drawn at random."""

    def __init__(self, live: Live, random: Random) -> None:
        self.live, self.random = live, random
        self.ways = [self.purge, self.truncate, self.extend, self.migrate, self.remove]
        random.shuffle(self.ways)

    def __iter__(self) -> Iterator[str]:
        for way in self.ways:
            found = list(self.live.archive.recordings())
            for one in self.random.sample(found, len(found)):
                if way(one.recording_id, one.start_position, one.stop_position):
                    yield f"{way.__name__} {one.recording_id}"
                    break
            else:
                pytest.fail(f"no recording for {way.__name__}")

    def purge(self, recording_id: int, start: int, stop: int) -> bool:
        first = start - start % SEGMENT + SEGMENT
        if first >= stop - stop % SEGMENT:
            return False
        self.live.archive.purge_segments(recording_id, first)
        return True

    def truncate(self, recording_id: int, start: int, stop: int) -> bool:
        ends = [at for at in content_of(self.live.folder).recordings[recording_id] if at > start]
        if not ends:
            return False
        self.live.archive.truncate_recording(recording_id, self.random.choice(sorted(ends)))
        return True

    def extend(self, recording_id: int, start: int, stop: int) -> bool:
        if stop == start:
            return False
        self.live.published.setdefault(recording_id, {})
        self.live.record(stop, self.random.choice((0.3, 1.2)), extend=recording_id)
        return True

    def migrate(self, recording_id: int, start: int, stop: int) -> bool:
        """Record what follows a segment, and move it there, or what is before it to its front."""
        seam = stop - stop % SEGMENT
        if seam <= start:
            return False
        self.live.archive.truncate_recording(recording_id, seam)
        rest = self.live.record(seam, 1.4)
        parts = [rest, recording_id]
        self.random.shuffle(parts)
        self.live.archive.migrate_segments(*parts)
        return True

    def remove(self, recording_id: int, _start: int, _stop: int) -> bool:
        self.live.archive.purge_recording(recording_id)
        self.live.record(0, 2.2)
        return True


def check_complete(report: ExportReport, live: Live, rows: set[Row], what: str) -> None:
    """What the result does not list as missing is in the export."""
    now = content_of(live.folder).recordings
    for result in report.results:
        if result.damage is None:
            messages = now[result.recording_id].items()
            lacking = [at for at, data in messages if (result.recording_id, at, data) not in rows]
            assert lacking == [], f"{what}: recording {result.recording_id}"


@pytest.mark.parametrize("keys", [(), ("recording_id",)], ids=["whole", "parts"])
@pytest.mark.parametrize("seed", range(4))
def test_rows_outlive_what_becomes_of_recordings(
    tmp_path: Path, keys: tuple[str, ...], seed: int
) -> None:
    target = tmp_path / "lake"
    options = {"partition_by": keys, "file_length": SEGMENT, "row_group_length": SEGMENT}
    with live_archive(tmp_path / "archive") as live:
        for _ in range(2):
            live.record(0, 3)
            live.archive.truncate_recording(len(live.published) - 1, 3 * SEGMENT)
        done = []
        export_parquet(live.folder, None, target, **options)
        rows = rows_of(target)
        assert len(rows) > 300
        for change in Changes(live, Random(seed)):
            done.append(change)
            report = export_parquet(live.folder, None, target, **options)
            now = rows_of(target)
            assert rows <= now, f"{done}: {len(rows - now)} rows are gone"
            check_complete(report, live, now, str(done))
            rows = now
        assert check_export(target).sound, done
