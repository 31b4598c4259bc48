"""The next segment files of recordings, made without the interpreter."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.agent cimport Agent

cdef enum:
    SLOTS = 32

cdef enum slot_state:
    SLOT_EMPTY = 0
    SLOT_READY = 1      # holds a file, owned by the thread that sets the slot to empty


cdef struct segment_slot_t:
    int32_t state
    int fd


cdef class SegmentFiles(Agent):
    cdef readonly int64_t length
    cdef readonly bint preallocate
    cdef int64_t _space_to_leave
    cdef int32_t _depth
    cdef int _folder
    cdef bint _sync
    cdef bint _cannot
    cdef int32_t _wanted
    cdef int64_t _wanted_ns
    cdef segment_slot_t[SLOTS] _slots
    # Returns the file of a segment as a descriptor, or -errno. *has_room tells whether disk space
    # is allocated for all its bytes. Called by the recorder only.
    cdef int take(
        self, int64_t recording_id, int64_t base, int64_t length, bint* has_room) noexcept nogil
    # Announces that a segment will be needed soon.
    cdef void want(self) noexcept nogil
    cdef int _ready_file(self) noexcept nogil
    cdef bint _may_take(self) noexcept nogil
    cdef int _make(self) noexcept nogil
    cdef int _give_back(self) noexcept nogil


cdef int release_room(int fd, int64_t offset, int64_t end) noexcept nogil
