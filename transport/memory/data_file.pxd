from libc.stdint cimport int64_t


cdef class DataFile:
    cdef readonly str path
    cdef readonly bint writable
    cdef int fd
    cdef int64_t pwrite(self, const void* source, int64_t length, int64_t offset) noexcept nogil
    cdef int64_t pread(self, void* target, int64_t length, int64_t offset) noexcept nogil
    cdef int sync(self, int level) noexcept nogil
    cdef int64_t size(self) noexcept nogil
    cdef int truncate(self, int64_t length) noexcept nogil
    cdef int allocate(self, int64_t offset, int64_t length) noexcept nogil
    cdef int _check(self, int64_t result, str what, int64_t length) except -1
