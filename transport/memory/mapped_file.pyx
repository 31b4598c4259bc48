"""Files mapped into memory, shared with other processes.

Memoryviews and native owners hold a reference to the MappedFile, and the memory is unmapped when
the last reference is gone. There is no close.

A store into a mapped page that is not allocated on a full disk kills the process (SIGBUS).
Therefore a file is either allocated whole when it is created, or its owner calls ``allocate`` on
each part before any process writes there. For that purpose the creator of a sparse file keeps its
descriptor; a process that opened the file gets one with the first ``allocate_range``. Mappings stay
usable in a forked child.

A read-only mapping survives that its file is made shorter: what is missing reads as zeros, and the
call that met it, or the next one, raises FileFormatError (docs/decisions/0018). So does a hole on a
memory file system that is full, with StorageSpaceError.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from libc.errno cimport EBADF, EINVAL, EIO, ENOSPC, errno
from libc.stdint cimport int32_t, int64_t, uint8_t
from posix.mman cimport (
    MAP_ANONYMOUS,
    MAP_FAILED,
    MAP_SHARED,
    MS_SYNC,
    PROT_READ,
    PROT_WRITE,
    mmap,
    msync,
    munmap,
)

from aerolog.transport.concurrent.atomic cimport (
    cas_i64,
    get_and_add_i64,
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
    store_release_i64,
)

import os
from os import strerror as _strerror

from aerolog.transport.errors import FileFormatError, StorageSpaceError
from aerolog.transport.memory.regular_file import open_regular

cdef extern from "aerolog_files.h" nogil:
    int aerolog_allocate(int fd, int64_t offset, int64_t length) noexcept
    int aerolog_allocate_in(
        const char* path, uint64_t device, uint64_t inode, int64_t offset, int64_t length
    ) noexcept

cdef extern from "aerolog_shrunk.h" nogil:
    void* aerolog_watch_mapping(
        const void* address, int64_t length, const char* path, uint64_t device, uint64_t inode
    ) noexcept
    void aerolog_end_watch(void* watch) noexcept
    int64_t aerolog_missing_from(const void* watch) noexcept
    int aerolog_missing_cause(const void* watch) noexcept
    int64_t aerolog_last_missing(char* path, size_t size, int* cause) noexcept
    int AEROLOG_SHORTER
    int AEROLOG_NO_ROOM


cdef class MappedFile:
    """A whole file, or anonymous memory, mapped shared.

    Exports the buffer protocol (read-only when the mapping is). Made by ``create``, ``open``,
    ``anonymous`` or ``from_descriptor``.

    Attributes:
        length: number of bytes mapped.
        path: path of the file; empty for anonymous memory.
        writable: whether stores are possible.
    """

    def __cinit__(self):
        self.address = NULL
        self.length = 0
        self.path = ""
        self.writable = False
        self._encoded_path = b""
        self._path_text = self._encoded_path
        self.allocated = True
        self._watch = NULL

    def __dealloc__(self):
        if self._watch != NULL:
            aerolog_end_watch(self._watch)
        if self.address != NULL:
            with nogil:  # it takes milliseconds for a large file
                munmap(self.address, self.length)

    @classmethod
    def create(
        cls, path: str, length: int, preallocate: bool = True, check_space: bool = True
    ) -> MappedFile:
        """Create a file of zeros and map it; see ``FileSystem.create_mapped``."""
        if length <= 0:
            raise ValueError(f"cannot map {path} with length={length}: it must be more than 0")
        if check_space:
            _check_space(path, length)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        cdef MappedFile mapped = cls.__new__(cls)
        try:
            os.ftruncate(fd, length)
            if preallocate:
                _allocate_whole(fd, path, length)
            mapped.writable = True
            mapped.allocated = preallocate
            mapped._name(fd, path)
            mapped._map(fd, length)
        except BaseException:
            os.unlink(path)
            raise
        finally:
            os.close(fd)
        return mapped

    @classmethod
    def open(cls, path: str, writable: bool = True, min_length: int = 1) -> MappedFile:
        """Map the whole of an existing file; see ``FileSystem.open_mapped``."""
        fd = open_regular(path, os.O_RDWR if writable else os.O_RDONLY)
        try:
            return cls.from_descriptor(fd, path, writable, min_length)
        finally:
            os.close(fd)

    @classmethod
    def anonymous(cls, length: int) -> MappedFile:
        """Map memory of zeros without a file; children forked later share it."""
        if length <= 0:
            raise ValueError(f"cannot map length={length}: it must be more than 0")
        cdef MappedFile mapped = cls.__new__(cls)
        mapped.writable = True
        mapped._map(-1, length)
        return mapped

    @classmethod
    def from_descriptor(
        cls, fd: int, path: str, writable: bool = True, min_length: int = 1
    ) -> MappedFile:
        """Map the whole of an open file; the caller keeps the descriptor.

        Raises:
            FileFormatError: if the file is shorter than ``min_length``.
        """
        length = os.fstat(fd).st_size
        if length < max(min_length, 1):
            raise FileFormatError(
                f"{path} is truncated or not yet written: {length} bytes, needs at least "
                f"{max(min_length, 1)}"
            )
        cdef MappedFile mapped = cls.__new__(cls)
        mapped.writable = writable
        mapped.allocated = False
        mapped._name(fd, path)
        mapped._map(fd, length)
        return mapped

    cdef int _name(self, int fd, object path) except -1:
        """Record the path of the file, by which ranges are allocated without an open descriptor."""
        status = os.fstat(fd)
        self._device = status.st_dev
        self._inode = status.st_ino
        self.path = path
        self._encoded_path = os.fsencode(os.path.abspath(path))
        self._path_text = self._encoded_path
        return 0

    cdef int _map(self, int fd, int64_t length) except -1:
        cdef int protection = PROT_READ | PROT_WRITE if self.writable else PROT_READ
        cdef int flags = MAP_SHARED | (MAP_ANONYMOUS if fd < 0 else 0)
        cdef void* found = mmap(NULL, length, protection, flags, fd, 0)
        if found == MAP_FAILED:
            code = errno
            raise OSError(code, f"cannot map {length} bytes: {_strerror(code)}", self.path)
        self.address = <uint8_t*> found
        self.length = length
        if fd >= 0 and not self.writable:
            self._watch = aerolog_watch_mapping(
                found, length, self._path_text, self._device, self._inode
            )
            if self._watch == NULL:
                raise OSError(errno, f"cannot watch a mapping: {_strerror(errno)}", self.path)
        return 0

    cdef int check_whole(self) except -1:
        cdef int64_t missing = aerolog_missing_from(self._watch)
        if missing < 0:
            return 0
        cdef int cause = aerolog_missing_cause(self._watch)
        if cause == AEROLOG_SHORTER:
            raise FileFormatError(
                f"{_missing_text(self.path, cause)}: of {self.length} bytes those from"
                f" offset {missing} on are gone: read it again when nothing else cuts it"
            )
        if cause == AEROLOG_NO_ROOM:
            raise StorageSpaceError(
                ENOSPC,
                f"{_no_room(self.path)} for its page at offset {missing}, which is not written yet"
                ": free some space and read it again",
                self.path,
            )
        raise OSError(EIO, f"its page at offset {missing} cannot be read", self.path)

    cdef int check_writable(self) except -1:
        if not self.writable:
            raise ValueError(f"{self.path} is mapped read-only")
        return 0

    def check(self) -> None:
        """Check that all that was read until now was in the file.

        Raises:
            FileFormatError: the file became shorter than the mapping.
            StorageSpaceError: a page that was never written needs room to be read, and the memory
                file system is full.
            OSError: a page cannot be read.
        """
        self.check_whole()

    cdef int allocate(self, int64_t offset, int64_t length) noexcept nogil:
        """Allocate a range on disk, as the owner of a sparse file does before the range is used.

        Returns 0 or -errno: -ENOSPC if the disk is full, -ESTALE if another file has the path now.
        Contents are not changed.
        """
        if offset < 0 or length <= 0 or offset > self.length - length:
            return -EINVAL
        if self.allocated:
            return 0
        if not self.writable:
            return -EBADF
        return aerolog_allocate_in(self._path_text, self._device, self._inode, offset, length)

    cdef uint8_t* section(self, int64_t offset, int64_t length) except NULL:
        """Address of a part of the mapping; raises an error for a part outside it."""
        if offset < 0 or length < 0 or offset > self.length - length:
            raise FileFormatError(
                f"{self.path or 'memory'} of {self.length} bytes has no room for {length} bytes "
                f"at offset {offset}"
            )
        self.check_whole()
        return self.address + offset

    def allocate_range(self, offset: int, length: int) -> None:
        """Allocate a range of a sparse file on disk.

        Raises:
            StorageSpaceError: if the disk is full.
        """
        cdef int64_t begin = offset, count = length
        cdef int result
        with nogil:
            result = self.allocate(begin, count)
        if result == -ENOSPC:
            raise storage_space_error(self.path, length, self.usable_space())
        if result < 0:
            raise OSError(
                -result,
                f"cannot allocate {length} bytes at offset {offset}: {_strerror(-result)}",
                self.path,
            )

    def usable_space(self) -> int:
        """Bytes that this process may still allocate in the file system of the file."""
        return usable_space(self.path)

    def flush(self) -> None:
        """Write changed pages to the file and wait until they are durable."""
        cdef int result
        with nogil:
            result = msync(self.address, self.length, MS_SYNC)
        if result != 0:
            raise OSError(errno, f"cannot flush: {_strerror(errno)}", self.path)

    def view(self, offset: int = 0, length: int = -1) -> memoryview:
        """Return a memoryview of a part, which keeps the file mapped; length -1 is the rest."""
        if length < 0:
            length = self.length - offset
        self.section(offset, length)
        return memoryview(self)[offset:offset + length]

    def load_i32(self, offset: int) -> int:
        """Read a 32-bit word with acquire order; the offset is a multiple of 4."""
        return load_acquire_i32(self._word(offset, 4, False))

    def load_i64(self, offset: int) -> int:
        """Read a 64-bit word with acquire order; the offset is a multiple of 8."""
        return load_acquire_i64(self._word(offset, 8, False))

    def store_i32(self, offset: int, value: int) -> None:
        """Write a 32-bit word with release order; the offset is a multiple of 4."""
        cdef int32_t word = value
        store_release_i32(self._word(offset, 4, True), word)

    def store_i64(self, offset: int, value: int) -> None:
        """Write a 64-bit word with release order; the offset is a multiple of 8."""
        cdef int64_t word = value
        store_release_i64(self._word(offset, 8, True), word)

    def get_and_add_i64(self, offset: int, delta: int) -> int:
        """Add to a 64-bit word and return the value before."""
        cdef int64_t amount = delta
        return get_and_add_i64(self._word(offset, 8, True), amount)

    def compare_and_set_i64(self, offset: int, expected: int, value: int) -> bool:
        """Store ``value`` in a 64-bit word that holds ``expected``; returns whether it did."""
        cdef int64_t old = expected, new = value
        return cas_i64(self._word(offset, 8, True), old, new)

    cdef void* _word(self, int64_t offset, int64_t size, bint store) except NULL:
        if offset % size:
            raise ValueError(f"offset {offset} is not a multiple of {size}")
        if store:
            self.check_writable()
        return self.section(offset, size)

    def __len__(self) -> int:
        return self.length

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.address, self.length, not self.writable, flags)

    def __repr__(self) -> str:
        return f"<MappedFile {self.path or 'anonymous'} length={self.length}>"


def last_missing() -> tuple[int, str]:
    """How many mappings of this process have met a page that their file did not have.

    What was read since may be zeros: a program that is about to end well compares the number with
    that at its start.

    Returns:
        The number, and a sentence that names the last such file and says why; empty without one.
    """
    cdef char path[4096]
    cdef int cause
    cdef int64_t count
    with nogil:
        count = aerolog_last_missing(path, sizeof(path), &cause)
    return count, _missing_text(os.fsdecode(<bytes> path), cause) if count else ""


def _missing_text(path: str, int cause) -> str:
    if cause == AEROLOG_SHORTER:
        return f"{path} became shorter while it was read"
    if cause == AEROLOG_NO_ROOM:
        return f"{path} cannot be read whole: {_no_room(path)}"
    return f"{path} cannot be read whole"


def _no_room(path: str) -> str:
    return f"there is no room in {os.path.dirname(os.path.abspath(path))} (full)"


def usable_space(path: str) -> int:
    """Bytes that may still be allocated in the file system of an existing or new path."""
    found = os.statvfs(existing_parent(path))
    return found.f_bavail * found.f_frsize


def existing_parent(path: str) -> str:
    """Return the path if it exists, or else the nearest folder above it that does."""
    at = os.path.abspath(path)
    while not os.path.exists(at):
        at = os.path.dirname(at)
    return at


def storage_space_error(path: str, needed: int, usable: int) -> StorageSpaceError:
    """Return the error for a file that does not fit; its message says what the user can do."""
    hint = ": free some space or use shorter buffers"
    if os.path.abspath(path).startswith("/dev/shm/"):
        hint += " (in a container, start it with a larger --shm-size)"
    return StorageSpaceError(
        ENOSPC, f"insufficient usable storage: needed={needed} usable={usable}{hint}", path
    )


def _check_space(path: str, length: int) -> None:
    usable = usable_space(path)
    if usable < length:
        raise storage_space_error(path, length, usable)


def _allocate_whole(fd: int, path: str, length: int) -> None:
    cdef int descriptor = fd
    cdef int64_t count = length
    cdef int result
    with nogil:
        result = aerolog_allocate(descriptor, 0, count)
    if result == -ENOSPC:
        raise storage_space_error(path, length, usable_space(path))
    if result < 0:
        raise OSError(-result, f"cannot allocate {length} bytes: {_strerror(-result)}", path)
