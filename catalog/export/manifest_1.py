"""Manifests of version 1, in which exports and pipelines had a form each; they are only read.

An export of that version gave a file its name before its manifest listed the file.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.archive_folder import ScanTotals
from aerolog.catalog.arrow.schema import METADATA_TOTALS
from aerolog.catalog.export.errors import ManifestError
from aerolog.catalog.export.layout import REJECTS, ROWS, part_range
from aerolog.catalog.export.lineage import fingerprint, fingerprint_start, last_positions
from aerolog.catalog.export.manifest import (
    FORMAT,
    FileEntry,
    Manifest,
    RangeEntry,
    RecordingState,
    RunEntry,
)
from aerolog.catalog.export.part_writer import METADATA_REJECTED, WrittenPart
from aerolog.catalog.export.pipeline.output import STAGING
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.catalog.export.plan import RecordingExport
    from aerolog.catalog.export.store import Store

_COUNTS = ("payload_bytes", "rejected", "skipped_fragments", "checksum_mismatches")


def read(content: dict[str, Any], name: str) -> Manifest:
    """Read a manifest of an export, or the commit of a run.

    Raises:
        ManifestError: the commit does not match its checksum.
        KeyError, TypeError: a field is missing or of another type.
    """
    if "commit" in content:
        if hashlib.sha256(content["commit"].encode()).hexdigest() != content["sha256"]:
            raise ManifestError(f"{name} does not match its checksum")
        return _commit(json.loads(content["commit"]))
    if content["format"] != FORMAT:
        raise ManifestError(f"{name} is no manifest of an export, move it away")
    states = {key: RecordingState(**one) for key, one in content["recordings"].items()}
    made = Manifest(dict(content["layout"]), states, version=1)
    tables: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for one in content["files"]:
        tables.setdefault((one["recording"], one["from_position"]), []).append(one)
    for of_range in tables.values():
        # Rows and rejects of a range have the same figures, but for those of the file itself.
        one = next(one for one in of_range if one["table"] == ROWS)
        entry = RangeEntry(
            archive=one["recording"].rpartition("/")[0],
            recording_id=one["recording_id"],
            from_position=one["from_position"],
            until_position=one["until_position"],
            messages=one["rows"] + one["rejected"],
            rows=one["rows"],
            files=[one["path"] for one in of_range],
            **{count: one[count] for count in _COUNTS},
        )
        kept = ("path", "table", "rows", "bytes", "checksum")
        files = [FileEntry(**{name: one[name] for name in kept}) for one in of_range]
        made.add([entry], files)
    return made


def _commit(values: dict[str, Any]) -> Manifest:
    run = {name: values[name] for name in ("sequence", "run_id", "job", "time_ms", "kept")}
    decoder = {"name": values["decoder"], "options": values["decoder_options"]}
    made = Manifest(
        {"decoder": decoder, "schema": values["schema"]}, run=RunEntry(**run), version=1
    )
    for one in values["ranges"]:
        made.add([RangeEntry(archive=one.pop("place"), **one)], [])
    staging = f"{STAGING}/{made.run.run_id}" if made.run else STAGING
    made.add(
        [],
        [
            FileEntry(
                path=one["path"],
                table=one["path"].partition("/")[0],
                rows=one["rows"],
                bytes=one["bytes"],
                checksum=f"sha256:{one['sha256']}",
                staged=f"{staging}/{one['staged']}",
            )
            for one in values["files"]
        ],
    )
    return made


def finished_parts(
    target: Store, manifest: Manifest, job: RecordingExport
) -> Iterator[WrittenPart]:
    """Parts of a recording that an export finished after it saved its manifest, in order."""
    numpy = require("numpy", "exporting recordings to Parquet")
    parquet = require("pyarrow.parquet", "exporting recordings to Parquet")
    found: dict[int, WrittenPart] = {}
    for path, _ in target.files(job.folders.folder(ROWS)):
        named = part_range(path.rpartition("/")[2])
        if named is None or path in manifest.files:
            continue
        with target.open(path) as file:
            told = parquet.read_metadata(file).metadata
        paths, rejected = {ROWS: path}, int(told[METADATA_REJECTED])
        if rejected:
            # The file of rejects got its name before the file of rows did.
            paths[REJECTS] = REJECTS + path.removeprefix(ROWS)
        files, ends = [], [numpy.array([named[0]])]
        for table, name in paths.items():
            with target.open(name) as file:
                ends.append(parquet.read_table(file, columns=["position"])["position"].to_numpy())
            size, checksum = target.checksum(name)
            rows = len(ends[-1])
            files.append(
                FileEntry(path=name, table=table, rows=rows, bytes=size, checksum=checksum)
            )
        first = fingerprint_start(last_positions(ends))
        totals = ScanTotals(**json.loads(told[METADATA_TOTALS]))
        entry = RangeEntry(
            archive=job.archive,
            recording_id=job.recording_id,
            from_position=named[0],
            until_position=named[1],
            messages=totals.rows,
            payload_bytes=totals.payload_bytes,
            rows=files[0].rows,
            rejected=rejected,
            skipped_fragments=totals.skipped_fragments,
            checksum_mismatches=totals.checksum_mismatches,
            files=list(paths.values()),
            fingerprint=fingerprint(job.recording, first, named[1]),
            fingerprint_from=first,
        )
        found[named[0]] = WrittenPart(entry, files, None)
    while job.state.position in found:
        yield found[job.state.position]
