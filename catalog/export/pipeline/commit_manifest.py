"""What a run has loaded, as the file whose appearance is the run's commit.

A run's files are staged first. Then its manifest is put in place, whole: from that moment on the
run counts, and whoever comes next finishes what it left undone. Without a manifest it never was,
and what it staged is removed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.export.pipeline.errors import TargetError
from aerolog.catalog.export.pipeline.output import COMMITS, STAGING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aerolog.catalog.export.store import Store

VERSION: Final = 1
_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file of rows or of rejects.

    Attributes:
        staged: path below the run's staging folder.
        path: below the target.
        rows: in it.
        bytes: its length.
        sha256: of its content, hex.
    """

    staged: str
    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LoadedRange:
    """What was read of one recording by one task.

    Attributes:
        place: of the archive.
        recording_id: there.
        from_position: where reading began.
        until_position: up to which it is loaded, the next run's beginning.
        messages: read.
        payload_bytes: in them.
        rows: that they gave.
        rejected: rows and messages that are in the rejects.
        skipped_fragments: of messages that the recording does not have whole.
        checksum_mismatches: frames that do not match their checksum.
        files: paths of the files that have its rows.
    """

    place: str
    recording_id: int
    from_position: int
    until_position: int
    messages: int = 0
    payload_bytes: int = 0
    rows: int = 0
    rejected: int = 0
    skipped_fragments: int = 0
    checksum_mismatches: int = 0
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """A run's commit.

    Attributes:
        sequence: counts the target's commits, from 1.
        run_id: of the run.
        job: its name.
        time_ms: when it was written.
        schema: name and Arrow type of each column of the rows.
        decoder: name of the decoder that read them.
        decoder_options: of it, with a schema that was inferred.
        ranges: what was loaded.
        files: that have it.
        kept: by rule, rows that break it and were loaded all the same.
    """

    sequence: int
    run_id: str
    job: str
    time_ms: int
    schema: tuple[tuple[str, str], ...]
    decoder: str
    decoder_options: dict[str, str]
    ranges: tuple[LoadedRange, ...]
    files: tuple[LoadedFile, ...]
    kept: dict[str, int] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """As a JSON document, with a checksum of its own."""
        body = json.dumps(asdict(self), sort_keys=True)
        digest = hashlib.sha256(body.encode()).hexdigest()
        return json.dumps({"version": VERSION, "sha256": digest, "commit": body}).encode()

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> Manifest:
        """Read it back.

        Raises:
            TargetError: damaged, or of another version.
        """
        try:
            outer = json.loads(content)
            version, body = outer["version"], outer["commit"]
            if version != VERSION:
                raise TargetError(f"commit {name} has version {version}, we know {VERSION}")
            if hashlib.sha256(body.encode()).hexdigest() != outer["sha256"]:
                raise TargetError(f"commit {name} does not match its checksum")
            return _from_dict(json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, TargetError):
                raise
            raise TargetError(f"commit {name} is damaged: {error}") from error


def _from_dict(values: dict[str, Any]) -> Manifest:
    ranges = (LoadedRange(**(one | {"files": tuple(one["files"])})) for one in values["ranges"])
    return Manifest(
        **(
            values
            | {
                "schema": tuple((name, kind) for name, kind in values["schema"]),
                "ranges": tuple(ranges),
                "files": tuple(LoadedFile(**one) for one in values["files"]),
            }
        )
    )


def commit_name(sequence: int) -> str:
    """Name of a commit's manifest."""
    return f"{sequence:0{_DIGITS}d}.json"


def sequences(store: Store) -> list[int]:
    """Numbers of the commits of a target, in order."""
    found = []
    for name in store.names(COMMITS):
        number, dot, suffix = name.partition(".")
        if dot and suffix == "json" and len(number) >= _DIGITS and number.isdigit():
            found.append(int(number))
    return sorted(found)


def read_manifest(store: Store, sequence: int) -> Manifest:
    """One commit; errors as ``Manifest.from_bytes`` has."""
    name = commit_name(sequence)
    content = store.read(f"{COMMITS}/{name}")
    if content is None:
        raise FileNotFoundError(f"{COMMITS}/{name}")
    return Manifest.from_bytes(content, name)


def put_manifest(store: Store, manifest: Manifest) -> None:
    """The commit.

    Raises:
        FileExistsError: another run committed under this number.
    """
    store.write(f"{COMMITS}/{commit_name(manifest.sequence)}", manifest.to_bytes(), fresh=True)


def publish(store: Store, manifest: Manifest) -> None:
    """Move a committed run's files to where readers look; may be repeated after any interruption.

    Raises:
        TargetError: a file is neither staged nor in its place.
    """
    folder = f"{STAGING}/{manifest.run_id}"
    for file in manifest.files:
        staged = f"{folder}/{file.staged}"
        if store.size(file.path) == file.bytes:
            continue
        if store.size(staged) != file.bytes:
            raise TargetError(
                f"{file.path} of commit {commit_name(manifest.sequence)} is gone: neither it nor"
                f" {staged} is there with its {file.bytes} bytes; restore it, or load again into"
                " an empty place"
            )
        store.move(staged, file.path)
    store.settle()
    store.remove_tree(folder)


def remove_staged(store: Store, running: Iterable[str] = ()) -> list[str]:
    """Remove what runs have staged that never committed; returns their ids.

    Args:
        store: of the target.
        running: ids of runs whose files stay.
    """
    kept = set(running)
    stale = [run_id for run_id in store.names(STAGING) if run_id not in kept]
    for run_id in stale:
        store.remove_tree(f"{STAGING}/{run_id}")
    return stale
