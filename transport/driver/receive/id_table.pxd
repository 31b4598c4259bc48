"""A table of int64 keys for native code: streams and sessions of an endpoint.

Open addressing; grows by doubling when a key is added, which happens when a stream or session
is met for the first time. Slots move when a key is added or removed: keep no pointer over that.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

ctypedef struct slot_t:
    int64_t key
    int64_t time_ns
    void* value
    int32_t state       # 0: the slot is free
    int32_t count


cdef inline int64_t pair_key(int32_t high, int32_t low) noexcept nogil:
    return <int64_t> ((<uint64_t> <uint32_t> high) << 32 | <uint64_t> <uint32_t> low)


cdef inline int32_t high_of(int64_t key) noexcept nogil:
    return <int32_t> (<uint64_t> key >> 32)


cdef inline int32_t low_of(int64_t key) noexcept nogil:
    return <int32_t> <uint32_t> <uint64_t> key


cdef class IdTable:
    cdef slot_t* _slots
    cdef int64_t slot_count     # a power of two, 0 before the first key
    cdef int64_t used
    # NULL: not there.
    cdef slot_t* find(self, int64_t key) noexcept nogil
    # The slot of a key that is there or is now, in a state above 0; NULL without memory.
    cdef slot_t* add(self, int64_t key, int32_t state) noexcept nogil
    cdef void remove(self, int64_t key) noexcept nogil
    # Empties a slot; another key may stand in it afterwards, so look at the same index again.
    cdef void remove_at(self, int64_t index) noexcept nogil
    # For walking: a free slot has state 0.
    cdef slot_t* at(self, int64_t index) noexcept nogil
    cdef bint _grow(self) noexcept nogil
