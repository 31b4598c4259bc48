"""Jobs and archives for tests of pipelines, and an executor that works in this process."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.segment import segment_file_name
from aerolog.catalog.export.pipeline.job import load_job
from aerolog.catalog.export.pipeline.job_run import run_job
from aerolog.catalog.export.pipeline.output import open_output
from aerolog.catalog.export.pipeline.unit_reader import load
from aerolog.catalog.export.pipeline.unit_writer import write
from aerolog.catalog.export.store import FolderStore
from aerolog.catalog.index.folder_sync import sync_folder
from aerolog.catalog.index.journal_file import JOURNAL_NAME
from aerolog.catalog.index.recording_catalog import DATABASE_NAME, RecordingCatalog
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.catalog.export.pipeline.job_run import Work
    from aerolog.catalog.export.pipeline.units import UnitResult

JOB = """
name = "numbers"
archive-dir = "archive"

[decode]
decoder = "json"
schema = "n int64, word string"

[output]
to = "{to}"
unit-bytes = "128k"
{output}
"""


class HereExecutor:
    """Does a run's units one after another; rules need Spark and are not known here."""

    def __init__(self) -> None:
        self.started = 0
        self.closed = 0

    def start(self) -> None:
        self.started += 1

    def check(self, rows: pa.Schema) -> None:
        assert rows.names

    def run(self, work: Work, progress: Callable[[int], None]) -> list[UnitResult]:
        assert not work.job.rules
        results = []
        for unit in work.units:
            batches = load(
                unit,
                work.decoder,
                skip_damage=work.job.output.skip_damage,
                time_source=work.job.time_source,
            )
            results.append(write(unit, batches, work.how, open_output(work.how.to)))
            progress(sum(one.length for one in work.units[: len(results)]))
        return results

    def close(self) -> None:
        self.closed += 1


def message(number: int) -> bytes:
    """A row as JSON, of a length that varies."""
    return json.dumps({"n": number, "word": "w" * (number % 97)}).encode()


def numbers(first: int, last: int, **options: Any) -> RecordingBuilder:
    """A recording of the messages from ``first`` to before ``last``."""
    builder = RecordingBuilder(**options)
    for number in range(first, last):
        builder.add(message(number))
    return builder


def lengthen(folder: Path, recording_id: int, builder: RecordingBuilder) -> None:
    """Let a recording go on: the builder has all of it, the beginning as it was."""
    with CatalogFile.open(folder, capacity=4096) as catalog:
        catalog.extend_recording(recording_id, 0, 0, builder.session_id)
        catalog.recording_stopped(recording_id, builder.position, 1_700_000_002_000)
    write_segments(folder, recording_id, builder)


def write_segments(folder: Path, recording_id: int, builder: RecordingBuilder) -> None:
    """The recording's files anew."""
    length = builder.segment_length
    for start in range(0, len(builder.data), length):
        path = folder / segment_file_name(recording_id, builder.first_base + start)
        path.write_bytes(bytes(builder.data[start : start + length]).ljust(length, b"\0"))


def write_job(home: Path, to: str = "out", output: str = "", text: str = JOB) -> Path:
    """A job file."""
    path = home / "job.toml"
    path.write_text(text.format(to=to, output=output))
    return path


def run_here(path: Path, **options: Any) -> Any:
    """Run a job in this process."""
    return run_job(load_job(path), HereExecutor(), **options)


def visible(out: Path) -> list[str]:
    """Files that a reader of the output sees."""
    return sorted(
        str(path.relative_to(out))
        for table in ("rows", "rejects")
        for path in (out / table).rglob("*")
        if path.is_file()
    )


def rows(out: Path, table: str = "rows") -> pa.Table:
    """The output as any reader of partitioned Parquet sees it."""
    if not (out / table).exists():
        return pa.table({})
    return ds.dataset(out / table, format="parquet", partitioning="hive").to_table()


def loaded_numbers(out: Path) -> list[int]:
    """The column ``n`` of all rows, sorted."""
    table = rows(out)
    return sorted(table["n"].to_pylist()) if table.num_columns else []


class DyingStore(FolderStore):
    """Kills this process before the n-th change to the output or the catalog, or amid it."""

    left = 0
    torn = False

    def stage(self, path: str) -> Any:
        def tear() -> None:
            with FolderStore.stage(self, path) as sink:
                sink.write(b"PAR1 and no more")

        die(tear)
        return super().stage(path)

    def move(self, source: str, to: str, *, fresh: bool = False) -> None:
        die(lambda: FolderStore.move(self, source, to, fresh=fresh))
        super().move(source, to, fresh=fresh)

    def remove_tree(self, folder: str) -> None:
        die(lambda: FolderStore.remove_tree(self, folder))
        super().remove_tree(folder)


def die(tear: Callable[[], object]) -> None:
    """Counts a change; the last one is begun at most."""
    DyingStore.left -= 1
    if DyingStore.left < 0:
        if DyingStore.torn:
            tear()
        os.kill(os.getpid(), signal.SIGKILL)


def run_and_die(path: Path, changes: int, torn: bool) -> None:
    """Run a job with a store and a catalog that let so many changes through."""
    from aerolog.catalog.export import store
    from aerolog.catalog.export.pipeline import commit

    DyingStore.left, DyingStore.torn = changes, torn
    store.FolderStore = DyingStore  # type: ignore[misc]
    for name in ("apply_commit", "journal_commit"):
        noted = getattr(commit, name)

        def dying(*args: Any, noted: Any = noted, **options: Any) -> Any:
            die(lambda: noted(*args, **options))
            return noted(*args, **options)

        setattr(commit, name, dying)
    run_here(path)


def in_child(work: Callable[[], None]) -> int:
    """Do something in a fork of this process; returns how it ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def content(out: Path) -> dict[str, str]:
    """What a reader sees: files and hashes of their content."""
    return {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in visible(out)}


def kill(path: Path, template: Path, changes: int, torn: bool) -> dict[str, Any]:
    """Kill a run of a job and run it again; what was seen then."""
    archive, out = path.parent / "archive", path.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    for found in archive.glob(f"{DATABASE_NAME}*"):
        found.unlink()
    (archive / JOURNAL_NAME).unlink(missing_ok=True)
    shutil.copy(template, archive / DATABASE_NAME)
    ended = in_child(lambda: run_and_die(path, changes, torn))
    assert ended in {0, -signal.SIGKILL}, ended
    died = ended != 0
    seen = content(out)
    again = in_child(lambda: run_here(path) and None)
    left = [one.name for one in (out / "_aerolog/staging").glob("*")]
    found = {"died": died, "seen": seen, "again": again, "then": content(out), "left": left}
    return {"changes": changes, "torn": torn} | found


def main() -> None:
    """Kill a job at every change that it makes; a JSON line for each: ``JOB.toml``."""
    path = Path(sys.argv[1])
    archive = path.parent / "archive"
    template = path.with_suffix(".db")

    def sync() -> None:
        with RecordingCatalog.open(archive_dir=archive) as catalog:
            sync_folder(catalog, archive)

    assert in_child(sync) == 0
    shutil.copy(archive / DATABASE_NAME, template)
    print(json.dumps(kill(path, template, 10**9, torn=False)))
    for torn in (False, True):
        for changes in range(100):
            killed = kill(path, template, changes, torn)
            print(json.dumps(killed))
            if not killed["died"]:
                break


if __name__ == "__main__":
    main()
