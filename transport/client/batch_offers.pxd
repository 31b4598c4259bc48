from libc.stdint cimport int64_t

from aerolog.transport.logbuffer.appender cimport Appender, reserved_t

# Each function returns the number of messages appended. *result is the position after the last of
# them or the code that stopped the call; *length is the length of the message at which it stopped.
cdef int64_t append_parts(
    Appender appender, object parts, const reserved_t* reserved, int64_t* length
) except? -100
cdef int64_t append_sequence(
    Appender appender, object messages, object start, object limit, int64_t* result,
    int64_t* length,
) except -1
cdef int64_t append_rows(
    Appender appender, object array, object start, object limit, int64_t* result,
    int64_t* length,
) except -1
