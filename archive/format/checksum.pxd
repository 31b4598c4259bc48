"""CRC-32 and CRC-32C for native callers (spec archive-files 10)."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

ctypedef uint32_t (*crc_function_t)(const uint8_t* data, int64_t length) noexcept nogil

cdef enum checksum_kind:
    CHECKSUM_NONE = 0
    CHECKSUM_CRC32 = 1
    CHECKSUM_CRC32C = 2

# Returns the checksum of length bytes, by the fastest implementation that this machine has.
cdef int32_t crc_of(int kind, const uint8_t* data, int64_t length) noexcept nogil


cdef class Checksum:
    cdef readonly str name
    cdef readonly str implementation
    cdef int kind
    cdef crc_function_t _function
    cdef int32_t compute_native(self, const uint8_t* data, int64_t length) noexcept nogil
    # Writes each DATA frame's checksum into its session id field, as the recorder does with the
    # block that it is about to write. Returns the number of frames, or minus the offset of a frame
    # that does not fit in the block, minus one.
    cdef int64_t stamp_block(self, uint8_t* block, int64_t length) noexcept nogil
