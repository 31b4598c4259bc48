from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.mapped_file cimport MappedFile

# Offsets in the two records of a counter, its metadata and its value, and the greatest lengths of
# labels and keys in bytes (spec cnc-and-commands 5).
cdef enum:
    COUNTER_METADATA_LENGTH = 512
    COUNTER_STATE_AT = 0
    COUNTER_TYPE_AT = 4
    COUNTER_DEADLINE_AT = 8
    COUNTER_KEY_AT = 16
    COUNTER_KEY_MAX = 112
    COUNTER_LABEL_LENGTH_AT = 128
    COUNTER_LABEL_AT = 132
    COUNTER_LABEL_MAX = 380
    COUNTER_VALUE_LENGTH = 128
    COUNTER_VALUE_AT = 0
    COUNTER_REGISTRATION_AT = 8
    COUNTER_OWNER_AT = 16
    COUNTER_REFERENCE_AT = 24

cdef enum:
    COUNTER_RECLAIMED = -1
    COUNTER_UNUSED = 0
    COUNTER_ALLOCATED = 1


cdef class CountersReader:
    cdef readonly int32_t max_counter_id
    cdef uint8_t* metadata
    cdef uint8_t* values
    cdef MappedFile _mapped
    # NULL if the id is out of range; the address is valid while this object lives.
    cdef int64_t* value_address(self, int32_t counter_id) noexcept nogil
    cdef int32_t state(self, int32_t counter_id) noexcept nogil
    cdef int64_t value_of(self, int32_t counter_id) noexcept nogil
    cdef int64_t registration_of(self, int32_t counter_id) noexcept nogil
    cdef uint8_t* _record(self, int64_t counter_id) except NULL
    cdef uint8_t* _value_record(self, int64_t counter_id) except NULL
    cdef uint8_t* _writable_value(self, int64_t counter_id) except NULL


cdef class CountersManager(CountersReader):
    cdef Clock _clock
    cdef readonly int64_t reuse_timeout_ms
    cdef int32_t _high_water_mark
    cdef object _free_ids
    cdef int32_t _next_id(self) except -1
