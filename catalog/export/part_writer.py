"""The writer of an export: it writes a range of a recording to files of rows and of rejects."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.archive_folder import ScanTotals
from aerolog.catalog.arrow.record_times import UNINDEXED, SettledTimes
from aerolog.catalog.arrow.schema import (
    METADATA_TOTALS,
    METADATA_UNTIL_POSITION,
    arrow_schema,
    recording_metadata,
)
from aerolog.catalog.export.layout import REJECTS, ROWS
from aerolog.catalog.export.lineage import fingerprint, fingerprint_start, last_positions
from aerolog.catalog.export.manifest import RangeEntry
from aerolog.catalog.export.part_files import PartFile, PartFiles
from aerolog.catalog.export.prefetch import prefetched
from aerolog.catalog.export.row_groups import row_groups
from aerolog.catalog.extras import require
from aerolog.transport.errors import FileFormatError
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.catalog.decoders import Decoder
    from aerolog.catalog.export.layout import Folders
    from aerolog.catalog.export.manifest import FileEntry
    from aerolog.catalog.export.options import ExportOptions
    from aerolog.catalog.export.row_groups import RowGroup
    from aerolog.catalog.export.sources import SourceRecording
    from aerolog.catalog.export.store import Store

METADATA_TABLE: Final = b"aerolog.table"
METADATA_OPTIONS: Final = b"aerolog.export"
METADATA_REJECTED: Final = b"aerolog.rejected"
_PURPOSE: Final = "exporting recordings to Parquet"
# These columns have few values, or long runs of one value.
_DICTIONARY: Final = ("recording_id", "term_id", "session_id", "stream_id", "flags", "record_time")
_NO_DICTIONARY: Final = ("position", "term_offset", "reserved_value", "payload")
# Values that rise evenly take a fraction of the room and time.
_DELTA: Final = ("position", "term_offset", "reserved_value")


@repr_without_secrets
@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A range of a recording that becomes a file, or two.

    Attributes:
        recording: to read from.
        descriptor: that is put into the files, as it was when the export began.
        folders: of the recording's files.
        archive: of the recording in the manifest, see `RangeEntry`.
        from_position: where the range begins.
        until_position: where the range ends.
        sparse: whether a range without rows has no file.
        threaded: whether another thread may read the recording.
        settled: what of the recording's time index counts.
        skip_damage: whether reading goes on behind damage.
    """

    recording: SourceRecording
    descriptor: RecordingDescriptor
    folders: Folders
    archive: str
    from_position: int
    until_position: int
    sparse: bool
    threaded: bool
    settled: SettledTimes = UNINDEXED
    skip_damage: bool = False


@dataclass(slots=True)
class WrittenPart:
    """What became of a part.

    Attributes:
        range: that was read: it ends before damage, behind the last message.
        files: that have it, in the order of the tables.
        damage: what ended it, None when nothing did.
    """

    range: RangeEntry
    files: list[FileEntry]
    damage: FileFormatError | None


@dataclass(frozen=True, slots=True)
class _Described:
    """The part of a recording that `recording_metadata` reads."""

    descriptor: RecordingDescriptor


