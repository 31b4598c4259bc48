"""The merge of sources of messages by time, for native callers."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.format.scan_columns cimport batch_columns_t
from aerolog.archive.time_index.search cimport TimeCursor

cdef enum:
    # Messages that a source looks ahead.
    HEADS_MAX = 256

cdef enum source_status:
    SOURCE_READY = 0       # there are messages ahead
    SOURCE_WAITING = 1     # nothing yet: what feeds it has not delivered
    SOURCE_CONTROL = 2     # Python has to open what it reads from
    SOURCE_ENDED = 3
    SOURCE_DAMAGED = 4     # it cannot be read on

cdef enum merge_status:
    MERGE_GOES_ON = -1     # result of one step: there may be more
    MERGE_FULL = 0         # the columns took as many rows or bytes as they can
    MERGE_BLOCKED = 1      # the source `blocked` has to go on first; see its status
    MERGE_END = 2          # every source has ended
    MERGE_TOO_LONG = 3     # the next message alone is longer than the payload column

# A message that waits for its turn: 32 bytes of header at `frame`, the payload behind it.
ctypedef struct head_t:
    int64_t time_ns
    int64_t position        # after the message
    const uint8_t* frame
    int32_t length          # header and payload; checked, unlike the field in the frame
    int32_t is_apart        # put together in memory of its own


cdef class MergeInput:
    cdef head_t heads[HEADS_MAX]
    cdef int32_t next
    cdef int32_t count
    cdef readonly int status
    cdef readonly int64_t recording_id
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int64_t floor_ns
    cdef readonly int64_t position
    cdef int64_t from_ns
    cdef int64_t until_ns
    cdef int64_t sure
    cdef int64_t stop
    cdef bint is_past
    cdef TimeCursor times
    # Look ahead: called when no message is left, and none of the earlier ones is used any more.
    # Stores the status, and the messages when it is SOURCE_READY.
    cdef int refill(self) noexcept nogil
    # Nothing before `position` is looked at any more.
    cdef void settle(self) noexcept nogil
    cdef bint put(
        self, const uint8_t* frame, int64_t length, int64_t first, int64_t behind
    ) noexcept nogil


cdef class Merge:
    cdef list _sources
    cdef void** _at
    cdef int64_t* _keys
    cdef uint8_t* _over
    cdef int32_t* _losers
    cdef int32_t _count
    cdef int32_t _leaves
    cdef int32_t _over_count
    cdef readonly int64_t needed
    cdef int _order(self) except -1
    cdef bint _is_before(self, int32_t one, int32_t other) noexcept nogil
    cdef void _set_key(self, int32_t index, int64_t time_ns) noexcept nogil
    cdef int _look_ahead(self, int32_t index, MergeInput source) noexcept nogil
    cdef int _take(
        self, batch_columns_t* columns, int32_t winner, MergeInput source
    ) noexcept nogil
    cdef int32_t _play(self, int32_t node) noexcept nogil
    cdef void _replay(self, int32_t leaf) noexcept nogil
    cdef int run_native(self, batch_columns_t* columns) noexcept nogil
