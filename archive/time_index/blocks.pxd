"""Blocks of a time index: native code that fills them and reads them with checks."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.memory.data_file cimport DataFile

cdef enum:
    BLOCK_LENGTH = 4096
    ENTRIES_PER_BLOCK = 252


cdef struct block_t:
    # A block as stored in the file: the time of entry i is words[2 * i], its position follows.
    int64_t words[2 * ENTRIES_PER_BLOCK]
    int32_t count
    int32_t runs_before
    int32_t runs_after
    int32_t identity
    int64_t number
    int64_t recording_id
    int64_t prior_max
    int64_t min
    int64_t max
    int32_t sample             # of the frame at the first entry's position, 0 for none
    int32_t checksum


cdef struct filling_t:
    # The block that is being filled, whose trailer lacks only the checksum.
    block_t block
    int64_t last_time


cdef void filling_begin(
    filling_t* filling, int64_t recording_id, int32_t identity, int64_t number) noexcept nogil
cdef bint filling_add(
    filling_t* filling, int64_t time_ns, int64_t position, int32_t sample) noexcept nogil
cdef void filling_seal(filling_t* filling) noexcept nogil
cdef void filling_next(filling_t* filling) noexcept nogil
cdef bint filling_resume(filling_t* filling, const block_t* block, int64_t keep) noexcept nogil
cdef bint is_next_segment(
    int64_t before, int64_t position, int64_t segment_length, int64_t origin) noexcept nogil
cdef int32_t frame_sample(const uint8_t* frame, int64_t length) noexcept nogil


cdef class TimeBlocks:
    cdef DataFile _file
    cdef object _image
    cdef const uint8_t* _memory
    cdef int64_t _memory_length
    cdef readonly int64_t recording_id
    cdef readonly int32_t identity
    cdef readonly int64_t first      # number of the first block that is kept
    cdef readonly int64_t limit      # number behind the last block
    cdef int64_t raw_read(self, int64_t number, block_t* block) noexcept nogil
    cdef int32_t read(self, int64_t number, block_t* block) noexcept nogil
    cdef int64_t entries_before(self, int64_t limit) noexcept nogil
    cdef int32_t _count(self, int64_t number) noexcept nogil
