"""The check of a target: it compares the files with their manifest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.catalog.export.errors import ManifestError
from aerolog.catalog.export.manifest import MANIFEST_NAME, Manifest, is_outside
from aerolog.catalog.export.store import open_store
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aerolog.catalog.export.manifest import FileEntry
    from aerolog.catalog.export.store import Store


_PURGED: Final = "purged before it was exported"
_SKIPPED: Final = "skipped as damaged; the rejects say more"


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that is not as the manifest says.

    Attributes:
        path: relative to the target.
        recording_id: of the recording whose rows the file has, None when the manifest does not
            list the file.
        problem: how the file differs, as a text.
    """

    path: str
    recording_id: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class MissingRows:
    """A part of a recording that an export does not have.

    Attributes:
        recording_id: of the recording.
        from_position: where it begins.
        until_position: where it ends, None when it is the rest of the recording.
        reason: why it is missing, as a text.
    """

    recording_id: int
    from_position: int
    until_position: int | None
    reason: str


@repr_without_secrets
@dataclass(slots=True)
class CheckReport:
    """The result of a check.

    Attributes:
        target: folder or URL, without secrets.
        files: number of files that were compared.
        bytes: their length in all.
        rows: number of rows in the files of rows, as the manifest says.
        problems: files that differ, are missing, or are not in the manifest.
        unfinished: ids of recordings whose export has begun and not ended; the next export ends it.
        missing: what the recordings had when they were exported, and the files do not have.
    """

    target: str
    files: int = 0
    bytes: int = 0
    rows: int = 0
    problems: list[FileProblem] = field(default_factory=list)
    unfinished: list[int] = field(default_factory=list)
    missing: list[MissingRows] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether every file is as the manifest says, and no other file is there."""
        return not self.problems and not self.unfinished

    @property
    def complete(self) -> bool:
        """Whether the export has all rows that the recordings had."""
        return not self.missing


def check_export(
    to: str | Path, *, progress: Callable[[int, int], object] | None = None
) -> CheckReport:
    """Compare every file of a target with its manifest: length and checksum.

    Args:
        to: folder or URL of the target.
        progress: called with bytes done and bytes in all.

    Raises:
        ManifestError: there is no manifest, or it is damaged.
        TargetUnreachableError: the object store does not answer.
    """
    target = open_store(to)
    manifest = Manifest.load(target)
    if manifest is None:
        raise ManifestError(f"there is no export at {target.shown}: it has no {MANIFEST_NAME}")
    report = CheckReport(target.shown)
    ids = {
        path: one.recording_id
        for ranges in manifest.ranges.values()
        for one in ranges
        for path in one.files
    }
    unfinished = {ids[file.path] for file in manifest.unnamed()}
    entries = sorted(manifest.files.values(), key=lambda entry: entry.path)
    total = sum(entry.bytes for entry in entries)
    for entry in entries:
        problem = None if entry.staged else _problem(target, entry)
        if problem is not None:
            report.problems.append(FileProblem(entry.path, ids.get(entry.path), problem))
        report.files += 1
        report.bytes += entry.bytes
        report.rows += entry.rows if entry.table == "rows" else 0
        if progress is not None:
            progress(report.bytes, total)
    report.problems += [
        FileProblem(path, None, "is not in the manifest")
        for path, _ in target.files()
        if path.endswith(".parquet") and path not in manifest.files
    ]
    unfinished.update(
        state.recording_id
        for state in manifest.recordings.values()
        if state.until_position is not None
    )
    report.unfinished = sorted(unfinished)
    report.missing = [
        missing for key in sorted(manifest.recordings) for missing in _missing(manifest, key)
    ]
    return report


def _missing(manifest: Manifest, key: str) -> Iterator[MissingRows]:
    """What the files of a recording do not have, in order."""
    state = manifest.recordings[key]
    position: int | None = None
    for one in manifest.ranges.get(key, ()):
        if position is not None and one.from_position > position:
            yield MissingRows(state.recording_id, position, one.from_position, _PURGED)
        for start, until in one.gaps:
            yield MissingRows(state.recording_id, start, until, _SKIPPED)
        position = one.until_position
    if position is not None and state.position > position:
        yield MissingRows(state.recording_id, position, state.position, _PURGED)
    if state.damage:
        yield MissingRows(state.recording_id, state.position, None, state.damage)


def _problem(target: Store, entry: FileEntry) -> str | None:
    if is_outside(entry.path):
        return "is outside the target"
    size = target.size(entry.path)
    if size is None:
        return "is missing"
    if size != entry.bytes:
        return f"has {size} bytes, and {entry.bytes} were written"
    _, checksum = target.checksum(entry.path)
    if checksum != entry.checksum:
        return f"has the checksum {checksum}, and {entry.checksum} was written"
    return None
