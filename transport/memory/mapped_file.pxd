from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef class MappedFile:
    cdef uint8_t* address
    cdef readonly int64_t length
    cdef readonly str path
    cdef readonly bint writable
    cdef bytes _encoded_path
    cdef const char* _path_text  # of the encoded path
    cdef uint64_t _device
    cdef uint64_t _inode
    cdef bint allocated         # nothing is left to be allocated, or a sub-class does it
    cdef void* _watch           # of a read-only mapping, NULL of others (aerolog_shrunk.h)
    # Raise an error when the file was found to be shorter than the mapping. Called after reads too.
    cdef int check_whole(self) except -1
    # Raise a ValueError for a mapping that can only be read.
    cdef int check_writable(self) except -1
    cdef int _map(self, int fd, int64_t length) except -1
    cdef int _name(self, int fd, object path) except -1
    cdef int allocate(self, int64_t offset, int64_t length) noexcept nogil
    cdef uint8_t* section(self, int64_t offset, int64_t length) except NULL
    cdef void* _word(self, int64_t offset, int64_t size, bint store) except NULL
