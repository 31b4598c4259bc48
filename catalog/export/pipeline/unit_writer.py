"""The writer of a unit: it writes the batches to staged files, in the task that read them."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from aerolog.catalog.export.layout import REJECTS, ROWS
from aerolog.catalog.export.manifest import RangeEntry
from aerolog.catalog.export.part_files import PartFile, PartFiles
from aerolog.catalog.export.pipeline import columns as c
from aerolog.catalog.export.pipeline.output import STAGING, open_output
from aerolog.catalog.export.pipeline.units import Unit, UnitResult
from aerolog.catalog.extras import require
from aerolog.transport.secrets import repr_without_secrets, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    import pyarrow.compute as pc

    from aerolog.catalog.export.store import Store
else:
    pa = require("pyarrow", "pipelines")
    pc = require("pyarrow.compute", "pipelines")

_SHOWN_REJECTS: Final = 5
_EPOCH: Final = date(1970, 1, 1)
NO_DATE: Final = "__HIVE_DEFAULT_PARTITION__"  # The folder name that Spark and Hive read as null.


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options that all units of a run have in common when they are written.

    Attributes:
        to: folder or URL of the target.
        run_id: names the run.
        sequence: number of the run's commit.
        rows: schema of a row, see ``columns.row_schema``.
        date_column: name of the partition column.
        compression: codec of the files.
        compression_level: level of the codec, None for its default.
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
        batches: as ``unit_reader.load`` gives them, after the rules were applied.
        how: options for writing files.
        store: of the target; by default it is opened.

    Raises:
        OSError: the target cannot be written to.
    """
    writer = _UnitWriter(unit, how, store or open_output(how.to))
    with writer.files:
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


class _UnitWriter:
    """Sorts batches into files by table and date."""

    def __init__(self, unit: Unit, how: WriteOptions, store: Store) -> None:
        self.files = PartFiles(self._begin)
        self.failure: str | None = None
        self._unit = unit
        self._how = how
        self._store = store
        self._attempt = uuid.uuid4().hex[:12]
        self._archive = without_secrets(unit.place)
        self._schemas = {ROWS: c.table_schema(how.rows, how.date_column), REJECTS: c.REJECTS}
        self._parts: dict[tuple[str, int | None], int] = {}
        self._counted = {part.recording_id: _Counted() for part in unit.slices}
        self._ranges: list[RangeEntry] = []
        self._rejects: list[tuple[int, int, str]] = []
        self._kept = dict.fromkeys(how.kept_rules, 0)

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
                    RangeEntry(**json.loads(text)) for text in part.column(c.TEXT).to_pylist()
                ]
            else:
                self.failure = part.column(c.TEXT)[0].as_py()

    def finish(self) -> UnitResult:
        """Close all files."""
        self.files.finish()
        self._store.settle()
        ranges = []
        for loaded in self._ranges:
            counted = self._counted[loaded.recording_id]
            ranges.append(
                replace(
                    loaded,
                    rows=counted.rows,
                    rejected=counted.rejected,
                    files=sorted(counted.files),
                )
            )
        return UnitResult(
            self._unit.index,
            ranges,
            self.files.entries,
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
        file = self.files.add(key, self._columns(table, batch))
        counts = pc.value_counts(batch.column("recording_id"))
        for one in counts.to_pylist():
            counted = self._counted[one["values"]]
            counted.files.add(file.path)
            if table == ROWS:
                counted.rows += one["counts"]
            else:
                counted.rejected += one["counts"]

    def _columns(self, table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        named = {"archive": pa.repeat(self._archive, batch.num_rows)}
        if table == REJECTS:
            named |= {"reason": batch.column(c.TEXT), "payload": batch.column(c.PAYLOAD)}
        schema = self._schemas[table]
        arrays = [
            named[one.name] if one.name in named else batch.column(one.name) for one in schema
        ]
        return c.cast_batch(pa.RecordBatch.from_arrays(arrays, names=schema.names), schema)

    def _begin(self, key: tuple[str, int | None]) -> PartFile:
        table, days = key
        number = self._parts[key] = self._parts.get(key, -1) + 1
        day = NO_DATE if days is None else (_EPOCH + timedelta(days)).isoformat()
        how, unit = self._how, self._unit
        name = f"{how.sequence:08d}-{unit.index:05d}" + (f"-{number}" if number else "")
        folder = f"{table}/{how.date_column}={day}/stream_id={unit.stream_id}"
        level = how.compression_level if how.compression in {"zstd", "gzip"} else None
        return PartFile(
            self._store,
            table,
            f"{folder}/{name}.parquet",
            staged=f"{STAGING}/{how.run_id}/{table}-{day}-{name}-{self._attempt}.parquet",
            schema=self._schemas[table],
            options={"compression": how.compression, "compression_level": level},
        )
