from libc.stdint cimport int32_t, int64_t, uint8_t


cdef int64_t release_walked(uint8_t* base, int64_t released, int64_t offset) noexcept nogil


cdef class CatalogIndex:
    cdef int64_t* _ids
    cdef int64_t* _offsets
    cdef int32_t* _session_ids
    cdef int32_t* _stream_ids
    cdef int64_t _count
    cdef int64_t _room
    cdef int push(
        self, int64_t recording_id, int64_t offset, int32_t session_id, int32_t stream_id
    ) except -1
    cdef int64_t lower(self, int64_t recording_id) noexcept nogil
