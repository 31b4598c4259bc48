"""Writes one unit's batches to staged Parquet files, in the task that read the unit.

Memory is bounded: rows that wait for their row group take at most ``BUFFERED_BYTES`` over all
open files, and at most ``OPEN_FILES`` files are open.
"""

from __future__ import annotations

import json
import uuid
from collections import OrderedDict
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.export.checksum import Sha256
from aerolog.catalog.export.layout import REJECTS, ROWS
from aerolog.catalog.export.parquet_file import ParquetFile
from aerolog.catalog.export.pipeline import columns as c
from aerolog.catalog.export.pipeline.commit_manifest import LoadedFile, LoadedRange
from aerolog.catalog.export.pipeline.output import STAGING, open_output
from aerolog.catalog.export.pipeline.units import Unit, UnitResult
from aerolog.catalog.extras import require
from aerolog.catalog.locations import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    import pyarrow.compute as pc

    from aerolog.catalog.export.store import Store
else:
    pa = require("pyarrow", "pipelines")
    pc = require("pyarrow.compute", "pipelines")

BUFFERED_BYTES: Final = 128 * 1024 * 1024
ROW_GROUP_BYTES: Final = 64 * 1024 * 1024
OPEN_FILES: Final = 32
_SHOWN_REJECTS: Final = 5
_EPOCH: Final = date(1970, 1, 1)
NO_DATE: Final = "__HIVE_DEFAULT_PARTITION__"  # The folder name that Spark and Hive read as null.


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What all units of a run have in common when they are written.

    Attributes:
        to: the target.
        run_id: of the run.
        sequence: of its commit.
        rows: schema of a row, see ``columns.row_schema``.
        date_column: name of the partition column.
        compression: of Parquet.
        compression_level: of it.
        kept_rules: names of the rules whose breaks are counted only, by bit.
    """

    to: str
    run_id: str
    sequence: int
    rows: pa.Schema
    date_column: str
    compression: str
    compression_level: int | None
    kept_rules: tuple[str, ...] = ()


def write(
    unit: Unit, batches: Iterable[pa.RecordBatch], how: WriteOptions, store: Store | None = None
) -> UnitResult:
    """Stage a unit's files.

    Args:
        unit: whose batches they are.
        batches: as ``unit_reader.load`` gives them, rules applied.
        how: and where.
        store: of the target, opened by default.

    Raises:
        OSError: the target cannot be written to.
    """
    writer = _UnitWriter(unit, how, store or open_output(how.to))
    with writer:
        for batch in batches:
            writer.add(batch)
            if writer.failure is not None:
                return UnitResult(unit.index, failure=writer.failure)
        return writer.finish()


@dataclass(slots=True)
class _Counted:
    rows: int = 0
    rejected: int = 0
    files: set[str] = field(default_factory=set)


class _UnitWriter(ExitStack):
    """Sorts batches into files by table and date."""

    def __init__(self, unit: Unit, how: WriteOptions, store: Store) -> None:
        super().__init__()
        self.failure: str | None = None
        self._unit = unit
        self._how = how
        self._store = store
        self._attempt = uuid.uuid4().hex[:12]
        self._archive = without_secrets(unit.place)
        self._schemas = {ROWS: c.table_schema(how.rows, how.date_column), REJECTS: c.REJECTS}
        self._open: OrderedDict[tuple[str, int | None], _StagedFile] = OrderedDict()
        self._parts: dict[tuple[str, int | None], int] = {}
        self._files: list[LoadedFile] = []
        self._counted = {part.recording_id: _Counted() for part in unit.slices}
        self._ranges: list[LoadedRange] = []
        self._rejects: list[tuple[int, int, str]] = []
        self._kept = dict.fromkeys(how.kept_rules, 0)
        self.callback(self._abandon)

    def add(self, batch: pa.RecordBatch) -> None:
        """Write a batch, whose rows may be of one kind or of several."""
        kinds = batch.column(c.KIND)
        for kind in pc.unique(kinds).to_pylist():
            part = batch.filter(pc.equal(kinds, kind))
            if kind == c.ROW:
                self._add_rows(part)
            elif kind == c.REJECT:
                self._add_rejects(part)
            elif kind == c.TOTALS:
                self._ranges += [
                    LoadedRange(**(json.loads(text) | {"files": ()}))
                    for text in part.column(c.TEXT).to_pylist()
                ]
            else:
                self.failure = part.column(c.TEXT)[0].as_py()

    def finish(self) -> UnitResult:
        """Close all files."""
        for key in list(self._open):
            self._close(key)
        self._store.settle()
        ranges = []
        for loaded in self._ranges:
            counted = self._counted[loaded.recording_id]
            ranges.append(
                replace(
                    loaded,
                    rows=counted.rows,
                    rejected=counted.rejected,
                    files=tuple(sorted(counted.files)),
                )
            )
        return UnitResult(
            self._unit.index,
            tuple(ranges),
            tuple(self._files),
            tuple(self._rejects),
            tuple(self._kept.items()),
        )

    def _add_rows(self, batch: pa.RecordBatch) -> None:
        for bit, name in enumerate(self._how.kept_rules):
            broken = pc.bit_wise_and(batch.column(c.KEPT), 1 << bit)
            self._kept[name] += pc.sum(pc.not_equal(broken, 0)).as_py() or 0
        self._sort(ROWS, batch)

    def _add_rejects(self, batch: pa.RecordBatch) -> None:
        if len(self._rejects) < _SHOWN_REJECTS:
            few = batch.slice(0, _SHOWN_REJECTS - len(self._rejects))
            names = ("recording_id", "position", c.TEXT)
            shown = (few.column(name).to_pylist() for name in names)
            self._rejects += zip(*shown, strict=True)
        self._sort(REJECTS, batch)

    def _sort(self, table: str, batch: pa.RecordBatch) -> None:
        days = batch.column(c.DATE)
        for day in pc.unique(days).to_pylist():
            same = pc.is_null(days) if day is None else pc.equal(days, day)
            self._add_to(table, day, batch.filter(same))

    def _add_to(self, table: str, day: date | None, batch: pa.RecordBatch) -> None:
        key = (table, None if day is None else (day - _EPOCH).days)
        part = self._open.get(key)
        if part is None:
            part = self._begin(key)
        self._open.move_to_end(key)
        counts = pc.value_counts(batch.column("recording_id"))
        for one in counts.to_pylist():
            counted = self._counted[one["values"]]
            counted.files.add(part.path)
            if table == ROWS:
                counted.rows += one["counts"]
            else:
                counted.rejected += one["counts"]
        part.add(self._columns(table, batch))
        while sum(one.buffered for one in self._open.values()) > BUFFERED_BYTES:
            max(self._open.values(), key=lambda one: one.buffered).flush()

    def _columns(self, table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        named = {"archive": pa.repeat(self._archive, batch.num_rows)}
        if table == REJECTS:
            named |= {"reason": batch.column(c.TEXT), "payload": batch.column(c.PAYLOAD)}
        schema = self._schemas[table]
        arrays = [
            named[one.name] if one.name in named else batch.column(one.name) for one in schema
        ]
        return c.cast_batch(pa.RecordBatch.from_arrays(arrays, names=schema.names), schema)

    def _begin(self, key: tuple[str, int | None]) -> _StagedFile:
        if len(self._open) >= OPEN_FILES:
            self._close(next(iter(self._open)))
        table, days = key
        number = self._parts[key] = self._parts.get(key, -1) + 1
        day = NO_DATE if days is None else (_EPOCH + timedelta(days)).isoformat()
        how, unit = self._how, self._unit
        name = f"{how.sequence:08d}-{unit.index:05d}" + (f"-{number}" if number else "")
        folder = f"{table}/{how.date_column}={day}/stream_id={unit.stream_id}"
        staged = f"{table}-{day}-{name}-{self._attempt}.parquet"
        level = how.compression_level if how.compression in {"zstd", "gzip"} else None
        part = _StagedFile(
            self._store,
            f"{STAGING}/{how.run_id}/{staged}",
            f"{folder}/{name}.parquet",
            self._schemas[table],
            {"compression": how.compression, "compression_level": level},
        )
        self._open[key] = part
        return part

    def _close(self, key: tuple[str, int | None]) -> None:
        self._files.append(self._open.pop(key).close())

    def _abandon(self) -> None:
        """What is open when an error or a failure ends it: nobody will look at it."""
        while self._open:
            self._open.popitem()[1].abandon()


class _StagedFile:
    """A file that is being staged.

    Attributes:
        path: where it will be.
        buffered: bytes of the rows that wait for their row group.
    """

    def __init__(
        self, store: Store, staged: str, path: str, schema: pa.Schema, options: dict[str, Any]
    ) -> None:
        self.path = path
        self.buffered = 0
        self._staged = staged.rpartition("/")[2]
        self._waiting: list[pa.RecordBatch] = []
        self._stack = ExitStack()
        sink = self._stack.enter_context(store.stage(staged, Sha256()))
        self._file = ParquetFile(sink, schema, options)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows, which wait for their row group."""
        self.buffered += batch.nbytes
        self._waiting.append(batch)
        if self.buffered >= ROW_GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows as a row group."""
        if self._waiting:
            self._file.write_group(self._waiting)
            self._waiting, self.buffered = [], 0

    def close(self) -> LoadedFile:
        """Complete the file."""
        with self._stack:
            self.flush()
            length, checksum = self._file.finish()
        return LoadedFile(self._staged, self.path, self._file.rows, length, checksum)

    def abandon(self) -> None:
        """Close the file and leave it incomplete."""
        with self._stack:
            self._file.abandon()
