"""Object stores: what is below one prefix, and an archive's folder there as readers see it.

`Objects` is the one way from here to an object store, for reading archives and for writing exports;
``pyarrow.fs`` reaches it.
"""
# ruff: noqa: ARG002  (arguments are those of FileSystem)

from __future__ import annotations

import errno
import os
import tempfile
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn
from urllib.parse import parse_qs, urlsplit

from aerolog.catalog.extras import require
from aerolog.transport.errors import AerologError, ConfigurationError, StorageSpaceError
from aerolog.transport.memory.data_file import DataFile
from aerolog.transport.memory.filesystem import FileStamp, FileSystem
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from collections.abc import Iterator


class PlaceUnreachableError(AerologError, ConnectionError):
    """An object store that does not answer, or does not let us in."""


CACHE_BYTES = 2 * 1024 * 1024 * 1024
_CHUNK_BYTES = 8 * 1024 * 1024


class Objects:
    """Files below one prefix of an object store; an object is there when it is complete.

    Paths are relative to the prefix, with slashes; "" is the prefix. Errors are those of
    ``pyarrow.fs``: OSError, FileNotFoundError among them.
    """

    def __init__(self, store: Any, root: str, purpose: str, *, makes_bucket: bool = False) -> None:
        """Nothing is asked of the store yet.

        Args:
            store: a ``pyarrow.fs.FileSystem``.
            root: the prefix, as the store writes it: ``bucket/folder``.
            purpose: what needs it, see ``require``.
            makes_bucket: whether ``prepare`` makes the bucket.
        """
        self._store = store
        self._fs = require("pyarrow.fs", purpose)
        self._makes_bucket = makes_bucket
        self.root = root.rstrip("/")

    @classmethod
    def at(cls, url: str, purpose: str, refusal: str) -> Objects:
        """What is below a URL that ``pyarrow.fs`` understands.

        Args:
            url: of a folder in an object store.
            purpose: what needs it, see ``require``.
            refusal: begins the error's text, up to what else may be given.

        Raises:
            ConfigurationError: no such kind of URL.
            MissingExtraError: Arrow is not installed.
        """
        fs, pyarrow = require("pyarrow.fs", purpose), require("pyarrow", purpose)
        try:
            store, root = fs.FileSystem.from_uri(url)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
            raise ConfigurationError(
                f"{refusal}, or a URL that begins with file, s3, gs, abfs or hdfs"
            ) from error
        asked = parse_qs(urlsplit(url).query).get("allow_bucket_creation", [""])[-1]
        return cls(store, str(root), purpose, makes_bucket=asked.lower() == "true")

    @property
    def kind(self) -> str:
        """The kind of store, as ``pyarrow.fs`` names it."""
        return str(self._store.type_name)

    def info(self, path: str) -> Any:
        """Facts of the file or folder at a path; None when there is neither."""
        found = self._store.get_file_info(self._at(path))
        return None if found.type == self._fs.FileType.NotFound else found

    def size(self, path: str) -> int | None:
        """Length of a file, None where there is none."""
        found = self.info(path)
        return int(found.size) if found is not None and found.is_file else None

    def listed(self, path: str = "", *, recursive: bool = False, missing_ok: bool = True) -> Any:
        """What is in a folder, by path from the prefix; nothing when it is not there.

        Args:
            path: of the folder.
            recursive: what is in its folders as well.
            missing_ok: otherwise a folder that is not there is a FileNotFoundError.
        """
        selector = self._fs.FileSelector(
            self._at(path), recursive=recursive, allow_not_found=missing_ok
        )
        found = self._store.get_file_info(selector)
        return sorted((info.path[len(self.root) + 1 :], info) for info in found)

    def read(self, path: str) -> bytes:
        """The content of a small file."""
        with self._store.open_input_stream(self._at(path)) as stream:
            return bytes(stream.read())

    def input(self, path: str) -> Any:
        """A file to be read from any position."""
        return self._store.open_input_file(self._at(path))

    def output(self, path: str) -> Any:
        """A file to be written; it is there once that is closed."""
        return self._store.open_output_stream(self._at(path))

    def move(self, source: str, to: str) -> None:
        """Rename a file, in place of one that has the name: the store copies it on its side."""
        self._store.move(self._at(source), self._at(to))

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        if self.size(path) is not None:
            self._store.delete_file(self._at(path))

    def remove_tree(self, path: str) -> None:
        """Remove a folder and all that is in it, if it is there."""
        found = self.info(path)
        if found is not None and not found.is_file:
            self._store.delete_dir(self._at(path))

    def prepare(self) -> None:
        """Make the bucket, where the URL asked for that (``allow_bucket_creation``)."""
        if self._makes_bucket:
            self._store.create_dir(self.root.partition("/")[0])

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root


