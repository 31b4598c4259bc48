"""The manifest of a target: every finished file with its checksum, and what is under way.

It is written before the first file, about once a second, and at the end; each time it replaces the
one before as a whole. A file that was finished behind the last manifest's back is found by its
name when the export goes on. It holds no times, so that equal exports have equal manifests.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.export.errors import ManifestError, TargetMismatchError
from aerolog.catalog.export.report import FileEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.catalog.export.store import Store

MANIFEST_NAME: Final = "_aerolog_manifest.json"
FORMAT: Final = "aerolog-export"
VERSION: Final = 1
_INTERVAL_NS: Final = 1_000_000_000


@dataclass(slots=True)
class RecordingState:
    """How far one recording is exported.

    Attributes:
        recording_id: the recording's id in its archive.
        archive_id: of its archive, None where nobody knows.
        options: by which its files were made.
        descriptor: of the recording when the last export of it began.
        position: up to which it is exported.
        until_position: where an export that is under way will end, None when there is none.
        times: what of the recording's time index counts for it, so that an export that is gone on
            with makes the same files; empty without an index. See `SettledTimes`.
    """

    recording_id: int
    archive_id: int | None
    options: dict[str, Any]
    descriptor: dict[str, Any]
    position: int
    until_position: int | None = None
    times: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Manifest:
    """What a target holds.

    Attributes:
        layout: what all its files have in common: partition keys and decoder.
        recordings: state of each recording, by its key; see ``layout.recording_key``.
        files: finished ones, by path.
        found: whether it was read from the target.
    """

    layout: dict[str, Any]
    recordings: dict[str, RecordingState] = field(default_factory=dict)
    files: dict[str, FileEntry] = field(default_factory=dict)
    found: bool = False
    _by_recording: dict[str, dict[str, FileEntry]] | None = None
    _changed: bool = False
    _saved_ns: int = 0

    @classmethod
    def load(cls, target: Store) -> Manifest | None:
        """Read a target's manifest, None when it has none.

        Raises:
            ManifestError: it is damaged or of another version.
        """
        data = target.read(MANIFEST_NAME)
        if data is None:
            return None
        path = target.full_path(MANIFEST_NAME)
        try:
            content = json.loads(data)
            if content["format"] != FORMAT:
                raise ManifestError(f"{path} is no manifest of an export, move it away")
            if content["version"] != VERSION:
                raise ManifestError(
                    f"{path} has version {content['version']}, and this is for version {VERSION}:"
                    " use the aerolog that wrote it, or another target"
                )
            return cls(
                layout=dict(content["layout"]),
                recordings={
                    key: RecordingState(**state) for key, state in content["recordings"].items()
                },
                files={entry["path"]: FileEntry(**entry) for entry in content["files"]},
                found=True,
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, ManifestError):
                raise
            raise ManifestError(
                f"{path} is damaged ({type(error).__name__}: {error}): export to another target,"
                " or remove this one's files"
            ) from error

    @property
    def changed(self) -> bool:
        """Whether there is something that was not saved."""
        return self._changed

    def files_of(self, key: str) -> list[FileEntry]:
        """Finished files of one recording."""
        if self._by_recording is None:
            self._by_recording = {}
            for entry in self.files.values():
                self._by_recording.setdefault(entry.recording, {})[entry.path] = entry
        return list(self._by_recording.get(key, {}).values())

    def touch(self) -> None:
        """Note that the manifest has changed and must be saved."""
        self._changed = True

    def add(self, entries: list[FileEntry]) -> None:
        """Finished files, in place of those of the same names."""
        for entry in entries:
            self.files[entry.path] = entry
            if self._by_recording is not None:
                self._by_recording.setdefault(entry.recording, {})[entry.path] = entry
        self._changed = True

    def drop(self, path: str) -> None:
        """A file that is replaced, if it is known."""
        entry = self.files.pop(path, None)
        if entry is not None and self._by_recording is not None:
            self._by_recording[entry.recording].pop(path, None)
        self._changed = True

    def save(self, target: Store, now_ns: int, *, at_once: bool = True) -> None:
        """Write it if something changed; not ``at_once``: and if the last time was a while ago."""
        if not self._changed or (not at_once and now_ns - self._saved_ns < _INTERVAL_NS):
            return
        # It must not know a file that a loss of power takes away.
        target.settle()
        target.write(MANIFEST_NAME, "".join(self._text()).encode())
        self._saved_ns = now_ns
        self._changed = False

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

    def _text(self) -> Iterator[str]:
        head = {"format": FORMAT, "version": VERSION, "layout": self.layout}
        yield json.dumps(head, sort_keys=True)[:-1]
        yield ',\n"recordings": {'
        states = sorted(self.recordings.items())
        yield ",".join(
            f"\n{json.dumps(key)}: {json.dumps(asdict(state), sort_keys=True)}"
            for key, state in states
        )
        yield '},\n"files": ['
        entries = sorted(self.files.values(), key=lambda entry: entry.path)
        yield ",".join(f"\n{json.dumps(asdict(entry), sort_keys=True)}" for entry in entries)
        yield "]}\n"


def _shown(value: Any) -> str:
    return "none" if value is None or value == [] else json.dumps(value, sort_keys=True)
