"""Recordings of one or many archives as one Arrow dataset, which is read on demand.

``ArchiveDataset`` is to recordings what ``pyarrow.dataset.Dataset`` is to Parquet files: it has a
schema, makes scanners for wanted columns and a filter, and is read in bounded memory. DuckDB and
Polars accept it as a dataset, and hand their columns and filters down to it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from aerolog.archive.format.recording_read import ScanTotals
from aerolog.catalog.arrow.arrow_recording import record_batches
from aerolog.catalog.arrow.lazy_dataset import LazyDataset
from aerolog.catalog.arrow.pushdown import HIGHEST, LOWEST, Bound, ColumnBounds
from aerolog.catalog.arrow.record_times import RowTimes
from aerolog.catalog.arrow.schema import COLUMN_NAMES, arrow_schema
from aerolog.catalog.extras import require
from aerolog.catalog.locations import (
    Choice,
    OpenPlaces,
    PlacedRecording,
    check_known,
    recordings_of,
)
from aerolog.catalog.times import TimeRange, TimeSource
from aerolog.transport.errors import ArchiveError, RecordingChangedError
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from aerolog.archive.format.archive_folder import ArchiveFolder, Recording
    from aerolog.archive.format.recording_read import Gap
    from aerolog.catalog.index import RecordingCatalog
    from aerolog.catalog.index.search import Search
    from aerolog.catalog.times import Time

_pyarrow = require("pyarrow", "reading recordings as Arrow data")

ARCHIVE_COLUMN = "archive_fk"
# Bounds of these columns are applied exactly, by selecting recordings or in the native scan.
_PUSHED = frozenset({"recording_id", "position", "session_id", "stream_id", ARCHIVE_COLUMN})


class ArchiveDataset(LazyDataset):
    """Recordings in archives' folders, or those that a SQL catalog knows.

    Bounds of ``recording_id``, ``stream_id``, ``session_id``, ``position`` and ``record_time`` in a
    filter limit what is read; the other conditions are tested row by row. When ``payload`` is not
    among the columns, no payload is copied.

    Attributes:
        gaps: by recording, what its last read has skipped so far; empty without ``skip_damage``.
    """

    def __init__(
        self,
        source: str | Path | Sequence[str | Path] | RecordingCatalog,
        choice: Choice | Search | None = None,
        *,
        assemble: bool = True,
        since: Time | None = None,
        until: Time | None = None,
        time_source: TimeSource | str = "index",
        archive_keys: Mapping[str, int] | None = None,
        skip_damage: bool = False,
    ) -> None:
        """Create the dataset; nothing is opened before it is read.

        Args:
            source: an archive's folder or its URL (see ``aerolog.catalog.locations``), several of
                them, the URL of a SQL catalog, or an open SQL catalog.
            choice: which recordings; a ``Search`` needs an open catalog.
            assemble: True makes a row of each message, False of each fragment.
            since: only rows that were recorded then or later, epoch milliseconds or a datetime (one
                without a zone is UTC); of recordings without a time index, all rows of those that
                had not stopped by then.
            until: only rows that were recorded before; of recordings without a time index, all rows
                of those that had begun before.
            time_source: the source of ``record_time``; see `TimeSource`.
            archive_keys: place -> number, which adds a column ``archive_fk`` with the number to the
                rows.
            skip_damage: True goes on behind what is damaged or missing, and notes it in ``gaps``.

        Raises:
            MissingExtraError: Arrow is not installed.
            ConfigurationError: there is no such source of times.
        """
        self._source = source
        self._choice = choice
        self._assemble = assemble
        self._within = TimeRange.of(since, until)
        self._time_source = TimeSource.parse(time_source)
        self._keys = archive_keys
        self._skip_damage = skip_damage
        self.gaps: dict[PlacedRecording, list[Gap]] = {}
        schema = arrow_schema()
        if archive_keys is not None:
            column = _pyarrow.field(ARCHIVE_COLUMN, _pyarrow.int64(), nullable=False)
            schema = schema.append(column)
        super().__init__(schema)

    def read(
        self, columns: Sequence[str], bounds: ColumnBounds, **options: int
    ) -> Iterator[pa.RecordBatch]:
        """Read the batches within bounds, recording by recording.

        Args:
            columns: the wanted columns.
            bounds: the bounds of columns. Those of ``recording_id``, ``stream_id``, ``session_id``
                and ``position`` are applied exactly; the bound of ``record_time`` only limits what
                is read, and the caller applies the others.
            options: options of ``record_batches``.
        """
        with OpenPlaces() as places:
            for placed in self._placed(bounds):
                recording = _recording(places.folder(placed.place), placed)
                if self._is_wanted(recording, bounds):
                    totals = ScanTotals(recording.start_position)
                    try:
                        yield from self._batches(
                            recording, placed.place, columns, bounds, options, totals
                        )
                    finally:
                        if totals.gaps:
                            self.gaps[placed] = totals.gaps

    def answers(self, bounds: ColumnBounds) -> bool:
        """Whether a read within bounds returns just the rows that they select."""
        position, sessions = bounds.of("position"), bounds.of("session_id")
        return (
            bounds.exact
            and _PUSHED.issuperset(bounds.columns)
            and not position.without
            and (position.values is None or position.low >= position.high)
            and (sessions.values is not None or sessions == Bound())
        )

    def _placed(self, bounds: ColumnBounds) -> Iterable[PlacedRecording]:
        ids = bounds.of("recording_id")
        keys = bounds.of(ARCHIVE_COLUMN)
        for placed in self._listed(ids.values):
            if not ids.allows(placed.recording_id):
                continue
            if self._keys is None or keys.allows(self._keys[placed.place]):
                yield placed

    def _listed(self, ids: frozenset[int] | None) -> Iterable[PlacedRecording]:
        source, choice = self._source, self._choice
        if isinstance(source, str | Path):
            return _in_places([source], choice, ids)
        if isinstance(source, list | tuple):
            return _in_places(source, choice, ids)
        return _in_catalog(cast("RecordingCatalog", source), choice, ids)

    def _is_wanted(self, recording: Recording, bounds: ColumnBounds) -> bool:
        descriptor = recording.descriptor
        if not bounds.of("stream_id").allows(descriptor.stream_id):
            return False
        position, sessions = bounds.of("position"), bounds.of("session_id")
        if position.low > position.high or sessions.low > sessions.high:
            return False
        return not (
            position.low > recording.end_position or position.high < recording.start_position
        )

    def _batches(
        self,
        recording: Recording,
        place: str,
        columns: Sequence[str],
        bounds: ColumnBounds,
        options: Mapping[str, int],
        totals: ScanTotals,
    ) -> Iterator[pa.RecordBatch]:
        position, within = bounds.of("position"), self._within
        if "record_time" in bounds.columns:
            asked = _range_of(bounds.of("record_time"))
            if not self._has_times(recording):
                return  # a comparison with null is true for no row
            within &= asked
        schema = _pyarrow.schema([self.schema.field(name) for name in columns])
        for batch in record_batches(
            recording,
            columns=tuple(name for name in columns if name in COLUMN_NAMES) or ("position",),
            assemble=self._assemble,
            after_position=position.low - 1 if position.low > 0 else None,
            until_position=min(position.high, recording.end_position),
            session_ids=bounds.of("session_id").values,
            within=within,
            time_source=self._time_source,
            totals=totals,
            skip_damage=self._skip_damage,
            **options,  # type: ignore[arg-type]
        ):
            arrays = [
                self._key_column(place, batch.num_rows)
                if name == ARCHIVE_COLUMN
                else batch.column(name)
                for name in columns
            ]
            yield _pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

    def _has_times(self, recording: Recording) -> bool:
        return RowTimes.of(recording, self._time_source).known

    def _key_column(self, place: str, rows: int) -> Any:
        keys = self._keys or {}
        return _pyarrow.repeat(_pyarrow.scalar(keys[place], _pyarrow.int64()), rows)


def _range_of(bound: Bound) -> TimeRange:
    """The range of time that a bound of ``record_time`` allows; both ends of it are included."""
    return TimeRange(
        None if bound.low <= LOWEST else bound.low,
        None if bound.high >= HIGHEST else bound.high + 1,
    )


def _in_places(
    places: Sequence[str | Path], choice: Choice | Search | None, ids: frozenset[int] | None
) -> Iterable[PlacedRecording]:
    if not isinstance(choice, Choice | None):
        raise TypeError(f"{type(choice).__name__} goes with an open catalog; pass a Choice")
    wanted = choice or Choice()
    check_known(map(str, places), wanted)
    wanted = replace(wanted, allow_unknown=True)
    if ids is not None and wanted.recording_ids is None:
        wanted = replace(wanted, recording_ids=tuple(sorted(ids)))
    return (placed for place in places for placed in recordings_of(str(place), wanted))


def _in_catalog(
    catalog: RecordingCatalog, choice: Choice | Search | None, ids: frozenset[int] | None
) -> Iterable[PlacedRecording]:
    from aerolog.catalog.index.models import READABLE
    from aerolog.catalog.index.search import Search, search

    if not isinstance(choice, Search | None):
        raise TypeError(f"{type(choice).__name__} goes with places; pass a Search")
    wanted = choice or Search(order="id")
    if ids is not None and wanted.recording_ids is None and wanted.limit is None:
        wanted = replace(wanted, recording_ids=sorted(ids))
    return [
        PlacedRecording(found.place, found.recording_id)
        for found in search(catalog, wanted)
        if found.state in READABLE
    ]


def _recording(folder: ArchiveFolder, placed: PlacedRecording) -> Recording:
    try:
        return folder.recording(placed.recording_id)
    except ArchiveError as error:
        raise RecordingChangedError(
            f"{error} in {without_secrets(placed.place)}, though it was there when recordings were"
            " listed: it was purged or invalidated (position 0); after that, a SQL catalog wants:"
            " aerolog catalog sync",
            placed.recording_id,
            0,
        ) from error
