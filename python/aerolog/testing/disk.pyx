"""Mapped files and data files whose native methods ask a Python object first.

The faults are decided in ``FakeFileSystem``; here is only the bridge from native callers to it.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.errno cimport EBADF
from libc.stdint cimport int64_t

from aerolog.transport.memory.data_file cimport DataFile
from aerolog.transport.memory.mapped_file cimport MappedFile

import os


cdef class FakeMappedFile(MappedFile):
    """A mapping of an in-memory file; ``allocate`` asks ``file.allocate(offset, length)``."""

    cdef object _file
    cdef object __weakref__

    @classmethod
    def of(cls, file, writable: bool) -> FakeMappedFile:
        """Map the whole of a fake file."""
        cdef FakeMappedFile mapped = cls.from_descriptor(file.fd, file.path, writable)
        mapped._file = file
        mapped.allocated = True  # the file decides
        return mapped

    cdef int allocate(self, int64_t offset, int64_t length) noexcept nogil:
        with gil:
            return self._file.allocate(offset, length)

    def usable_space(self) -> int:
        """Bytes left on the fake disk."""
        return self._file.disk.free_bytes

    def view(self, offset: int = 0, length: int = -1) -> memoryview:
        """As of every mapping; the file is told first, since the caller may write there."""
        if self.writable:
            part = self.length - offset if length < 0 else length
            self._file.about_to_store("store", offset, part)
        return MappedFile.view(self, offset, length)

    def store_i32(self, offset: int, value: int) -> None:
        """As of every mapping; the file is told first."""
        self._file.about_to_store("store_i32", offset, 4)
        MappedFile.store_i32(self, offset, value)

    def store_i64(self, offset: int, value: int) -> None:
        """As of every mapping; the file is told first."""
        self._file.about_to_store("store_i64", offset, 8)
        MappedFile.store_i64(self, offset, value)

    def flush(self) -> None:
        """As of every mapping; what the file holds is durable afterwards."""
        MappedFile.flush(self)
        self._file.flushed()


cdef class FakeDataFile(DataFile):
    """An open in-memory file; writes and syncs ask ``file`` and return what it answers."""

    cdef object _file

    @classmethod
    def of(cls, file, writable: bool) -> FakeDataFile:
        """Open a fake file."""
        cdef FakeDataFile opened = cls.from_descriptor(os.dup(file.fd), file.path, writable)
        opened._file = file
        return opened

    cdef int64_t pwrite(self, const void* source, int64_t length, int64_t offset) noexcept nogil:
        if self.fd < 0 or not self.writable:
            return -EBADF
        with gil:
            data = PyBytes_FromStringAndSize(<const char*> source, length)
            return self._file.write(data, offset)

    cdef int sync(self, int level) noexcept nogil:
        if self.fd < 0:
            return -EBADF
        with gil:
            return self._file.sync(level)

    cdef int truncate(self, int64_t length) noexcept nogil:
        if self.fd < 0:
            return -EBADF
        with gil:
            return self._file.truncate(length)

    def clear_behind(self, offset: int) -> None:
        """As of every file; the fake file gives up the pages."""
        self._check(self._file.clear_behind(offset), "clear", 0)

    cdef int allocate(self, int64_t offset, int64_t length) noexcept nogil:
        if self.fd < 0 or not self.writable:
            return -EBADF
        with gil:
            return self._file.allocate(offset, length, True)

    def usable_space(self) -> int:
        """Bytes left on the fake disk."""
        return self._file.disk.free_bytes
