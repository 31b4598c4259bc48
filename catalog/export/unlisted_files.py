"""Files that an export finished before it was killed, and that its manifest does not list."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from aerolog.archive.format.archive_folder import ScanTotals
from aerolog.catalog.arrow.schema import (
    METADATA_FROM_POSITION,
    METADATA_RECORDING,
    METADATA_TOTALS,
    METADATA_UNTIL_POSITION,
)
from aerolog.catalog.export.layout import REJECTS, ROWS, part_range
from aerolog.catalog.export.part_writer import (
    METADATA_OPTIONS,
    METADATA_REJECTED,
    METADATA_TABLE,
    Part,
    WrittenPart,
    fingerprint,
)
from aerolog.catalog.export.report import FileEntry
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerolog.catalog.export.manifest import Manifest
    from aerolog.catalog.export.options import ExportOptions
    from aerolog.catalog.export.store import Store


class UnlistedFiles:
    """Looks for finished files in the place of parts that are to be written."""

    def __init__(self, target: Store, manifest: Manifest, options: ExportOptions) -> None:
        self._target = target
        self._manifest = manifest
        self._options = options
        self._parquet = require("pyarrow.parquet", "exporting recordings to Parquet")

    def find(self, part: Part) -> WrittenPart | None:
        """A part as it was written before; None when it was not, or not as it would be now."""
        path = self._unlisted(part)
        rows = None if path is None else self._entry(part, path, ROWS)
        if path is None or rows is None:
            return None
        entries = [rows]
        if rows.rejected:
            # The file of rejects got its name before the file of rows did.
            folder, _, name = part.folders.path(REJECTS, 0, 0).rpartition("/")
            name = path.rpartition("/")[2] if part.folders.values else name
            rejects = self._entry(part, f"{folder}/{name}", REJECTS)
            if rejects is None:
                return None
            entries.insert(0, rejects)
        if not part.folders.values and rows.until_position != part.until_position:
            return None
        return WrittenPart(entries, rows.until_position, None)

    def _unlisted(self, part: Part) -> str | None:
        """A file that begins where a part does."""
        if not part.folders.values:
            path = part.folders.path(ROWS, 0, 0)
            return path if self._target.size(path) is not None else None
        for path, _ in self._target.files(part.folders.folder(ROWS)):
            named = part_range(path.rpartition("/")[2])
            known = path in self._manifest.files
            if not known and named is not None and named[0] == part.from_position:
                return path
        return None

    def _entry(self, part: Part, path: str, table: str) -> FileEntry | None:
        """The entry of a file; None when it is not there, or not what the part would make."""
        try:
            with self._target.open(path) as file:
                metadata = self._parquet.read_metadata(file)
            told: Mapping[bytes, bytes] = metadata.metadata or {}
            same = (
                told[METADATA_OPTIONS] == fingerprint(self._options)
                and told[METADATA_TABLE] == table.encode()
                and json.loads(told[METADATA_RECORDING]) == asdict(part.descriptor)
                and int(told[METADATA_FROM_POSITION]) == part.from_position
            )
            if not same:
                return None
            totals = ScanTotals(**json.loads(told[METADATA_TOTALS]))
            length, checksum = self._target.checksum(path)
            return FileEntry(
                path=path,
                table=table,
                recording=part.key,
                recording_id=part.descriptor.recording_id,
                from_position=part.from_position,
                until_position=int(told[METADATA_UNTIL_POSITION]),
                rows=metadata.num_rows,
                payload_bytes=totals.payload_bytes,
                rejected=int(told[METADATA_REJECTED]),
                skipped_fragments=totals.skipped_fragments,
                checksum_mismatches=totals.checksum_mismatches,
                bytes=length,
                checksum=checksum,
            )
        except (FileNotFoundError, KeyError, TypeError, ValueError):
            # Not a file of such an export, or a damaged one: it is written anew.
            return None
