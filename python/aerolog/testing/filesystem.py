"""A file system in memory that runs out of space, fails to sync and loses power when told to.

Files are anonymous memory of the kernel, so that mappings and data files of one name see the same
bytes, as on a disk. Space is counted in pages of 4096 bytes.
"""
# ruff: noqa: D102, ARG002  (the methods of FakeFileSystem are documented in FileSystem)

from __future__ import annotations

import errno
import os
import posixpath
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet

from aerolog.testing.disk import FakeDataFile, FakeMappedFile
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.filesystem import FileLock, FileStamp, FileSystem
from aerolog.transport.memory.mapped_file import storage_space_error

if TYPE_CHECKING:
    from aerolog.transport.memory.data_file import DataFile
    from aerolog.transport.memory.mapped_file import MappedFile

PAGE = 4096


def _pages(offset: int, length: int) -> range:
    return range(offset // PAGE, -(-(offset + length) // PAGE))


@dataclass(slots=True)
class _Undo:
    """What a write that is not yet durable has replaced."""

    offset: int
    before: bytes
    size: int


@dataclass(slots=True, eq=False)
class FakeFile:
    """One file: its memory, the pages that it takes, and what is not durable yet.

    Attributes:
        number: the number of the file on its disk.
        changes: writes so far, in place of a time of the last one.
    """

    disk: FakeFileSystem
    path: str
    fd: int
    pages: set[int] = field(default_factory=set)
    undo: list[_Undo] = field(default_factory=list)
    mappings: WeakSet[FakeMappedFile] = field(default_factory=WeakSet)
    number: int = 0
    changes: int = 0

    def __del__(self) -> None:
        os.close(self.fd)

    @property
    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def write(self, data: bytes, offset: int) -> int:
        """Write as far as the disk lives and has room; the length or -errno."""
        if self.disk.dead:
            return -errno.EIO
        self.disk.before("write", self.path, offset, data)
        kept = self.disk.spend_write(len(data))
        code = -errno.EIO if kept < len(data) else 0
        room = self._room(offset, kept)
        if room < kept:
            kept, code = room, -errno.ENOSPC
        size = self.size
        before = os.pread(self.fd, kept, offset)
        self.undo.append(_Undo(offset, before, size))
        os.pwrite(self.fd, data[:kept], offset)
        self.changes += 1
        self.pages.update(_pages(offset, kept))
        return code or len(data)

    def sync(self, level: int) -> int:
        """Make writes durable, or fail as told; 0 or -errno."""
        if self.disk.dead:
            return -errno.EIO
        if level == 0:
            return 0
        self.disk.before("sync", self.path)
        code = self.disk.spend_sync()
        if code == 0:
            self.undo.clear()
            self.disk.after_sync(self)
        return -code

    def truncate(self, length: int) -> int:
        """Set the length; 0 or -errno."""
        if self.disk.dead:
            return -errno.EIO
        self.disk.before("set_length", self.path, length)
        size = self.size
        cut = os.pread(self.fd, max(0, size - length), length)
        self.undo.append(_Undo(length, cut, size))
        os.ftruncate(self.fd, length)
        self.changes += 1
        self.pages.difference_update(range(-(-length // PAGE), -(-size // PAGE)))
        return 0

    def clear_behind(self, offset: int) -> int:
        """Make what is behind an offset a hole; 0 or -errno."""
        if self.disk.dead:
            return -errno.EIO
        self.disk.before("clear", self.path, offset)
        size = self.size
        self.undo.append(_Undo(offset, os.pread(self.fd, max(0, size - offset), offset), size))
        os.ftruncate(self.fd, min(offset, size))
        os.ftruncate(self.fd, size)
        self.changes += 1
        self.pages.difference_update(range(-(-offset // PAGE), -(-size // PAGE)))
        return 0

    def allocate(self, offset: int, length: int, grow: bool = False) -> int:
        """Take the pages of a range; 0 or -errno, and then none is taken."""
        if offset < 0 or length <= 0 or (not grow and offset + length > self.size):
            return -errno.EINVAL
        if self.disk.dead:
            return -errno.EIO
        self.disk.before("allocate", self.path, offset)
        wanted = set(_pages(offset, length)) - self.pages
        if len(wanted) * PAGE > self.disk.free_bytes:
            return -errno.ENOSPC
        self.pages |= wanted
        if offset + length > self.size:
            os.ftruncate(self.fd, offset + length)
        return 0

    def about_to_store(self, kind: str, offset: int, length: int) -> None:
        """A mapping of this file is about to be written."""
        self.disk.before(kind, self.path, offset, length=length)

    def flushed(self) -> None:
        """A mapping of this file was made durable."""
        self.disk.before("flush", self.path)
        self.disk.after_sync(self)

    def roll_back(self) -> None:
        """Forget what was written since the last sync."""
        for undo in reversed(self.undo):
            os.ftruncate(self.fd, undo.size)
            os.pwrite(self.fd, undo.before, undo.offset)
        self.undo.clear()

    def _room(self, offset: int, length: int) -> int:
        """The number of bytes of a write for which there is room."""
        free = self.disk.free_bytes // PAGE
        for page in _pages(offset, length):
            if page not in self.pages:
                if free == 0:
                    return max(0, page * PAGE - offset)
                free -= 1
        return length


class FakeFileSystem(FileSystem):
    """A disk in memory.

    Args:
        capacity_bytes: the size of the disk.

    Attributes:
        dead: after a torn write: every write and sync fails until ``restart``.
        sync_count: how many syncs succeeded.
    """

    def __init__(self, capacity_bytes: int = 1 << 40) -> None:
        self.capacity_bytes = capacity_bytes
        self.dead = False
        self.sync_count = 0
        self._files: dict[str, FakeFile] = {}
        self._dirs = {"/"}
        self._made = 0
        self._write_budget: int | None = None
        self._sync_failures: list[int] = []
        self._locked: set[str] = set()

    # Faults.

    def fill_up(self, free_bytes: int = 0) -> None:
        """Leave only so much space."""
        self.capacity_bytes = self.used_bytes + free_bytes

    def tear_after(self, byte_count: int) -> None:
        """Die in the write that goes past so many more bytes; what is before stays."""
        self._write_budget = byte_count

    def fail_sync(self, times: int = 1, code: int = errno.EIO) -> None:
        """Let the next syncs fail."""
        self._sync_failures = [code] * times

    def restart(self, *, lose_unsynced: bool = False) -> None:
        """Come back after a kill; after a power cut with ``lose_unsynced``.

        What went through data files and was never synced is then gone; mapped pages are kept.
        """
        self.dead = False
        self._write_budget = None
        self._sync_failures = []
        self._locked.clear()
        if lose_unsynced:
            for file in self._files.values():
                file.roll_back()

    @property
    def used_bytes(self) -> int:
        """Space taken by files."""
        return sum(len(file.pages) for file in set(self._files.values())) * PAGE

    @property
    def free_bytes(self) -> int:
        """The bytes that are left on the disk."""
        return max(0, self.capacity_bytes - self.used_bytes)

    def spend_write(self, length: int) -> int:
        """How much of a write is done before the disk dies; called by its files."""
        if self._write_budget is None:
            return length
        kept = min(length, self._write_budget)
        self._write_budget -= kept
        self.dead = kept < length
        return kept

    def spend_sync(self) -> int:
        """The error code of a sync, 0 for success; called by its files."""
        if self._sync_failures:
            return self._sync_failures.pop()
        self.sync_count += 1
        return 0

    # For disks that look at every operation.

    def before(
        self, kind: str, path: str, offset: int = 0, data: bytes = b"", *, length: int = 0
    ) -> None:
        """An operation is about to change a file or a folder, or to make it durable."""

    def after_sync(self, file: FakeFile) -> None:
        """What a file holds is durable."""

    # The door.

    def create_mapped(
        self, path: str, length: int, *, preallocate: bool = True, check_space: bool = True
    ) -> MappedFile:
        if length <= 0:
            raise ValueError(f"cannot map {path} with length={length}: it must be more than 0")
        if check_space and self.free_bytes < length:
            raise storage_space_error(path, length, self.free_bytes)
        file = self.create_file(path)
        self.before("set_length", file.path, length)
        os.ftruncate(file.fd, length)
        if preallocate and file.allocate(0, length) < 0:
            del self._files[file.path]
            raise storage_space_error(path, length, self.free_bytes)
        return self._map(file, writable=True)

    def open_mapped(self, path: str, *, writable: bool = True, min_length: int = 1) -> MappedFile:
        file = self._find(path)
        if file.size < max(1, min_length):
            raise FileFormatError(
                f"{path} is truncated or not yet written: {file.size} bytes, needs at least "
                f"{max(1, min_length)}"
            )
        return self._map(file, writable=writable)

    def open_data_file(
        self, path: str, *, writable: bool = False, create: bool = False, exclusive: bool = False
    ) -> DataFile:
        if create and (exclusive or _normal(path) not in self._files):
            return FakeDataFile.of(self.create_file(path), writable)
        return FakeDataFile.of(self._find(path), writable)

    def exists(self, path: str) -> bool:
        return _normal(path) in self._files or _normal(path) in self._dirs

    def is_dir(self, path: str) -> bool:
        return _normal(path) in self._dirs

    def is_regular(self, path: str) -> bool:
        return _normal(path) in self._files

    def is_link(self, path: str) -> bool:
        del path  # nobody can make one
        return False

    def size(self, path: str) -> int:
        return self._find(path).size

    def remove(self, path: str) -> None:
        file, name = self._find(path), _normal(path)
        self.before("remove", name)
        del self._files[name]
        if file.path == name:
            file.path = self._other_name(file) or name

    def remove_tree(self, path: str) -> None:
        root = _normal(path)
        inside = [name for name in (*self._files, *self._dirs) if _is_under(name, root)]
        for name in inside:
            self._files.pop(name, None)
            self._dirs.discard(name)

    def make_dirs(self, path: str) -> None:
        at = _normal(path)
        while at != "/":
            if at in self._files:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), at)
            self._dirs.add(at)
            at = posixpath.dirname(at)

    def list_dir(self, path: str) -> list[str]:
        root = _normal(path)
        if root not in self._dirs:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        names = (*self._files, *self._dirs)
        return sorted(
            posixpath.basename(name)
            for name in names
            if name != "/" and posixpath.dirname(name) == root
        )

    def rename(self, source: str, target: str) -> None:
        file = self._find(source)
        self.before("rename", _normal(source))
        del self._files[_normal(source)]
        file.path = _normal(target)
        self._files[file.path] = file

    def link(self, source: str, target: str) -> None:
        file, name = self._find(source), _normal(target)
        if self.exists(name):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        self.before("link", name)
        self._files[name] = file

    def shared_file(self, path: str) -> tuple[int, int] | None:
        file = self._find(path)
        names = sum(found is file for found in self._files.values())
        return (0, file.fd) if names > 1 else None

    def stamp(self, path: str) -> FileStamp:
        file = self._find(path)
        return FileStamp(file.size, file.changes, file.number)

    def sync_dir(self, path: str) -> None:
        self.before("sync_dir", _normal(path))
        code = self.spend_sync()
        if code:
            raise OSError(code, os.strerror(code), path)

    def usable_space(self, path: str) -> int:
        return self.free_bytes

    def store_name(self, path: str) -> str:
        return "memory"

    def is_unused(self, path: str) -> bool:
        file = self._files.get(_normal(path))
        return file is not None and not any(mapped.writable for mapped in file.mappings)

    def try_lock(self, path: str) -> FileLock | None:
        name = _normal(path)
        if name in self._locked:
            return None
        if name not in self._files:
            self.create_file(name)
        self._locked.add(name)
        return FileLock(partial(self._locked.discard, name))

    def read_bytes(self, path: str) -> bytes:
        file = self._find(path)
        return os.pread(file.fd, file.size, 0)

    def write_bytes(self, path: str, data: bytes) -> None:
        if _normal(path) in self._files:
            self.remove(path)
        result = self.create_file(path).write(data, 0)
        if result == -errno.ENOSPC:
            raise storage_space_error(path, len(data), self.free_bytes)
        if result < 0:
            raise OSError(-result, os.strerror(-result), path)

    def _find(self, path: str) -> FakeFile:
        file = self._files.get(_normal(path))
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return file

    def _other_name(self, file: FakeFile) -> str | None:
        return next((name for name, found in self._files.items() if found is file), None)

    def create_file(self, path: str) -> FakeFile:
        name = _normal(path)
        if self.exists(name):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        if posixpath.dirname(name) not in self._dirs:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self.before("create", name)
        file = FakeFile(self, name, os.memfd_create(posixpath.basename(name)[:200]))
        self._made += 1
        file.number = self._made
        self._files[name] = file
        return file

    @staticmethod
    def _map(file: FakeFile, *, writable: bool) -> MappedFile:
        mapped = FakeMappedFile.of(file, writable)
        file.mappings.add(mapped)
        return mapped


def _normal(path: str) -> str:
    return posixpath.normpath(posixpath.join("/", path))


def _is_under(name: str, root: str) -> bool:
    return name == root or name.startswith(root.rstrip("/") + "/")
