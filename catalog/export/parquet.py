"""The functions that export: from a folder, a URL or a SQL catalog, to a folder or URL."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.catalog.export.local_runner import export
from aerolog.catalog.export.options import (
    COMPRESSION,
    COMPRESSION_LEVEL,
    FILE_LENGTH,
    ROW_GROUP_LENGTH,
    ExportOptions,
)
from aerolog.catalog.export.plan import Request
from aerolog.catalog.export.sources import folder_source
from aerolog.catalog.export.store import open_store
from aerolog.catalog.extras import require
from aerolog.catalog.locations import Choice, is_catalog_url, recordings_of
from aerolog.catalog.times import TimeSource
from aerolog.transport.errors import FileFormatError
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from aerolog.catalog.decoders import Decoder
    from aerolog.catalog.export.report import ExportProgress, ExportReport, ExportResult
    from aerolog.catalog.export.sources import Source
    from aerolog.catalog.index import RecordingCatalog
    from aerolog.catalog.index.search import Search

_PURPOSE = "exporting recordings to Parquet"


def export_parquet(
    place: str | Path | ArchiveFolder,
    recordings: Iterable[int] | Choice | Search | None,
    to: str | Path,
    *,
    decoder: Decoder | str | None = None,
    decoder_options: Mapping[str, str] | None = None,
    partition_by: Iterable[str] = ("recording_id",),
    until_positions: Mapping[int, int] | None = None,
    replace: bool = False,
    progress: Callable[[ExportProgress], object] | None = None,
    catalog: RecordingCatalog | str | None = None,
    assemble: bool = True,
    compression: str = COMPRESSION,
    compression_level: int | None = COMPRESSION_LEVEL,
    row_group_length: int = ROW_GROUP_LENGTH,
    file_length: int = FILE_LENGTH,
    time_source: TimeSource | str = "index",
    skip_damage: bool = False,
) -> ExportReport:
    """Export recordings to Parquet files, exactly once however often it is interrupted and run.

    What the target has already is not written again. The next run goes on with an export that was
    killed, and ends with the same files as one that was not. From the folder of a running archive,
    what was recorded when the export began is exported; the next run adds what came since.

    Args:
        place: an archive's folder by path or URL, an open one, or the URL of a SQL catalog.
        recordings: ids, a choice, a search over the SQL catalog, or None for all.
        to: folder or URL; ``s3://bucket/prefix?endpoint_override=...`` and what else
            ``pyarrow.fs`` knows.
        decoder: rows are the decoded columns in ``rows/``, and what cannot be decoded is in
            ``rejects/``. A name takes ``decoder_options``.
        decoder_options: options of a decoder that is given by its name.
        partition_by: of ``archive_id``, ``recording_id``, ``stream_id`` and ``date`` (when the
            recording began, UTC); with none there is one whole file for each recording.
        until_positions: by recording id, where to end before the recording does.
        replace: True writes the files of these recordings anew, even from one that has lost some
            of what they hold. Files of a partitioned layout are removed before that.
        progress: called after every row group.
        catalog: to note the exports in, open or by URL; by default ``place`` if it is one, or the
            one in the folder if it has one.
        assemble: rows are messages; False: fragments as they were sent.
        compression: of the files.
        compression_level: level of the codec; None for the codec's default.
        row_group_length: bytes of the recording in a row group.
        file_length: bytes of the recording in a file of a partitioned layout.
        time_source: of ``record_time``: ``index``, ``channel``, ``reserved``, ``none``, or the
            offset of a timestamp in the message.
        skip_damage: True exports what is behind damage too. A gap is a row of the rejects, whose
            files are in ``_rejects/`` when payloads are not decoded, and in the report.

    Returns:
        What was written. Damage to a recording does not end the export: what is before it is
        there, and the report tells it.

    Raises:
        MissingExtraError: Arrow is not installed.
        FileNotFoundError: the folder has no catalog.
        ArchiveError: UNKNOWN_RECORDING, before anything is written.
        FileFormatError: the folder's catalog is damaged.
        ExportError: see the subclasses: the target is in use, out of reach, or holds other things.
        CatalogError: the SQL catalog fails.
    """
    require("pyarrow.parquet", _PURPOSE)
    options = ExportOptions(
        partition_by=tuple(partition_by),
        assemble=assemble,
        compression=compression,
        compression_level=compression_level,
        row_group_length=row_group_length,
        file_length=file_length,
        time_source=TimeSource.parse(time_source),
    )
    url = place if isinstance(place, str) and is_catalog_url(place) else None
    noted = catalog or url
    made = _decoder(decoder, decoder_options)
    with _opened(place, recordings, noted) as wanted:
        return export(
            wanted,
            open_store(to),
            options,
            decoder=made,
            request=Request(
                until_positions=until_positions or {},
                replace=replace,
                skip_damage=skip_damage,
                progress=progress,
            ),
            catalog=noted,
        )


def export_recordings(
    archive_dir: str | Path,
    ids: Iterable[int] | None,
    to: str | Path,
    *,
    raw_fragments: bool = False,
    progress: Callable[[ExportProgress], object] | None = None,
    until_positions: Mapping[int, int] | None = None,
    compression: str = COMPRESSION,
    compression_level: int | None = COMPRESSION_LEVEL,
) -> list[ExportResult]:
    """Write recordings of an archive's folder to one Parquet file each, ``recording-<id>.parquet``.

    As `export_parquet` without partitions, and existing files of the recordings are replaced. An
    interruption (or any error) leaves the files that were finished, and nothing of the one that was
    not.

    Args:
        archive_dir: the folder, ours or the reference's; it is only read.
        ids: of VALID recordings; None for all of them.
        to: folder of the files, created when it is missing.
        raw_fragments: a row is a fragment as it was sent, not a message.
        progress: called after every row group.
        until_positions: by recording id, where to end before the recording does.
        compression: of the Parquet files.
        compression_level: level of the codec; None for the codec's default.

    Raises:
        FileFormatError: a catalog or segment is damaged or missing; what is before the damage was
            written, and the other recordings.
        Exception: as for `export_parquet`.
    """
    report = export_parquet(
        archive_dir,
        ids,
        to,
        partition_by=(),
        until_positions=until_positions,
        replace=True,
        progress=progress,
        assemble=not raw_fragments,
        compression=compression,
        compression_level=compression_level,
    )
    for result in report.results:
        if result.damage is not None:
            raise FileFormatError(result.damage)
    return report.results


def _decoder(decoder: Decoder | str | None, options: Mapping[str, str] | None) -> Decoder | None:
    if decoder is None or not isinstance(decoder, str):
        return decoder
    from aerolog.catalog.decoders import make_decoder

    return make_decoder(decoder, dict(options or {}))


@contextmanager
def _opened(
    place: str | Path | ArchiveFolder,
    recordings: Iterable[int] | Choice | Search | None,
    catalog: RecordingCatalog | str | None,
) -> Iterator[list[tuple[Source, int]]]:
    """Sources and ids of the wanted recordings, once each; sources are open in the context."""
    with ExitStack() as stack:
        if isinstance(place, ArchiveFolder):
            sources: dict[str, Any] = {place.path: stack.enter_context(folder_source(place))}
        else:
            sources = {}
        wanted = []
        for name, recording_id in _chosen(place, recordings, catalog):
            if name not in sources:
                sources[name] = stack.enter_context(folder_source(name))
            wanted.append((sources[name], recording_id))
        yield wanted


def _chosen(
    place: str | Path | ArchiveFolder,
    recordings: Iterable[int] | Choice | Search | None,
    catalog: RecordingCatalog | str | None,
) -> list[tuple[str, int]]:
    """Places and ids of the recordings that are wanted, in order."""
    name = place.path if isinstance(place, ArchiveFolder) else str(place)
    if not isinstance(recordings, Choice) and hasattr(recordings, "order"):
        return _searched(name, recordings, catalog)
    if isinstance(recordings, Choice) or recordings is None or is_catalog_url(name):
        choice = recordings if isinstance(recordings, Choice) else None
        if choice is None and recordings is not None:
            choice = Choice(recording_ids=tuple(recordings))  # type: ignore[arg-type]
        found = recordings_of(name, choice)
        return [(placed.place, placed.recording_id) for placed in found]
    return [(name, recording_id) for recording_id in dict.fromkeys(recordings)]


def _searched(
    place: str, wanted: Any, catalog: RecordingCatalog | str | None
) -> list[tuple[str, int]]:
    """Recordings that a search finds; only those of the place's archive if that is a folder."""
    from aerolog.catalog.index import RecordingCatalog
    from aerolog.catalog.index.journal import place_of
    from aerolog.catalog.index.search import check_ids, search

    if not is_catalog_url(place):
        wanted = dataclasses.replace(wanted, archive=place_of(place))
    with ExitStack() as stack:
        if catalog is None:
            catalog = stack.enter_context(RecordingCatalog.open(archive_dir=place))
        elif isinstance(catalog, str):
            catalog = stack.enter_context(RecordingCatalog.open(catalog))
        check_ids(catalog, wanted, without_secrets(place))
        return [(found.place, found.recording_id) for found in search(catalog, wanted)]
