"""What a driver's conductor does to a log (spec log-buffers 13, 14, 17). Needs no GIL."""

from libc.stdint cimport int64_t

from aerolog.transport.logbuffer.descriptor cimport log_buffer_t

cdef enum:
    UNBLOCK_NOTHING = 0
    UNBLOCKED = 1
    UNBLOCKED_TO_END = 2

# Zero from *clean_position towards `position`, at most to the end of that term, and move
# *clean_position. Returns the bytes cleaned.
cdef int64_t clean_log(
    const log_buffer_t* log, int64_t* clean_position, int64_t position
) noexcept nogil

# Release a log whose consumers wait at blocked_position for a publisher that is gone; also
# completes a rotation that was left undone. Not UNBLOCK_NOTHING: something was done, count it.
cdef int unblock_log(const log_buffer_t* log, int64_t blocked_position) noexcept nogil
