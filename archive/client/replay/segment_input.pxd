"""A recording of a folder as a source of a merge, for native callers."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.client.replay.merge cimport MergeInput
from aerolog.archive.format.segment_window cimport SegmentWindow
from aerolog.transport.logbuffer.assembler cimport Assembler
from aerolog.transport.logbuffer.fragment cimport fragment_t


cdef class SegmentInput(MergeInput):
    cdef SegmentWindow _window
    cdef Assembler _assembler
    cdef bint _is_open
    cdef int64_t _segment_base
    cdef int64_t _segment_length
    cdef int64_t _term_length
    cdef int32_t _initial_term_id
    cdef int64_t _end
    cdef int64_t _at                # position of the next frame to look at
    cdef int64_t _begun             # position at which the message that is put together begins
    cdef readonly int io_error
    cdef int _stand(self, int status) noexcept nogil
    cdef int _take(self, const uint8_t* frame, int64_t length) noexcept nogil
    cdef int64_t _check(self, const uint8_t* frame) noexcept nogil
    cdef const uint8_t* _show(self, int64_t length) noexcept nogil
