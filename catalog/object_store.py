"""A copy of an archive's folder in an object store, behind the file door that readers use.

Files are fetched whole when they are opened, into temporary files that have no name: whatever
happens to this process, nothing is left on the disk. The latest ones are kept, within a bound on
their bytes. Only reading is possible.
"""
# ruff: noqa: ARG002  (arguments are those of FileSystem)

from __future__ import annotations

import errno
import os
import tempfile
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from aerolog.catalog.extras import require
from aerolog.transport.errors import AerologError, StorageSpaceError
from aerolog.transport.memory.data_file import DataFile
from aerolog.transport.memory.filesystem import FileStamp, FileSystem
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from collections.abc import Iterator


class PlaceUnreachableError(AerologError, ConnectionError):
    """An object store that does not answer, or does not let us in."""


CACHE_BYTES = 2 * 1024 * 1024 * 1024
_CHUNK_BYTES = 8 * 1024 * 1024


class ObjectFiles(FileSystem):
    """Reads the objects below one prefix; every other path does not exist here."""

    def __init__(
        self,
        store: Any,
        root: str,
        *,
        cache_bytes: int = CACHE_BYTES,
        cache_dir: str | None = None,
    ) -> None:
        """Nothing is asked of the store yet.

        Args:
            store: a ``pyarrow.fs.FileSystem``.
            root: the prefix, as the store writes it: ``bucket/folder``.
            cache_bytes: of fetched files that are kept; one that is in use counts, but is never
                taken away, so a single longer file is possible.
            cache_dir: folder for them; the system's for temporary files by default.
        """
        self._store = store
        self._root = root.rstrip("/")
        self._cache_bytes = cache_bytes
        self._cache_dir = cache_dir or tempfile.gettempdir()
        self._kept: OrderedDict[str, _Fetched] = OrderedDict()
        self._lock = Lock()
        self._fs = require("pyarrow.fs", "reading archives in an object store")

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
        return bool(self._type(path) != self._fs.FileType.NotFound)

    def is_dir(self, path: str) -> bool:
        """Whether there is a folder of that name."""
        return bool(self._type(path) == self._fs.FileType.Directory)

    def is_regular(self, path: str) -> bool:
        """Whether there is a file of that name."""
        return bool(self._type(path) == self._fs.FileType.File)

    def size(self, path: str) -> int:
        """Length of a file in bytes."""
        info = self._info(path)
        if info.type != self._fs.FileType.File:
            raise FileNotFoundError(f"no such object: {path}")
        return int(info.size)

    def list_dir(self, path: str) -> list[str]:
        """Names of what a folder holds, sorted."""
        return [name for name, _ in self.list_sizes(path)]

    def list_sizes(self, path: str) -> list[tuple[str, int]]:
        """Names and lengths of what a folder holds, by name, in one request or a few."""
        self._check_inside(path)
        selector = self._fs.FileSelector(path.rstrip("/"))
        found = self._store.get_file_info(selector)
        return sorted((info.base_name, int(info.size or 0)) for info in found)

    def is_unused(self, path: str) -> bool:
        """Never known here."""
        return False

    def shared_file(self, path: str) -> tuple[int, int] | None:
        """Objects have one name."""
        return None

    def stamp(self, path: str) -> FileStamp:
        """Size and time of the last change of an object; it has no number."""
        info = self._info(path)
        if info.type != self._fs.FileType.File:
            raise FileNotFoundError(f"no such object: {path}")
        return FileStamp(int(info.size), int(info.mtime_ns or 0), 0)

    def read_bytes(self, path: str) -> bytes:
        """The content of a small file."""
        self._check_inside(path)
        with self._store.open_input_stream(path) as stream:
            return bytes(stream.read())

    def usable_space(self, path: str) -> int:
        """None: nothing is written here."""
        return 0

    def store_name(self, path: str) -> str:
        """The store's kind and the prefix, for messages."""
        return f"{self._store.type_name}:{self._root}"

    def close(self) -> None:
        """Let go of what was fetched; mappings that were given out stay."""
        with self._lock:
            self._kept.clear()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise PermissionError(f"{self.store_name('')} is only read")

    create_mapped = remove = remove_tree = make_dirs = rename = link = _refuse
    sync_dir = write_bytes = try_lock = _refuse

    def _refuse_writing(self, writing: bool) -> None:
        if writing:
            self._refuse()

    def _check_inside(self, path: str) -> None:
        if path.rstrip("/") != self._root and not path.startswith(self._root + "/"):
            raise FileNotFoundError(f"{path} is not in {self.store_name('')}")

    def _info(self, path: str) -> Any:
        self._check_inside(path)
        return self._store.get_file_info(path.rstrip("/"))

    def _type(self, path: str) -> Any:
        try:
            return self._info(path).type
        except FileNotFoundError:
            return self._fs.FileType.NotFound

    def _fetched(self, path: str) -> _Fetched:
        """The file, from the cache or from the store; the lock is held."""
        self._check_inside(path)
        kept = self._kept.pop(path, None)
        if kept is None:
            try:
                with self._store.open_input_file(path) as source:
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
