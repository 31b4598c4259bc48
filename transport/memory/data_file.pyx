"""Files that are read and written at offsets, by native code that holds no GIL.

One owner opens and closes a DataFile; other threads may call its native methods in between. The
methods are virtual, so that ``aerolog.testing`` can give the same callers a faulty disk.
"""

from libc.errno cimport (
    EBADF,
    EINTR,
    EINVAL,
    EIO,
    ENOSPC,
    ENOSYS,
    ENXIO,
    EOPNOTSUPP,
    errno,
)
from libc.stdint cimport int64_t, uint8_t
from posix.stat cimport fstat, struct_stat
from posix.unistd cimport close as _close
from posix.unistd cimport fdatasync, fsync, ftruncate
from posix.unistd cimport pread as _pread
from posix.unistd cimport pwrite as _pwrite

import os

from aerolog.transport.errors import ResourceClosedError
from aerolog.transport.memory.mapped_file import storage_space_error, usable_space
from aerolog.transport.memory.regular_file import open_regular

cdef extern from "aerolog_files.h" nogil:
    int aerolog_allocate(int fd, int64_t offset, int64_t length) noexcept

cdef extern from *:
    """
    /* Makes a range of a file a hole; its length stays. Returns 0 or -errno. */
    static int aerolog_punch_hole(int fd, int64_t offset, int64_t length)
    {
    #if defined(__linux__)
        return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) == 0
            ? 0 : -errno;
    #else
        return -EOPNOTSUPP;
    #endif
    }
    """
    int aerolog_punch_hole(int fd, int64_t offset, int64_t length) noexcept nogil

SYNC_NONE = 0
SYNC_DATA = 1
SYNC_ALL = 2


