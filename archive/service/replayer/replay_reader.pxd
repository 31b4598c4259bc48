"""The data path of replay: one reader for each replay, one agent for all readers."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.format.checksum cimport Checksum
from aerolog.archive.service.io_agent cimport IoAgent, io_totals_t
from aerolog.transport.client.publication cimport ExclusivePublication
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.logbuffer.appender cimport ExclusiveAppender
from aerolog.transport.memory.counter cimport counter_t
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.data_file cimport DataFile

cdef enum reader_state:
    READER_INIT = 0          # control() opens the segment and checks the first frame
    READER_CONNECTING = 1    # waits for a subscriber
    READER_REPLAYING = 2
    READER_SEGMENT_END = 3   # control() opens the next segment
    READER_COMPLETE = 4      # everything sent
    READER_ENDED = 5         # aborted, or no subscriber is left: the stream is revoked
    READER_FAILED = 6        # ended by an error, see fault
    READER_RELEASED = 7      # the replayer has released it

cdef enum reader_fault:
    FAULT_NONE = 0
    FAULT_NO_CONNECTION = 1
    FAULT_UNEXPECTED_END = 2
    FAULT_CHECKSUM = 3
    FAULT_READ = 4           # fault_detail is the errno
    FAULT_REFUSED = 5        # fault_detail is what the publication answered
    FAULT_CONTROL = 6        # failure and failure_code were set by control()
    FAULT_HEADER = 7         # the header of a frame does not match its place
    FAULT_TYPE = 8           # fault_detail is the invalid frame type


cdef class ReplayReader:
    cdef readonly int64_t recording_id
    cdef readonly int64_t start_position
    cdef readonly int64_t replay_position
    cdef readonly int64_t stop_position
    cdef readonly int64_t replay_limit
    cdef readonly int64_t segment_base
    cdef readonly int64_t segment_length
    cdef readonly int32_t term_length
    cdef readonly int32_t term_offset
    cdef readonly int64_t deadline_ns
    cdef readonly int32_t fault
    cdef readonly int64_t fault_position
    cdef readonly int64_t fault_detail
    cdef readonly int64_t fault_computed
    cdef readonly int64_t damaged_read
    cdef readonly int32_t ending
    cdef public object failure
    cdef public int failure_code
    cdef readonly ExclusivePublication publication
    cdef ExclusiveAppender _appender
    cdef DataFile _file
    cdef Checksum _checksum
    cdef CountersReader _counters
    cdef counter_t _limit
    cdef int64_t _recording_end
    cdef bint _is_bounded
    cdef int32_t _stream_id
    cdef int32_t _frame_length_max
    cdef int32_t _read_length
    cdef int64_t _new_pages_end
    cdef int32_t _state
    cdef int32_t _abort
    cdef int64_t _retry_ns
    cdef int32_t state_of(self) noexcept nogil
    cdef bint needs_control(self, int64_t now_ns) noexcept nogil
    cdef int32_t step(
        self, int64_t now_ns, Clock clock, uint8_t* buffer, int64_t capacity,
        io_totals_t* totals) noexcept nogil
    cdef bint _extend_limit(self) noexcept nogil
    cdef int64_t _read(
        self, uint8_t* target, int64_t length, Clock clock,
        io_totals_t* totals) noexcept nogil
    cdef int64_t _read_apart(
        self, uint8_t* header, uint8_t* frame, int64_t length, Clock clock,
        io_totals_t* totals) noexcept nogil
    cdef int64_t _note_read(
        self, int64_t available, int64_t length, int64_t took,
        io_totals_t* totals) noexcept nogil
    cdef int32_t _replay_in_place(
        self, int64_t length, Clock clock, io_totals_t* totals) noexcept nogil
    cdef int64_t _collect(
        self, uint8_t* first, uint8_t* buffer, int64_t available, int64_t* padding
    ) noexcept nogil
    cdef int64_t _before_damage(self, int64_t offset) noexcept nogil
    cdef int32_t _stuck(self, int64_t length, int64_t available) noexcept nogil
    cdef int32_t _sent(self, int64_t batch, int64_t padding) noexcept nogil
    cdef int32_t _refused(self, int64_t result) noexcept nogil
    cdef int32_t _end(self, int32_t ending) noexcept nogil
    cdef int32_t _fault(self, int32_t fault, int64_t position, int64_t detail) noexcept nogil


cdef class ReplayerAgent(IoAgent):
    pass
