"""The data path of recording: one writer for each recording, one agent for all writers."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.format.checksum cimport Checksum
from aerolog.archive.service.io_agent cimport IoAgent, io_totals_t
from aerolog.archive.service.recorder.segment_files cimport SegmentFiles
from aerolog.archive.time_index.notes cimport TimeNotes
from aerolog.transport.client.image cimport Image
from aerolog.transport.client.publication cimport ExclusivePublication
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.logbuffer.log_reader cimport LogReader
from aerolog.transport.memory.counter cimport counter_t
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.data_file cimport DataFile

cdef enum writer_state:
    WRITER_INIT = 0            # control() opens the segment of the join position
    WRITER_OPEN = 1            # blocks are written
    WRITER_SEGMENT_FULL = 2    # control() creates the next segment or reports why it cannot
    WRITER_ENDED = 3           # control() closes the file
    WRITER_FAILED = 4          # the same, with an error
    WRITER_RELEASED = 5        # the recorder has released it; the conductor may read all fields


cdef class RecordingWriter:
    cdef readonly int64_t recording_id
    cdef readonly int64_t join_position
    cdef readonly int64_t segment_base
    cdef readonly int64_t segment_offset
    cdef readonly int64_t segment_length
    cdef readonly int32_t failed_errno
    cdef readonly int64_t failed_length
    cdef readonly bint counter_lost    # the driver took the position counter back
    cdef readonly bint has_unsound_end  # bytes behind the position were written, and do not count
    cdef public object failure
    cdef readonly Image image
    cdef public TimeNotes notes    # for the time index, None without one
    cdef int64_t _write_begin_ns   # of the last write
    cdef int64_t _write_end_ns
    cdef LogReader _reader
    cdef DataFile _file
    cdef SegmentFiles _segments
    cdef bint _has_room        # disk space is allocated for the whole file
    cdef int64_t _ask_offset   # offset in a segment at which the next one is requested
    cdef Checksum _checksum
    cdef CountersReader _counters
    cdef counter_t _position   # what others see
    cdef int64_t _recorded     # what is recorded; others may read it
    cdef int64_t _last_progress
    cdef int32_t _block_limit
    cdef int32_t _sync_level
    cdef int32_t _state
    cdef int32_t _abort
    cdef int64_t _end_limit    # position at which a stopped recording ends at the latest, or -1
    cdef int32_t state_of(self) noexcept nogil
    cdef int32_t step(
        self, Clock clock, uint8_t* scratch, io_totals_t* totals) noexcept nogil
    cdef int64_t _write(
        self, const uint8_t* source, int64_t length, Clock clock,
        io_totals_t* totals) noexcept nogil
    cdef int32_t _lose(self) noexcept nogil
    cdef void _store_position(self, int64_t position) noexcept nogil
    cdef int32_t _roll_over(self) noexcept nogil
    cdef bint _is_over(self, bint is_stopped, int32_t available) noexcept nogil
    cdef void _begin_segment(self) noexcept nogil
    cdef int32_t _fail(self, int32_t error, int64_t length) noexcept nogil


cdef class RecorderAgent(IoAgent):
    cdef public ExclusivePublication events
    cdef void _progress(self, RecordingWriter writer) noexcept nogil
