"""File systems: aerolog accesses every disk through a FileSystem.

RealFileSystem is the machine's; ``aerolog.testing.FakeFileSystem`` keeps files in memory and can
run out of space, fail to sync and lose power. It is for the control path only: the data path reads
and writes through the MappedFile and DataFile objects that it opens.
"""
# ruff: noqa: D102  (the methods of RealFileSystem are documented in FileSystem)

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import stat
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from aerolog.transport.errors import ConfigurationError, StorageSpaceError
from aerolog.transport.memory.data_file import DataFile
from aerolog.transport.memory.mapped_file import MappedFile, existing_parent, usable_space
from aerolog.transport.memory.regular_file import open_named, open_regular, read_whole
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class FileStamp(NamedTuple):
    """Values that differ after a file was changed, or replaced by another file.

    Attributes:
        size: length in bytes.
        mtime_ns: time of the last change of the content, epoch nanoseconds.
        inode: number of the file in its file system; a file that replaces it has another number.
    """

    size: int
    mtime_ns: int
    inode: int


class FileLock(Resource):
    """A lock on a file, which ``close`` releases."""

    def __init__(self, release: Callable[[], None]) -> None:
        self._release: Callable[[], None] | None = release

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        release, self._release = self._release, None
        if release is not None:
            release()


