"""The memory for the rows of a scan or a merge, for native callers."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

# A column that is not wanted is NULL. Each column has room for rows_max values, except that
# payload_offset has room for one more and payload for payload_capacity bytes.
ctypedef struct batch_columns_t:
    int64_t rows
    int64_t rows_max
    int64_t payload_length
    int64_t payload_capacity
    int64_t* recording_id     # this and the next two are filled by merges only
    int32_t* source
    int64_t* time_ns
    int64_t* position
    int32_t* term_id
    int32_t* term_offset
    int32_t* session_id
    int32_t* stream_id
    int16_t* flags
    int64_t* reserved_value
    int32_t* payload_offset
    uint8_t* payload


cdef class BatchColumns:
    cdef batch_columns_t c
    cdef readonly dict buffers
    cdef dict _views
    # Allocates the named columns; to be called once, by __cinit__ of the subclass.
    cdef int allocate_columns(
        self, tuple names, int64_t rows_max, int64_t payload_capacity, object allocate
    ) except -1
    # The filled part of a column, typed.
    cdef object filled(self, str name)
    cdef int _add(self, str name, object buffer, int64_t length) except -1
    cdef void* _address(self, str name) except? NULL


cdef class ScanColumns(BatchColumns):
    pass