cdef class DataFile:
    """An open file. Made by ``open`` or ``from_descriptor``; a context manager.

    Native methods return a count or 0, or -errno. Sync levels: 0 none, 1 data, 2 data and
    metadata (the archive's file sync levels).
    """

    def __cinit__(self):
        self.fd = -1
        self.path = ""
        self.writable = False

    def __dealloc__(self):
        if self.fd >= 0:
            _close(self.fd)

    @classmethod
    def open(
        cls, path: str, writable: bool = False, create: bool = False, exclusive: bool = False
    ) -> DataFile:
        """Open a file.

        Args:
            path: path of the file.
            writable: open the file for writing as well.
            create: create an empty file if there is none.
            exclusive: with ``create``, refuse a file that exists.

        Raises:
            NoRegularFileError: it is a pipe or a device.
        """
        flags = os.O_RDWR if writable else os.O_RDONLY
        if create:
            flags |= os.O_CREAT | (os.O_EXCL if exclusive else 0)
        return cls.from_descriptor(open_regular(path, flags), path, writable)

    @classmethod
    def from_descriptor(cls, fd: int, path: str, writable: bool) -> DataFile:
        """Take ownership of an open descriptor."""
        cdef DataFile file = cls.__new__(cls)
        file.fd = fd
        file.path = path
        file.writable = writable
        return file

    cdef int64_t pwrite(self, const void* source, int64_t length, int64_t offset) noexcept nogil:
        """Write at an offset; returns ``length``, or -errno, perhaps after a part was written."""
        cdef int64_t done = 0
        cdef ssize_t count
        if length < 0 or offset < 0:
            return -EINVAL
        while done < length:
            count = _pwrite(self.fd, <const uint8_t*> source + done, length - done, offset + done)
            if count < 0:
                if errno == EINTR:
                    continue
                return -errno
            if count == 0:
                return -ENOSPC
            done += count
        return done

    cdef int64_t pread(self, void* target, int64_t length, int64_t offset) noexcept nogil:
        """Read at an offset; returns the bytes read, fewer only at the file's end, or -errno."""
        cdef int64_t done = 0
        cdef ssize_t count
        if length < 0 or offset < 0:
            return -EINVAL
        while done < length:
            count = _pread(self.fd, <uint8_t*> target + done, length - done, offset + done)
            if count < 0:
                if errno == EINTR:
                    continue
                return -errno
            if count == 0:
                break
            done += count
        return done

    cdef int sync(self, int level) noexcept nogil:
        """Make written data durable; returns 0 or -errno."""
        cdef int result = 0
        if self.fd < 0:
            return -EBADF
        if level == 1:
            result = fdatasync(self.fd)
        elif level >= 2:
            result = fsync(self.fd)
        return 0 if result == 0 else -errno

    cdef int64_t size(self) noexcept nogil:
        """Length of the file in bytes, or -errno."""
        cdef struct_stat status
        if fstat(self.fd, &status) != 0:
            return -errno
        return status.st_size

    cdef int truncate(self, int64_t length) noexcept nogil:
        """Set the length of the file, with zeros for new bytes; returns 0 or -errno."""
        return 0 if ftruncate(self.fd, length) == 0 else -errno

    cdef int allocate(self, int64_t offset, int64_t length) noexcept nogil:
        """Allocate a range on disk, growing the file if needed; returns 0 or -errno."""
        if offset < 0 or length <= 0:
            return -EINVAL
        return aerolog_allocate(self.fd, offset, length)

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self.fd < 0

    def write_at(self, data, offset: int) -> int:
        """Write a buffer at an offset.

        Raises:
            StorageSpaceError: if the disk is full; part of the data may be written.
            OSError: if the system reports any other error.
        """
        cdef const uint8_t[::1] source = _bytes_of(data)
        cdef int64_t begin = offset, result, length = source.shape[0]
        if length == 0:
            return 0
        with nogil:
            result = self.pwrite(&source[0], length, begin)
        self._check(result, "write", length)
        return result

    def read_at(self, length: int, offset: int) -> bytes:
        """Read bytes at an offset; fewer are returned only at the end of the file."""
        target = bytearray(length)
        del target[self.read_into(target, offset):]
        return bytes(target)

    def read_into(self, target, offset: int) -> int:
        """Fill a writable buffer from an offset; returns the bytes read."""
        cdef uint8_t[::1] view = memoryview(target).cast("B")
        cdef int64_t begin = offset, result, length = view.shape[0]
        if length == 0:
            return 0
        with nogil:
            result = self.pread(&view[0], length, begin)
        self._check(result, "read", length)
        return result

    def flush(self, level: int = 1) -> None:
        """Make written data durable; the class describes the levels."""
        cdef int wanted = level, result
        with nogil:
            result = self.sync(wanted)
        self._check(result, "sync", 0)

    def file_size(self) -> int:
        """Length of the file in bytes."""
        cdef int64_t result = self.size()
        self._check(result, "stat", 0)
        return result

    def first_hole(self, offset: int = 0) -> int:
        """Offset of the first hole at or after ``offset``, or the file length if there is none.

        A hole consists of whole blocks that were never written. A file system that cannot report
        holes reports none.
        """
        length = self.file_size()
        if offset >= length:
            return length
        try:
            return os.lseek(self.fd, offset, os.SEEK_HOLE)
        except OSError as error:
            if error.errno not in (EINVAL, ENXIO, EOPNOTSUPP):
                raise
            return length

    def block_length(self) -> int:
        """Block size of the file system in bytes, as the system reports it."""
        return os.fstat(self.fd).st_blksize

    def set_length(self, length: int) -> None:
        """Truncate the file or extend it with zeros."""
        self._check(self.truncate(length), "truncate", length)

    def clear_behind(self, offset: int) -> None:
        """Replace everything from an offset on by zeros; the length stays.

        A hole is punched where the file system has holes. Elsewhere the file is truncated and
        extended again, which kills a process that reads a mapping of that part in between.
        """
        cdef int64_t length = self.file_size() - <int64_t> offset
        cdef int result
        if length <= 0:
            return
        result = aerolog_punch_hole(self.fd, offset, length)
        if result in (-EOPNOTSUPP, -ENOSYS):
            self.set_length(offset)
            self.set_length(offset + length)
        else:
            self._check(result, "clear", length)

    def allocate_range(self, offset: int, length: int) -> None:
        """Allocate a range on disk, growing the file if needed."""
        cdef int64_t begin = offset, count = length
        cdef int result
        with nogil:
            result = self.allocate(begin, count)
        self._check(result, "allocate", length)

    def usable_space(self) -> int:
        """Bytes that this process may still allocate in the file system of the file."""
        return usable_space(self.path)

    cdef int _check(self, int64_t result, str what, int64_t length) except -1:
        if result >= 0:
            return 0
        if self.fd < 0:
            raise ResourceClosedError(f"cannot {what} {self.path}: it is closed")
        if result == -ENOSPC:
            raise storage_space_error(self.path, length, self.usable_space())
        raise OSError(-result, f"cannot {what} {length} bytes: {os.strerror(-result)}", self.path)

    def close(self) -> None:
        """Close the file, unless it is closed. No native caller may be inside a method."""
        cdef int fd = self.fd
        self.fd = -1
        if fd >= 0 and _close(fd) != 0 and errno == EIO:
            raise OSError(EIO, "error while closing", self.path)

    def __enter__(self) -> DataFile:
        return self

    def __exit__(self, exc_type, exc, traceback) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<DataFile {self.path}{' closed' if self.fd < 0 else ''}>"


cdef object _bytes_of(data):
    """Return a one-dimensional view of the bytes of a contiguous buffer."""
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")