class ObjectFiles(FileSystem):
    """An archive's folder in an object store, behind the interface that readers of files use.

    Files are fetched whole when they are opened, into temporary files that have no name: whatever
    happens to this process, nothing is left on the disk. The latest ones are kept, within a bound
    on their bytes. Only reading is possible; paths begin with the prefix, and every other path
    does not exist here.
    """

    def __init__(
        self,
        objects: Objects,
        *,
        cache_bytes: int = CACHE_BYTES,
        cache_dir: str | None = None,
    ) -> None:
        """Nothing is asked of the store yet.

        Args:
            objects: of the folder.
            cache_bytes: of fetched files that are kept; one that is in use counts, but is never
                taken away, so a single longer file is possible.
            cache_dir: folder for them; the system's for temporary files by default.
        """
        self._objects = objects
        self._cache_bytes = cache_bytes
        self._cache_dir = cache_dir or tempfile.gettempdir()
        self._kept: OrderedDict[str, _Fetched] = OrderedDict()
        self._lock = Lock()

    @property
    def cached_bytes(self) -> int:
        """Bytes of the fetched files that are kept now."""
        return sum(fetched.length for fetched in self._kept.values())

    def open_mapped(self, path: str, *, writable: bool = True, min_length: int = 1) -> MappedFile:
        """Fetch a file and map it; its mapping outlives its place in the cache.

        Raises:
            FileNotFoundError: there is no such object.
            FileFormatError: it is shorter than ``min_length``.
            StorageSpaceError: no room for it on the local disk.
            OSError: the store does not answer or does not let us.
        """
        self._refuse_writing(writable)
        with self._lock:
            fd = os.dup(self._fetched(path).fd)
        try:
            return MappedFile.from_descriptor(fd, path, False, min_length)
        finally:
            os.close(fd)

    def open_data_file(
        self, path: str, *, writable: bool = False, create: bool = False, exclusive: bool = False
    ) -> DataFile:
        """Fetch a file and open it for reading; errors as for ``open_mapped``."""
        self._refuse_writing(writable or create or exclusive)
        with self._lock:
            return DataFile.open(f"/proc/self/fd/{self._fetched(path).fd}")

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of that name."""
        return self._found(path) is not None

    def is_dir(self, path: str) -> bool:
        """Whether there is a folder of that name."""
        found = self._found(path)
        return found is not None and not found.is_file

    def is_regular(self, path: str) -> bool:
        """Whether there is a file of that name."""
        found = self._found(path)
        return found is not None and bool(found.is_file)

    def size(self, path: str) -> int:
        """Length of a file in bytes."""
        return int(self._file(path).size)

    def list_dir(self, path: str) -> list[str]:
        """Names of what a folder holds, sorted."""
        return [name for name, _ in self.list_sizes(path)]

    def list_sizes(self, path: str) -> list[tuple[str, int]]:
        """Names and lengths of what a folder holds, by name, in one request or a few."""
        found = self._objects.listed(self._inside(path), missing_ok=False)
        return [(info.base_name, int(info.size or 0)) for _, info in found]

    def is_unused(self, path: str) -> bool:
        """Always False: an object store does not tell whether a file is in use."""
        return False

    def shared_file(self, path: str) -> tuple[int, int] | None:
        """Always None: an object has only one name, and no other file shares its bytes."""
        return None

    def stamp(self, path: str) -> FileStamp:
        """Size and modification time of an object, which has no inode number."""
        info = self._file(path)
        return FileStamp(int(info.size), int(info.mtime_ns or 0), 0)

    def read_bytes(self, path: str) -> bytes:
        """The content of a small file."""
        return self._objects.read(self._inside(path))

    def usable_space(self, path: str) -> int:
        """Always 0: nothing is written to this folder."""
        return 0

    def store_name(self, path: str) -> str:
        """The store's kind and the prefix, for messages."""
        return f"{self._objects.kind}:{self._objects.root}"

    def close(self) -> None:
        """Drop the cached files; mappings that were handed out stay valid."""
        with self._lock:
            self._kept.clear()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise PermissionError(f"{self.store_name('')} is only read")

    create_mapped = remove = remove_tree = make_dirs = rename = link = _refuse
    sync_dir = write_bytes = try_lock = _refuse

    def _refuse_writing(self, writing: bool) -> None:
        if writing:
            self._refuse()

    def _inside(self, path: str) -> str:
        """A path from the prefix on."""
        root, path = self._objects.root, path.rstrip("/")
        if path != root and not path.startswith(root + "/"):
            raise FileNotFoundError(f"{path} is not in {self.store_name('')}")
        return path[len(root) + 1 :]

    def _found(self, path: str) -> Any:
        try:
            return self._objects.info(self._inside(path))
        except FileNotFoundError:
            return None

    def _file(self, path: str) -> Any:
        info = self._objects.info(self._inside(path))
        if info is None or not info.is_file:
            raise FileNotFoundError(f"no such object: {path}")
        return info

    def _fetched(self, path: str) -> _Fetched:
        """The file, from the cache or fetched from the store; the caller holds the lock."""
        inside = self._inside(path)
        kept = self._kept.pop(path, None)
        if kept is None:
            try:
                with self._objects.input(inside) as source:
                    self._make_room(source.size())
                    kept = _fetch(source, self._cache_dir)
            except (FileNotFoundError, StorageSpaceError):
                raise
            except OSError as error:
                raise PlaceUnreachableError(
                    errno.EIO, f"{self.store_name(path)} cannot be read: {error}"
                ) from error
        self._kept[path] = kept
        return kept

    def _make_room(self, length: int) -> None:
        while self._kept and self.cached_bytes + length > self._cache_bytes:
            self._kept.popitem(last=False)

    def __getstate__(self) -> NoReturn:
        raise TypeError("open the place again in the other process, it is not carried there")


class _Fetched:
    """A temporary file without a name; it goes with this object."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file = file
        self.fd = file.fileno()
        self.length = length


def _fetch(source: Any, folder: str) -> _Fetched:
    """Copy an object to a file that goes when it is closed."""
    length = 0
    file = tempfile.TemporaryFile(prefix="aerolog-object-", dir=folder, buffering=0)  # noqa: SIM115
    try:
        for part in _parts(source):
            view = memoryview(part)
            length += len(view)
            while view:
                view = view[file.write(view) or 0 :]
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StorageSpaceError(
                f"no room in {folder} for a file of {source.size()} bytes from the object store"
            ) from error
        raise
    return _Fetched(file, length)


def _parts(source: Any) -> Iterator[Any]:
    while part := source.read_buffer(_CHUNK_BYTES):
        if not part.size:
            return
        yield part
