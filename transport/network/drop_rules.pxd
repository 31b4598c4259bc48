from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    STREAM_LIMIT = 64

# The progress of one stream of one session.
ctypedef struct progress_t:
    int32_t session_id
    int32_t stream_id
    int64_t reached


cdef class DropRule:
    cdef readonly int64_t dropped
    cdef DropRule _next
    # Whether this rule or a later one drops the datagram; each rule sees only the datagrams that
    # the rules before it let pass.
    cdef bint drops(self, const uint8_t* data, int32_t length) noexcept nogil
    cdef bint _decides(self, const uint8_t* data, int32_t length) noexcept nogil


cdef class RandomLoss(DropRule):
    cdef uint64_t _state
    cdef double _rate
    cdef int32_t _burst
    cdef int32_t _left
    cdef uint32_t _types
    cdef bint _any_stream
    cdef bint _any_session
    cdef int32_t _stream_id
    cdef int32_t _session_id


cdef class _TermLoss(DropRule):
    cdef int32_t _term_id
    cdef int32_t _count
    cdef progress_t[STREAM_LIMIT] _streams
    cdef progress_t* _progress(self, const uint8_t* data, int64_t start) noexcept nogil


cdef class FixedLoss(_TermLoss):
    cdef int64_t _start
    cdef int64_t _end


cdef class MultiGapLoss(_TermLoss):
    cdef int64_t _radix
    cdef int64_t _length
    cdef int64_t _gaps
