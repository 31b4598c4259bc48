"""Cleaning and unblocking of a log by a driver's conductor (spec log-buffers 13, 14, 17).

The functions run without the GIL.
"""

from libc.stdint cimport int64_t

from aerolog.transport.logbuffer.descriptor cimport log_buffer_t

cdef enum:
    UNBLOCK_NOTHING = 0
    UNBLOCKED = 1
    UNBLOCKED_TO_END = 2

# Write zeros from *clean_position to `position`, or to the end of its term if that comes first, and
# advance *clean_position. Returns the number of bytes cleaned.
cdef int64_t clean_log(
    const log_buffer_t* log, int64_t* clean_position, int64_t position
) noexcept nogil

# Unblock a log whose consumers wait at blocked_position for a publisher that is gone; also
# complete a rotation that a publisher left undone. The caller counts every result other than
# UNBLOCK_NOTHING.
cdef int unblock_log(const log_buffer_t* log, int64_t blocked_position) noexcept nogil
