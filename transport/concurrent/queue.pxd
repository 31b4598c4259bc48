"""A queue of small records from one thread to another, without locks and without the GIL."""

from libc.stdint cimport int32_t, int64_t, uint8_t

# A record of the queue. The sender of a record owns the object behind a pointer until the receiver
# has acknowledged that it no longer uses the object.
ctypedef struct record_t:
    int32_t kind
    int32_t flags
    void* pointer
    int64_t a
    int64_t b
    int64_t c
    int64_t d


cdef class SpscQueue:
    cdef readonly int64_t capacity
    cdef uint8_t* _memory
    cdef record_t* _records
    cdef int64_t _mask
    # False if the queue is full; only the one producer may call this.
    cdef bint offer(self, const record_t* record) noexcept nogil
    # False if the queue is empty; only the one consumer may call this.
    cdef bint poll(self, record_t* record) noexcept nogil
    cdef int64_t size(self) noexcept nogil