@runtime_checkable
class FileSystem(Protocol):
    """The operations of driver, archive and client on a disk; paths are strings."""

    def create_mapped(
        self, path: str, length: int, *, preallocate: bool = True, check_space: bool = True
    ) -> MappedFile:
        """Create a file of zeros that must not exist yet, and map it for reading and writing.

        Args:
            path: path of the new file, in an existing folder.
            length: length in bytes, more than 0.
            preallocate: allocate the whole file on disk now, so that no store can fail later.
                Otherwise the file is sparse, and ``MappedFile.allocate_range`` allocates its parts.
            check_space: fail if the file system has less usable space than ``length``.

        Raises:
            StorageSpaceError: if there is not enough space; no file is left behind.
            FileExistsError: if the file exists.
        """

    def open_mapped(self, path: str, *, writable: bool = True, min_length: int = 1) -> MappedFile:
        """Map the whole of an existing file.

        Raises:
            FileNotFoundError: if there is no such file.
            FileFormatError: if the file is shorter than ``min_length``.
            NoRegularFileError: if it is a pipe or a device.
        """

    def open_data_file(
        self, path: str, *, writable: bool = False, create: bool = False, exclusive: bool = False
    ) -> DataFile:
        """Open a file for reads and writes at offsets; ``exclusive`` refuses an existing one.

        Raises:
            NoRegularFileError: it is a pipe or a device.
        """

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of that name."""

    def is_dir(self, path: str) -> bool:
        """Whether there is a folder of that name."""

    def is_regular(self, path: str) -> bool:
        """Whether there is a plain file of that name: no folder, and no link to somewhere else."""

    def is_link(self, path: str) -> bool:
        """Whether there is a link of that name, wherever it leads."""

    def size(self, path: str) -> int:
        """Length of a file in bytes.

        Raises:
            FileNotFoundError: if there is no such file.
        """

    def remove(self, path: str) -> None:
        """Remove a file.

        Raises:
            FileNotFoundError: if there is no such file.
        """

    def remove_tree(self, path: str) -> None:
        """Remove a folder with everything in it, if it exists."""

    def make_dirs(self, path: str) -> None:
        """Create a folder and its parents where they are missing."""

    def list_dir(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""

    def scan_dir(self, path: str) -> Iterator[str]:
        """Yield the names in a folder, unsorted, reading them on demand.

        Names that are created or removed meanwhile may be among them or not.
        """
        return iter(self.list_dir(path))

    def rename(self, source: str, target: str) -> None:
        """Rename a file, replacing the target atomically."""

    def link(self, source: str, target: str) -> None:
        """Give a file a second name.

        Raises:
            FileExistsError: if the name exists.
            OSError: if the file system has no hard links, or on any other error.
        """

    def shared_file(self, path: str) -> tuple[int, int] | None:
        """Return the identity of a file that has several names; None if it has only this one.

        Raises:
            FileNotFoundError: if there is no such file.
        """

    def stamp(self, path: str) -> FileStamp:
        """Return size, time of the last change and inode of a file.

        Raises:
            FileNotFoundError: if there is no such file.
        """

    def sync_dir(self, path: str) -> None:
        """Make creations, renames and removals in a folder durable."""

    def usable_space(self, path: str) -> int:
        """Bytes that this process may still allocate in the file system of a path, new or not."""

    def store_name(self, path: str) -> str:
        """The mount point that holds ``path``, for messages."""

    def is_unused(self, path: str) -> bool:
        """Whether it is certain that no process has a file open for writing or mapped writable.

        False means that a process has the file, or that this system cannot tell.
        """

    def try_lock(self, path: str) -> FileLock | None:
        """Lock a file, creating it if it is missing; None while another process has the lock.

        The end of a process releases its locks. The file is not removed.
        """

    def read_bytes(self, path: str) -> bytes:
        """Return the content of a file, which should be small."""

    def write_bytes(self, path: str, data: bytes) -> None:
        """Replace the content of a file, which should be small, or create it."""


class RealFileSystem(FileSystem):
    """The machine's file system."""

    def create_mapped(
        self, path: str, length: int, *, preallocate: bool = True, check_space: bool = True
    ) -> MappedFile:
        return MappedFile.create(path, length, preallocate, check_space)

    def open_mapped(self, path: str, *, writable: bool = True, min_length: int = 1) -> MappedFile:
        return MappedFile.open(path, writable, min_length)

    def open_data_file(
        self, path: str, *, writable: bool = False, create: bool = False, exclusive: bool = False
    ) -> DataFile:
        return DataFile.open(path, writable, create, exclusive)

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def is_dir(self, path: str) -> bool:
        return Path(path).is_dir()

    def is_regular(self, path: str) -> bool:
        try:
            return stat.S_ISREG(os.lstat(path).st_mode)
        except FileNotFoundError:
            return False

    def is_link(self, path: str) -> bool:
        return Path(path).is_symlink()

    def size(self, path: str) -> int:
        return Path(path).stat().st_size

    def remove(self, path: str) -> None:
        Path(path).unlink()

    def remove_tree(self, path: str) -> None:
        if Path(path).exists():
            shutil.rmtree(path)

    def make_dirs(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def list_dir(self, path: str) -> list[str]:
        return sorted(entry.name for entry in Path(path).iterdir())

    def scan_dir(self, path: str) -> Iterator[str]:
        with os.scandir(path) as entries:
            for entry in entries:
                yield entry.name

    def rename(self, source: str, target: str) -> None:
        Path(source).replace(target)

    def link(self, source: str, target: str) -> None:
        os.link(source, target)

    def shared_file(self, path: str) -> tuple[int, int] | None:
        found = os.lstat(path)
        return (found.st_dev, found.st_ino) if found.st_nlink > 1 else None

    def stamp(self, path: str) -> FileStamp:
        found = Path(path).stat()
        return FileStamp(found.st_size, found.st_mtime_ns, found.st_ino)

    def sync_dir(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def usable_space(self, path: str) -> int:
        return usable_space(path)

    def store_name(self, path: str) -> str:
        at = Path(os.path.realpath(existing_parent(path)))
        while not at.is_mount():
            at = at.parent
        return str(at)

    def is_unused(self, path: str) -> bool:
        # The kernel grants a read lease only on a file that no process has open or mapped for
        # writing, in whatever container that process runs. If a process opens it so meanwhile, the
        # kernel sends a signal, here one that is ignored by default. Closing the file ends the
        # lease.
        try:
            fd = open_regular(path)
        except OSError:
            return False
        try:
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError:
            return False
        finally:
            os.close(fd)
        return True

    def try_lock(self, path: str) -> FileLock | None:
        fd = open_regular(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        except OSError:
            os.close(fd)
            raise
        return FileLock(partial(os.close, fd))

    def read_bytes(self, path: str) -> bytes:
        with open(path, "rb", opener=open_regular) as file:
            return read_whole(file, path)

    def write_bytes(self, path: str, data: bytes) -> None:
        with named(path), open(path, "wb", opener=open_regular) as file:
            file.write(data)


def read_at_most(path: str | os.PathLike[str], length_max: int) -> bytes:
    """The whole of a file that somebody names, such as settings; see ``open_named``.

    Raises:
        ConfigurationError: it is longer than ``length_max`` bytes.
        NoRegularFileError: it is a pipe or a device.
        OSError: it cannot be read.
    """
    with open_named(path) as file:
        content = file.read(length_max + 1)
    if len(content) > length_max:
        raise ConfigurationError(f"{os.fspath(path)}: longer than {length_max} bytes")
    return content


def has_inodes(path: str | Path) -> bool:
    """Whether the file system of a path takes one more file; the path need not exist.

    Without inodes the system says that there is no space, however many bytes are free.
    """
    found = os.statvfs(existing_parent(os.fspath(path)))
    return found.f_files == 0 or found.f_favail > 0


@contextmanager
def named(path: str | Path) -> Iterator[None]:
    """Give errors of an open file its name, which the system does not tell with them.

    Args:
        path: of the file; errors that have a name keep it.

    Raises:
        StorageSpaceError: the disk is full.
        OSError: any other error of the system's.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        if error.errno != errno.ENOSPC or isinstance(error, StorageSpaceError):
            raise
        raise StorageSpaceError(errno.ENOSPC, error.strerror, error.filename) from error