class PartWriter:
    """Writes parts of recordings with the same options."""

    def __init__(self, target: Store, options: ExportOptions, decoder: Decoder | None) -> None:
        self._target = target
        self._options = options
        self._decoder = decoder
        self._pyarrow, self._numpy = require("pyarrow", _PURPOSE), require("numpy", _PURPOSE)
        dropped = options.dropped_columns
        from aerolog.catalog.decoders.batches import REJECTS_SCHEMA, SCANNED_COLUMNS, decoded_schema

        self._rejects_schema = _without(self._pyarrow, REJECTS_SCHEMA, dropped)
        if decoder is None:
            schema = arrow_schema()
            self._columns = tuple(name for name in schema.names if name not in dropped)
        else:
            schema = decoded_schema(decoder)
            self._columns = SCANNED_COLUMNS
        self._schema = _without(self._pyarrow, schema, dropped)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the files of rows, without metadata."""
        return self._schema

    def write(
        self, part: Part, on_group: Callable[[int, ScanTotals], object] | None = None
    ) -> WrittenPart:
        """Write the files of a part.

        Args:
            part: to write.
            on_group: called with position and totals when a row group is written.

        Raises:
            OSError: a file could not be written, or a segment not be read.
        """
        totals = ScanTotals(part.from_position)
        found = row_groups(
            self._batches(part, totals),
            length=self._options.row_group_length,
            from_position=part.from_position,
            totals=totals,
        )
        groups: Iterator[RowGroup] = prefetched(found) if part.threaded else found
        position, damage = part.from_position, None
        ends = self._numpy.array([position])
        with PartFiles[str](lambda table: self._begin(part, table)) as files:
            try:
                for group in groups:
                    for table, batches in ((ROWS, group.rows), (REJECTS, group.rejects)):
                        if batches:
                            files.file(table).write_group(batches)
                    ends = last_positions(
                        [ends, *(batch["position"].to_numpy() for batch in group.batches)]
                    )
                    position = group.position
                    if on_group is not None:
                        on_group(position, group.totals)
            except FileFormatError as error:
                damage = error
            if totals.gaps:
                files.file(REJECTS).write_group([self._gap_rejects(part, totals)])
            if REJECTS in files or not part.sparse:
                files.file(ROWS)
            until = part.until_position if damage is None else position
            entry = self._finished(part, files, totals, until)
        first = fingerprint_start(ends)
        mark = fingerprint(part.recording, first, until)
        entry = replace(entry, fingerprint=mark, fingerprint_from=first)
        return WrittenPart(entry, files.entries, damage)

    def _finished(
        self,
        part: Part,
        files: PartFiles[str],
        totals: ScanTotals,
        until: int,
    ) -> RangeEntry:
        rejected = sum(file.rows for file in files if file.table == REJECTS)
        for file in files:
            file.path = part.folders.path(file.table, part.from_position, until)
        files.finish(
            {
                METADATA_UNTIL_POSITION: str(until).encode(),
                METADATA_TOTALS: json.dumps(_counts(totals)).encode(),
                METADATA_REJECTED: str(rejected).encode(),
            }
        )
        return RangeEntry(
            archive=part.archive,
            recording_id=part.descriptor.recording_id,
            from_position=part.from_position,
            until_position=until,
            messages=totals.rows,
            payload_bytes=totals.payload_bytes,
            rows=sum(file.rows for file in files.entries if file.table == ROWS),
            rejected=rejected,
            skipped_fragments=totals.skipped_fragments,
            checksum_mismatches=totals.checksum_mismatches,
            files=sorted(file.path for file in files.entries),
            gaps=[[gap.from_position, gap.until_position] for gap in totals.gaps],
        )

    def _gap_rejects(self, part: Part, totals: ScanTotals) -> pa.RecordBatch:
        rows = [
            {
                "recording_id": part.descriptor.recording_id,
                "position": gap.from_position,
                "reason": gap.text,
            }
            for gap in totals.gaps
        ]
        return self._pyarrow.RecordBatch.from_pylist(rows, self._rejects_schema)

    def _batches(
        self, part: Part, totals: ScanTotals
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch | None]]:
        scanned = part.recording.batches(
            self._columns,
            from_position=part.from_position,
            until_position=part.until_position,
            assemble=self._options.assemble,
            totals=totals,
            short=self._decoder is not None,
            settled=part.settled,
            skip_damage=part.skip_damage,
        )
        if self._decoder is None:
            for batch in scanned:
                yield batch, None
            return
        from aerolog.catalog.decoders.batches import decoded_batches

        for rows, rejects in decoded_batches(scanned, self._decoder):
            yield (
                rows.select(self._schema.names),
                rejects.select(self._rejects_schema.names),
            )

    def _begin(self, part: Part, table: str) -> PartFile:
        """Begin one of a part's files."""
        schema = self._schema if table == ROWS else self._rejects_schema
        metadata = recording_metadata(
            _Described(part.descriptor),  # type: ignore[arg-type]
            assemble=self._options.assemble,
            from_position=part.from_position,
            until_position=part.until_position,
        )
        del metadata[METADATA_UNTIL_POSITION]
        metadata[METADATA_TABLE] = table.encode()
        metadata[METADATA_OPTIONS] = json.dumps(self._options.as_dict(), sort_keys=True).encode()
        path = part.folders.path(table, part.from_position, part.until_position)
        return PartFile(
            self._target,
            table,
            path,
            staged=self._target.staged(path),
            schema=schema.with_metadata(metadata),
            options=writer_options(schema, self._options),
        )


def writer_options(schema: pa.Schema, options: ExportOptions) -> dict[str, Any]:
    """Options of ``pyarrow.parquet.ParquetWriter`` for files of a schema.

    Statistics and the page index are there for all columns but binary ones, where they would cost
    more than they tell.
    """
    pyarrow, parquet = require("pyarrow", _PURPOSE), require("pyarrow.parquet", _PURPOSE)
    names = [field.name for field in schema if not _is_binary(pyarrow, field.type)]
    ascending = parquet.SortingColumn(schema.get_field_index("position"))
    return {
        "compression": options.compression,
        "compression_level": options.compression_level,
        "use_dictionary": [
            name for name in schema.names if name in _DICTIONARY or name not in _NO_DICTIONARY
        ],
        "column_encoding": {name: "DELTA_BINARY_PACKED" for name in schema.names if name in _DELTA},
        "write_statistics": names,
        "write_page_index": True,
        "sorting_columns": [ascending],
    }


def _counts(totals: ScanTotals) -> dict[str, Any]:
    """The totals as the file's metadata have them: gaps are in the rejects."""
    return {name: value for name, value in asdict(totals).items() if name != "gaps"}


def _without(pyarrow: Any, schema: pa.Schema, dropped: frozenset[str]) -> pa.Schema:
    return pyarrow.schema([field for field in schema if field.name not in dropped])


def _is_binary(pyarrow: Any, kind: Any) -> bool:
    checks = (
        pyarrow.types.is_binary,
        pyarrow.types.is_large_binary,
        pyarrow.types.is_fixed_size_binary,
    )
    return any(check(kind) for check in checks)
