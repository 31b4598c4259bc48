"""An output's folder, on a disk or in an object store, and the few things that are done in it.

::

    rows/date=2026-11-21/stream_id=1001/00000001-00000.parquet    what was loaded
    rejects/date=2026-11-21/stream_id=1001/00000001-00000.parquet what was not, and why
    _aerolog/target.json                                          whose folder it is
    _aerolog/commits/00000001.json                                what the first run loaded
    _aerolog/staging/<run>/                                       of a run that is not finished

A folder belongs to one job. Whole small files are written with `put`, which is the only thing here
that must be all or nothing; moves may be repeated.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol, cast
from urllib.parse import parse_qs, urlsplit

from aerolog.catalog.export.pipeline.errors import TargetError
from aerolog.catalog.extras import require
from aerolog.catalog.locations import local_folder, object_store, without_secrets
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS: Final = "_aerolog"
IDENTITY: Final = f"{OURS}/target.json"
COMMITS: Final = f"{OURS}/commits"
STAGING: Final = f"{OURS}/staging"
ROWS: Final = "rows"
REJECTS: Final = "rejects"
VERSION: Final = 1
_PURPOSE: Final = "writing to an object store"


class Store(Protocol):
    """Files by path below one folder; parts are separated by ``/``."""

    def read(self, path: str) -> bytes:
        """Content of a small file.

        Raises:
            FileNotFoundError: there is none.
        """

    def put(self, path: str, content: bytes, *, fresh: bool = False) -> None:
        """Write a small file; it has all of its content or is not there.

        Raises:
            FileExistsError: it must be ``fresh`` and is there.
        """

    def create(self, path: str) -> Any:
        """A new file's sink, a context manager with ``write``; its content stays once closed."""

    def size(self, path: str) -> int | None:
        """Length of a file, None where there is none."""

    def move(self, source: str, to: str) -> None:
        """Rename a file; folders are made."""

    def prepare(self) -> None:
        """Make what the folder is in, where its URL allows that (``allow_bucket_creation``)."""

    def names(self, path: str) -> list[str]:
        """Names in a folder, sorted; none when it is not there."""

    def remove_tree(self, path: str) -> None:
        """Remove a folder and all that is in it, if it is there."""


