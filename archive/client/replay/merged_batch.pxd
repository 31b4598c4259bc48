"""Columns that a merge fills, for native callers."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

# Each column has room for rows_max values, payload_offset for one more.
ctypedef struct merged_columns_t:
    int64_t rows
    int64_t rows_max
    int64_t payload_length
    int64_t payload_capacity
    int64_t* recording_id
    int32_t* source
    int64_t* time_ns
    int64_t* position
    int32_t* session_id
    int32_t* stream_id
    int32_t* term_id
    int32_t* term_offset
    int16_t* flags
    int64_t* reserved_value
    int32_t* payload_offset
    uint8_t* payload


cdef class MergedBatch:
    cdef merged_columns_t c
    cdef dict _memory
    cdef void* _place(self, str name, int64_t length) except NULL
