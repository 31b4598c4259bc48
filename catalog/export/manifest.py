"""The manifest: which ranges of which recordings a target has, and the files that have them.

An export has one manifest, which replaces the one before as a whole: before the first file, about
once a second, and at the end. A pipeline adds one for each run (`pipeline.commit`), since a run of
minutes must not write again what years of runs loaded. Both go the same way. A file is staged,
complete and on disk. Then a manifest that lists it appears, and the file counts from there on. Then
it gets its name. Whoever comes next gives names to the files that are listed and have none, and
removes staged files that are not listed. Manifests of exports hold no times, so that equal exports
have equal manifests.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.export.errors import ManifestError, TargetMismatchError
from aerolog.catalog.export.layout import recording_key
from aerolog.transport.secrets import repr_without_secrets
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from aerolog.catalog.export.store import Store

MANIFEST_NAME: Final = "_aerolog_manifest.json"
FORMAT: Final = "aerolog-export"
VERSION: Final = 2
_INTERVAL_NS: Final = NS_PER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A file that is complete.

    Attributes:
        path: relative to the target, with slashes.
        table: ``rows`` or ``rejects``.
        rows: in it.
        bytes: its length.
        checksum: ``crc32c:`` and eight hex digits.
        staged: where it waits for its name, relative to the target; empty when it has its name.
    """

    path: str
    table: str
    rows: int
    bytes: int
    checksum: str
    staged: str = ""


@repr_without_secrets
@dataclass(frozen=True, slots=True, kw_only=True)
class RangeEntry:
    """A range of a recording that was read.

    Attributes:
        archive: what tells recordings of one id apart: the place of the archive in a pipeline, the
            archive's id in an export that is partitioned by it, empty in other exports.
        recording_id: the recording's id in its archive.
        start_time_ms: when the recording began, epoch milliseconds, by which a pipeline knows it
            again when its archive's folder was moved; 0 in an export.
        from_position: where reading began.
        until_position: where the next range begins.
        messages: read; fragments in an export of fragments.
        payload_bytes: in these messages.
        rows: that they gave.
        rejected: messages and rows that are in the files of rejects.
        skipped_fragments: of messages that the range does not have whole.
        checksum_mismatches: frames whose checksum does not match.
        files: paths of the files that have the rows and rejects.
        fingerprint: of the last frames of the range, see `lineage`; empty where it is not known.
        fingerprint_from: where these frames begin.
        gaps: from and until position of what was skipped as damaged; each is a reject as well.
    """

    archive: str = ""
    recording_id: int
    from_position: int
    until_position: int
    messages: int = 0
    payload_bytes: int = 0
    rows: int = 0
    rejected: int = 0
    skipped_fragments: int = 0
    checksum_mismatches: int = 0
    files: Sequence[str] = ()
    fingerprint: str = ""
    fingerprint_from: int = 0
    gaps: Sequence[Sequence[int]] = ()
    start_time_ms: int = 0

    @property
    def key(self) -> str:
        """The key of the recording in a manifest."""
        return recording_key(self.recording_id, self.archive)