class LocalStore:
    """On a disk, each step on it before the next begins."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def read(self, path: str) -> bytes:
        """See ``Store``."""
        return (self._root / path).read_bytes()

    def put(self, path: str, content: bytes, *, fresh: bool = False) -> None:
        """See ``Store``."""
        final = self._root / path
        final.parent.mkdir(parents=True, exist_ok=True)
        temporary = final.with_name(f".{final.name}.{uuid.uuid4().hex}.tmp")
        try:
            with temporary.open("wb") as sink:
                sink.write(content)
                _sync(sink)
            if fresh:
                os.link(temporary, final)
            else:
                temporary.replace(final)
        finally:
            temporary.unlink(missing_ok=True)
        RealFileSystem().sync_dir(str(final.parent))

    @contextmanager
    def create(self, path: str) -> Iterator[BinaryIO]:
        """See ``Store``."""
        final = self._root / path
        final.parent.mkdir(parents=True, exist_ok=True)
        with final.open("wb") as sink:
            yield sink
            _sync(sink)

    def size(self, path: str) -> int | None:
        """See ``Store``."""
        try:
            return (self._root / path).stat().st_size
        except FileNotFoundError:
            return None

    def move(self, source: str, to: str) -> None:
        """See ``Store``."""
        final = self._root / to
        final.parent.mkdir(parents=True, exist_ok=True)
        (self._root / source).replace(final)
        RealFileSystem().sync_dir(str(final.parent))

    def prepare(self) -> None:
        """See ``Store``."""
        self._root.mkdir(parents=True, exist_ok=True)

    def names(self, path: str) -> list[str]:
        """See ``Store``."""
        try:
            return sorted(found.name for found in (self._root / path).iterdir())
        except FileNotFoundError:
            return []

    def remove_tree(self, path: str) -> None:
        """See ``Store``."""
        folder = self._root / path
        if folder.exists():
            shutil.rmtree(folder)


class ObjectStore:
    """Below a URL that ``pyarrow.fs`` understands; an object is there when it is complete."""

    def __init__(self, url: str) -> None:
        refusal = f"{without_secrets(url)} is no place to write to: a path"
        try:
            self._store, root = object_store(url, _PURPOSE, refusal)
        except ConfigurationError as error:
            raise TargetError(str(error)) from error
        self._fs = require("pyarrow.fs", _PURPOSE)
        self._root = root.rstrip("/")
        query = parse_qs(urlsplit(url).query)
        self._makes_bucket = query.get("allow_bucket_creation", [""])[-1].lower() == "true"

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def read(self, path: str) -> bytes:
        """See ``Store``."""
        with self._store.open_input_stream(self._at(path)) as source:
            return bytes(source.read())

    def put(self, path: str, content: bytes, *, fresh: bool = False) -> None:
        """See ``Store``."""
        if fresh and self.size(path) is not None:
            raise FileExistsError(path)
        with self._store.open_output_stream(self._at(path)) as sink:
            sink.write(content)

    def create(self, path: str) -> Any:
        """See ``Store``."""
        return self._store.open_output_stream(self._at(path))

    def size(self, path: str) -> int | None:
        """See ``Store``."""
        info = self._store.get_file_info(self._at(path))
        return int(info.size) if info.type == self._fs.FileType.File else None

    def move(self, source: str, to: str) -> None:
        """See ``Store``."""
        self._store.move(self._at(source), self._at(to))

    def prepare(self) -> None:
        """See ``Store``."""
        if self._makes_bucket:
            self._store.create_dir(self._root.partition("/")[0])

    def names(self, path: str) -> list[str]:
        """See ``Store``."""
        selector = self._fs.FileSelector(self._at(path), allow_not_found=True)
        return sorted(info.base_name for info in self._store.get_file_info(selector))

    def remove_tree(self, path: str) -> None:
        """See ``Store``."""
        if self._store.get_file_info(self._at(path)).type == self._fs.FileType.Directory:
            self._store.delete_dir(self._at(path))


def open_store(to: str) -> Store:
    """The store of an output.

    Raises:
        TargetError: its URL is of no use.
        MissingExtraError: Arrow is not installed, which writes to object stores.
    """
    folder = local_folder(to)
    return ObjectStore(to) if folder is None else LocalStore(folder)


@contextmanager
def explained(to: str) -> Iterator[None]:
    """Turns what the system or an object store says of an output into our error."""
    try:
        yield
    except OSError as error:
        if isinstance(error, TargetError):
            raise
        reason = error.strerror or " ".join(str(error).split())
        raise TargetError(
            f"{without_secrets(to)} cannot be used, check its address and credentials: {reason}"
        ) from error


def claim(store: Store, to: str, job: str) -> str:
    """Make sure that a folder is this job's, or make it so when it is empty or missing.

    Args:
        store: of the output.
        to: its name, for messages.
        job: name of the job.

    Returns:
        The folder's id, which its catalog's entries are compared with.

    Raises:
        TargetError: it has something else in it, or is another job's.
    """
    found = identity(store, to)
    if found is None:
        refuse_foreign(store, to)
        store.prepare()
        found = {"version": VERSION, "job": job, "id": uuid.uuid4().hex}
        try:
            store.put(IDENTITY, json.dumps(found).encode(), fresh=True)
        except FileExistsError:
            found = cast("dict[str, Any]", identity(store, to))
    if found["job"] != job:
        raise TargetError(
            f"{without_secrets(to)} is the output of the job {found['job']!r} and not of {job!r};"
            " name another place"
        )
    return str(found["id"])


def refuse_foreign(store: Store, to: str) -> None:
    """Of a folder that says nothing of itself, make sure that it is empty.

    Raises:
        TargetError: it has something in it.
    """
    # Ours alone is what a run leaves that was killed before it had claimed the folder.
    others = [name for name in store.names("") if name != OURS]
    if others:
        raise TargetError(
            f"{without_secrets(to)} is not empty and no job's output (there is {others[0]!r});"
            " name another place, or empty this one"
        )


def identity(store: Store, to: str) -> dict[str, Any] | None:
    """What a folder says about whose it is; None where it says nothing.

    Raises:
        TargetError: it says what is not understood.
    """
    try:
        content = store.read(IDENTITY)
    except FileNotFoundError:
        return None
    try:
        found = json.loads(content)
        version, _, _ = found["version"], found["job"], found["id"]
    except (ValueError, KeyError, TypeError) as error:
        raise TargetError(f"{without_secrets(to)}/{IDENTITY} is damaged: {error}") from error
    if version != VERSION:
        raise TargetError(
            f"{without_secrets(to)} has layout {version}, this package knows {VERSION}; use the"
            " version that made it"
        )
    return cast("dict[str, Any]", found)


def _sync(sink: Any) -> None:
    sink.flush()
    os.fsync(sink.fileno())
