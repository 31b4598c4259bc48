"""Jobs and archives for tests of pipelines, and an executor that works in this process."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from aerolog.catalog.pipeline.job import load_job
from aerolog.catalog.pipeline.loading import load
from aerolog.catalog.pipeline.running import run_job
from aerolog.catalog.pipeline.target import LocalStore, open_store
from aerolog.catalog.pipeline.writing import write
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.catalog.pipeline.running import Work
    from aerolog.catalog.pipeline.units import UnitResult

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

    def run(self, work: Work, progress: Callable[[int], None]) -> list[UnitResult]:
        assert not work.job.rules
        results = []
        for unit in work.units:
            batches = load(unit, work.decoder, reject_damage=work.job.output.on_damage == "reject")
            results.append(write(unit, batches, work.how, open_store(work.how.to)))
            progress(len(results))
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


class DyingStore(LocalStore):
    """Kills this process when a number of changes were made, or in the middle of the last one."""

    left = 0
    torn = False

    def _step(self, finish: Callable[[], Any], tear: Callable[[], Any]) -> Any:
        cls = DyingStore
        cls.left -= 1
        if cls.left < 0:
            if cls.torn:
                tear()
            os.kill(os.getpid(), signal.SIGKILL)
        return finish()

    def put(self, path: str, content: bytes, *, fresh: bool = False) -> None:
        self._step(
            lambda: LocalStore.put(self, path, content, fresh=fresh),
            lambda: None,
        )

    def create(self, path: str) -> Any:
        def tear() -> None:
            with LocalStore.create(self, path) as sink:
                sink.write(b"PAR1 and no more")

        return self._step(lambda: LocalStore.create(self, path), tear)

    def move(self, source: str, to: str) -> None:
        self._step(
            lambda: LocalStore.move(self, source, to), lambda: LocalStore.move(self, source, to)
        )

    def remove_tree(self, path: str) -> None:
        self._step(lambda: LocalStore.remove_tree(self, path), lambda: None)


def main() -> None:
    """Run a job and be killed: ``JOB.toml STEPS torn|whole``; tells when it came to its end."""
    from aerolog.catalog.pipeline import running, target

    path, steps, way = sys.argv[1:]
    DyingStore.left, DyingStore.torn = int(steps), way == "torn"
    target.LocalStore = DyingStore  # type: ignore[misc]
    assert running.open_store is open_store
    run_here(Path(path))
    print("complete", int(steps) - DyingStore.left)


if __name__ == "__main__":
    main()