@dataclass(slots=True)
class RecordingState:
    """How far an export has come with one recording.

    Attributes:
        recording_id: the recording's id in its archive.
        archive_id: the archive's id, None where nobody knows it.
        options: by which the files were made.
        descriptor: of the recording when the last export of it began.
        position: up to which it is exported.
        until_position: where an export that is under way will end, None when there is none.
        times: what of the recording's time index counts for it, so that an export that is gone on
            with makes the same files; empty without an index. See `SettledTimes`.
        damage: why the files lack some of the recording, empty when they do not.
    """

    recording_id: int
    archive_id: int | None
    options: dict[str, Any]
    descriptor: dict[str, Any]
    position: int
    until_position: int | None = None
    times: list[int] = field(default_factory=list)
    damage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """The run of a pipeline whose commit a manifest is.

    Attributes:
        sequence: counts the commits of the output, from 1.
        run_id: names the run.
        job: name of the job.
        time_ms: when the commit was written, UTC epoch milliseconds.
        kept: by rule, rows that break it and were loaded all the same.
    """

    sequence: int
    run_id: str
    job: str
    time_ms: int
    kept: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Manifest:
    """What a target has, or what a run added to it.

    Attributes:
        layout: what all files have in common: decoder, partition keys or schema.
        recordings: state of each recording of an export, by its key.
        ranges: that were read of each recording, by its key, in order.
        files: by path.
        dropped: paths of files that were listed and are to be removed.
        run: of a pipeline, None in the manifest of an export.
    """

    layout: dict[str, Any]
    recordings: dict[str, RecordingState] = field(default_factory=dict)
    ranges: dict[str, list[RangeEntry]] = field(default_factory=dict)
    files: dict[str, FileEntry] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    run: RunEntry | None = None
    _changed: bool = False
    _saved_ns: int = 0

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> Manifest:
        """Read a manifest.

        Args:
            data: content of the manifest's file.
            name: of the file, for messages.

        Raises:
            ManifestError: it is damaged or of another version.
        """
        try:
            content = json.loads(data)
            if content["format"] != FORMAT:
                raise ManifestError(f"{name} is no manifest of an export, move it away")
            version = content["version"]
            if version != VERSION:
                raise ManifestError(
                    f"{name} has version {version}, and this is for version {VERSION}:"
                    " use the aerolog that wrote it, or another target"
                )
            if "sha256" in content and content["sha256"] != _digest(data.partition(b"\n")[2]):
                raise ManifestError(f"{name} does not match its checksum")
            made = cls(
                dict(content["layout"]),
                {key: RecordingState(**one) for key, one in content["recordings"].items()},
                dropped=set(content.get("dropped", ())),
                run=RunEntry(**content["run"]) if "run" in content else None,
            )
            made.add(
                [RangeEntry(**one) for one in content["ranges"]],
                [FileEntry(**one) for one in content["files"]],
            )
            made._changed = False
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, ManifestError):
                raise
            raise ManifestError(
                f"{name} is damaged ({type(error).__name__}: {error}): export to another target,"
                " or remove this one's files"
            ) from error
        return made

    @classmethod
    def load(cls, target: Store) -> Manifest | None:
        """Read the manifest of an export, None where there is none; errors as `from_bytes` has."""
        data = target.read(MANIFEST_NAME)
        return None if data is None else cls.from_bytes(data, target.full_path(MANIFEST_NAME))

    def to_bytes(self) -> bytes:
        """The manifest as a JSON document; that of a run has a checksum of all behind line one."""
        body = "".join(self._body()).encode()
        head: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        if self.run is not None:
            head["sha256"] = _digest(body)
        return json.dumps(head)[:-1].encode() + b",\n" + body

    def files_of(self, key: str) -> list[tuple[RangeEntry, FileEntry]]:
        """The files of one recording, each with its range."""
        return [(one, self.files[path]) for one in self.ranges.get(key, ()) for path in one.files]

    def unnamed(self) -> list[FileEntry]:
        """Files that are listed and may not have their names yet."""
        return [one for one in self.files.values() if one.staged]

    @property
    def is_under_way(self) -> bool:
        """Whether a save of this manifest was interrupted: files wait for a name or an end."""
        return bool(self.unnamed() or self.dropped)

    def touch(self) -> None:
        """Note that the manifest has changed and must be saved."""
        self._changed = True

    def add(self, ranges: Iterable[RangeEntry], files: Iterable[FileEntry]) -> None:
        """Add ranges, and files in place of those of the same paths."""
        for one in ranges:
            self.ranges.setdefault(one.key, []).append(one)
        for file in files:
            self.files[file.path] = file
            self.dropped.discard(file.path)
        self._changed = True

    def drop(self, key: str) -> None:
        """Forget the ranges and files of a recording; the files are removed by the next `save`."""
        for one in self.ranges.pop(key, ()):
            for path in one.files:
                self.files.pop(path, None)
                self.dropped.add(path)
        self._changed = True

    def save(self, target: Store, now_ns: int, *, at_once: bool = True) -> bool:
        """Write what has changed, then name the files that are listed and remove those dropped.

        Args:
            target: of the export.
            now_ns: nanoseconds on a clock.
            at_once: also when the last time was less than a second ago.

        Returns:
            Whether all that was added so far is safe now.
        """
        if not at_once and now_ns - self._saved_ns < _INTERVAL_NS:
            return False
        while self._changed:
            # The manifest must not know a file that a loss of power takes away.
            target.settle()
            target.write(MANIFEST_NAME, self.to_bytes())
            self._changed = self.is_under_way
            unnamed = self.unnamed()
            publish(target, unnamed, MANIFEST_NAME)
            self.files.update({file.path: replace(file, staged="") for file in unnamed})
            for path in self.dropped:
                if not is_outside(path):
                    target.remove(path)
            self.dropped.clear()
        self._saved_ns = now_ns
        return True

    def check_layout(self, target: Store, layout: dict[str, Any]) -> None:
        """See that an export fits what is there.

        Raises:
            TargetMismatchError: it does not.
        """
        for name, wanted in layout.items():
            if self.layout.get(name) != wanted:
                raise TargetMismatchError(
                    f"{target.shown} was exported with {name} {_shown(self.layout.get(name))}, not"
                    f" {_shown(wanted)}: use another target, or the same options"
                )

    def _body(self) -> Iterator[str]:
        yield f'"layout": {_line(self.layout)}'
        if self.run is not None:
            yield f',\n"run": {_line(asdict(self.run))}'
        yield ',\n"recordings": {'
        states = sorted(self.recordings.items())
        yield ",".join(f"\n{json.dumps(key)}: {_line(asdict(state))}" for key, state in states)
        yield '},\n"ranges": ['
        ranges = [one for _, ranges in sorted(self.ranges.items()) for one in ranges]
        yield ",".join(f"\n{_line(asdict(one))}" for one in ranges)
        if self.dropped:
            yield f'],\n"dropped": {_line(sorted(self.dropped))[:-1]}'
        yield '],\n"files": ['
        yield ",".join(f"\n{_line(asdict(file))}" for _, file in sorted(self.files.items()))
        yield "]}\n"


def is_outside(path: str) -> bool:
    """Whether a path that a manifest lists is not in the target."""
    parts = PurePosixPath(path)
    return parts.is_absolute() or ".." in parts.parts


def publish(target: Store, files: Iterable[FileEntry], listed: str) -> None:
    """Give staged files their names, those of rejects first; may be repeated at any time.

    Args:
        target: of the files.
        files: that a manifest lists as staged.
        listed: name of the manifest, for messages.

    Raises:
        ManifestError: a file is neither staged nor in its place.
    """
    for file in sorted(files, key=lambda file: file.path):
        if target.size(file.staged) == file.bytes:
            target.move(file.staged, file.path)
        elif target.size(file.path) != file.bytes:
            raise ManifestError(
                f"{file.path} of {listed} is gone: neither it nor {file.staged} is there with its"
                f" {file.bytes} bytes; restore it, or load again into an empty place"
            )
    target.settle()


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _shown(value: Any) -> str:
    return "none" if value is None or value == [] else _line(value)
