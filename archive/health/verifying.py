"""Verification of whole recordings, for commands and for who wants to know at once."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from aerolog.archive.files.recording import ArchiveFolder
from aerolog.archive.health.checking import RecordingChecker
from aerolog.archive.health.findings import Finding, Kind, remedy_of
from aerolog.archive.health.health_file import HealthWriter, read_health
from aerolog.archive.health.spans import closed_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aerolog.archive.files.checksum import Checksum
    from aerolog.transport.errors import ArchiveError, FileFormatError


def verify_recording(
    folder: ArchiveFolder | str | Path,
    recording_id: int,
    *,
    checksum: Checksum | None = None,
    note: bool = False,
    fingerprints: bool | None = None,
    progress: Callable[[int], object] | None = None,
    is_stopped: Callable[[], bool] | None = None,
) -> list[Finding]:
    """Read all closed segments of a recording and say what is wrong with them.

    Args:
        folder: of an archive, running or not; an open one stays open.
        recording_id: a VALID recording.
        checksum: that all frames have; None finds out whether they have one.
        note: keep what is found, fingerprints included, in the recording's health file. Not beside
            an archive that verifies: it keeps them itself.
        fingerprints: compute them; by default where some are known, or ``note``.
        progress: told the bytes of each piece that was read.
        is_stopped: asked behind each piece whether to end early.

    Returns:
        The findings by position, those about the health file first; empty when all is sound.

    Raises:
        ArchiveError: UNKNOWN_RECORDING.
        FileFormatError: the catalog is damaged.
        MissingExtraError: fingerprints are wanted, and xxhash is not installed.
    """
    is_open = isinstance(folder, ArchiveFolder)
    opened = nullcontext(folder) if is_open else ArchiveFolder(folder)  # type: ignore[arg-type]
    with opened as archive:
        assert isinstance(archive, ArchiveFolder)
        return list(
            _findings(archive, recording_id, checksum, note, fingerprints, progress, is_stopped)
        )


def _findings(
    archive: ArchiveFolder,
    recording_id: int,
    checksum: Checksum | None,
    note: bool,
    fingerprints: bool | None,
    progress: Callable[[int], object] | None,
    is_stopped: Callable[[], bool] | None,
) -> Iterator[Finding]:
    recording = archive.recording(recording_id)
    descriptor = recording.descriptor
    records = read_health(archive.files, archive.path, descriptor)
    for problem in records.problems:
        yield Finding(
            recording_id,
            descriptor.start_position,
            Kind.HEALTH,
            f"recording {recording_id}: {problem}",
            remedy_of(Kind.HEALTH, recording_id),
        )
    if fingerprints is None:
        known = records.by_base.values()
        fingerprints = note or any(record.fingerprint is not None for record in known)
    writer = HealthWriter(archive.files, archive.path, descriptor) if note else None
    checker = RecordingChecker(
        archive.files, archive.path, descriptor, checksum=checksum, fingerprints=fingerprints
    )
    spans = list(closed_spans(descriptor, recording.end_position))
    if writer is not None:
        writer.keep(span.base for span in spans)
    for span in spans:
        now_ms = time.time_ns() // 1_000_000
        pieces = checker.verify(span, records.by_base.get(span.base), now_ms)
        try:
            while True:
                length = next(pieces)
                if progress is not None:
                    progress(length)
                if is_stopped is not None and is_stopped():
                    return
        except StopIteration as done:
            result = done.value
        if result.is_explained:
            continue
        if writer is not None:
            writer.note(result.record)
        if result.finding is not None:
            yield result.finding


def damaged_entry(error: ArchiveError | FileFormatError, recording_id: int) -> Finding:
    """A finding about a catalog entry that cannot be read."""
    return Finding(
        recording_id,
        -1,
        Kind.CATALOG,
        f"recording {recording_id}: {error}",
        remedy_of(Kind.CATALOG, recording_id),
    )
