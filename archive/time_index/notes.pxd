"""Notes of time and position, from the recorder to the index file."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.time_index.blocks cimport TimeBlocks, filling_t
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.data_file cimport DataFile

cdef enum:
    NOTES_CAPACITY = 1024     # a power of two


cdef struct note_t:
    int64_t time_ns
    int64_t position
    int32_t sample


cdef class TimeNotes:
    cdef readonly int64_t recording_id
    cdef readonly int64_t dropped      # notes for which the ring had no room
    cdef readonly int64_t entries      # entries written since the file was opened
    cdef readonly int32_t failed_errno
    # The recorder's side.
    cdef int32_t _time_offset          # offset of the time in a payload, or a TIME_OF_ constant
    cdef bint _has_noted
    cdef bint _has_written
    cdef int64_t _due_ns
    cdef int64_t _due_position
    cdef int64_t _quiet_ns             # time from which a note is due in any case
    cdef int64_t _written_ns           # when the last block had been written
    cdef int64_t _difference           # epoch minus monotonic time at the last note
    cdef int64_t _last_time
    cdef int64_t _last_position        # of the last entry that was there at the beginning
    cdef int64_t _tail
    # Shared by both threads.
    cdef int64_t _head_shared
    cdef int64_t _tail_shared
    cdef int32_t _lock
    cdef int32_t _closed
    cdef note_t _ring[NOTES_CAPACITY]
    # Used under the lock, by the thread that writes the file.
    cdef DataFile _file
    cdef filling_t _filling
    cdef bint _is_dirty
    cdef int64_t _segment_length, _origin
    cdef int _go_on(self, TimeBlocks blocks, int64_t position) except -1
    cdef void written(
        self, Clock clock, int64_t begin_ns, int64_t end_ns, int64_t position,
        const uint8_t* frames, int64_t length) noexcept nogil
    cdef void _note(
        self, Clock clock, int64_t begin_ns, int64_t end_ns, int64_t position,
        const uint8_t* frames, int64_t length) noexcept nogil
    cdef void _put(self, int64_t time_ns, int64_t position, int32_t sample) noexcept nogil
    cdef int32_t drain(self) noexcept nogil
    cdef int32_t _drain(self) noexcept nogil
    cdef int32_t _write_block(self) noexcept nogil
    cdef int32_t waiting(self) noexcept nogil
    cdef bint is_closed(self) noexcept nogil
