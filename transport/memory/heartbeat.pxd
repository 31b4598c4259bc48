"""How long a heartbeat has stood still, on the monotonic clock of the process that watches it.

A heartbeat is a time of the wall clock in shared memory. Its age is no measure of silence, because
a step of the wall clock makes every heartbeat old, or puts it into the future (decision 0023).
"""

from libc.stdint cimport int64_t

from aerolog.transport.time_units cimport NS_PER_MS


cdef struct heartbeat_t:
    int64_t value_ms        # what stood there at the last look
    int64_t changed_ns      # monotonic: when that was written
    int64_t looked_ns       # monotonic: the last look


cdef inline heartbeat_t heartbeat_seen(int64_t value_ms, int64_t now_ns) noexcept nogil:
    cdef heartbeat_t heartbeat
    heartbeat.value_ms = value_ms
    heartbeat.changed_ns = now_ns
    heartbeat.looked_ns = now_ns
    return heartbeat


cdef inline int64_t silence_of(
    heartbeat_t* heartbeat, int64_t value_ms, int64_t now_ns, int64_t now_ms
) noexcept nogil:
    """Look at a heartbeat; returns for how many nanoseconds it has stood still."""
    cdef int64_t since_ns = now_ns - heartbeat.looked_ns
    cdef int64_t age_ns = 0
    heartbeat.looked_ns = now_ns
    if value_ms != heartbeat.value_ms:
        # It was written since the last look. Its time says when, if that lies in between.
        if now_ms - since_ns // NS_PER_MS <= value_ms <= now_ms:
            age_ns = (now_ms - value_ms) * NS_PER_MS
        heartbeat.value_ms = value_ms
        heartbeat.changed_ns = now_ns - age_ns
    return now_ns - heartbeat.changed_ns
