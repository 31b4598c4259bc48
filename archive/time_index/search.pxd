"""The cursor that finds times of positions for native users; each reader has its own."""

from libc.stdint cimport int32_t, int64_t

from aerolog.archive.time_index.blocks cimport TimeBlocks, block_t


cdef class TimeCursor:
    cdef readonly TimeBlocks blocks
    cdef block_t _block
    cdef block_t _next
    cdef int64_t _number             # number of the block in _block, -1 for none
    cdef int32_t _count
    cdef int64_t _low_time, _low_position
    cdef int64_t _high_time, _high_position
    cdef bint _is_unknown            # whether the times between these positions are not known
    cdef bint _is_vague              # or are known by their bounds alone
    cdef bint _is_repeat             # as there is no entry before them, or a repeated one
    cdef int64_t _head_time, _head_position
    cdef int64_t _tail_time, _tail_position
    cdef int64_t* _suffix_min        # of each block's and all later times; made when needed
    cdef int64_t _suffix_limit
    # Returns the time of a position, epoch nanoseconds; fast for positions that ascend.
    cdef int64_t time_at(self, int64_t position) noexcept nogil
    cdef int32_t _load(self, int64_t number) noexcept nogil
    cdef int64_t _valid_at_or_after(self, int64_t number, int64_t limit) noexcept nogil
    cdef int64_t _valid_before(self, int64_t number) noexcept nogil
    cdef int64_t _block_of(self, int64_t position) noexcept nogil
    cdef int64_t _first_reaching(self, int64_t time_ns) noexcept nogil
    cdef void _seek(self, int64_t position) noexcept nogil
    cdef void _seek_entries(self, int64_t position) noexcept nogil
    cdef bint _knows(self, int64_t position) noexcept nogil
    cdef bint _is_repeated(self, int64_t number, int32_t index) noexcept nogil
    cdef int64_t _known_before(self, int64_t position) noexcept nogil
    cdef int64_t _last_position(self) noexcept nogil
    cdef bint _has_head(self) noexcept nogil
    cdef int64_t _position_at(self, int64_t time_ns) noexcept nogil
    cdef int64_t _end_position_at(self, int64_t time_ns) noexcept nogil
    cdef int64_t _end_in_runs(self, int64_t time_ns) noexcept nogil
    cdef int64_t _entry_behind(self, int64_t number, int32_t index) noexcept nogil
    cdef int _make_suffixes(self) except -1
