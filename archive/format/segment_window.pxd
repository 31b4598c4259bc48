"""The part of a segment that a scan reads, for native callers."""

from libc.stdint cimport int64_t, uint8_t

from aerolog.transport.memory.data_file cimport DataFile


cdef class SegmentWindow:
    # Bytes [begin, begin + length) of the segment are at data.
    cdef const uint8_t* data
    cdef int64_t begin
    cdef int64_t length
    # Length of the file as far as it is known; a read may find that it is shorter.
    cdef int64_t file_length
    cdef DataFile _file
    cdef uint8_t* _memory
    cdef int64_t _room
    # Makes the window begin at offset and hold at least wanted bytes, fewer only at the file's
    # end; more as it has room, up to the offset until. Returns 0, or -errno; then it is empty.
    cdef int fill(self, int64_t offset, int64_t wanted, int64_t until) noexcept nogil
