"""The module's steady state, which needs no interpreter: ingress to log, and commit positions."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.agents.watch_agent cimport WatchAgent
from aerolog.cluster.session_index cimport SessionIndex
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.logbuffer.appender cimport Appender
from aerolog.transport.memory.counter cimport counter_t


cdef class SteadyAgent(WatchAgent):
    cdef Clock clock
    cdef int64_t _time_divisor        # nanoseconds of a unit of the cluster's time
    cdef int32_t _ingress_limit
    cdef int64_t _leadership_term_id
    cdef bint _is_taking              # ingress is written into the log
    cdef bint _left                   # a message was left for control() in this cycle
    cdef bint _left_before            # and in one before it
    cdef Appender _log
    cdef object _log_owner
    cdef tuple _ingress_images
    cdef void** _ingress_readers
    cdef int32_t _ingress_count
    cdef int32_t _first_ingress
    cdef int64_t* _ingress_ids        # of the images
    cdef int64_t _image_id            # of the image that is read
    cdef SessionIndex _activity       # when open sessions were last heard of
    cdef SessionIndex _origins        # the ids of the images that they take messages from
    cdef readonly bint is_log_ended   # the recording of the log has ended
    cdef counter_t _recorded          # how much of the log is recorded
    cdef counter_t _commit
    cdef object _counters
    cdef int64_t _now_ns
    cdef readonly int64_t messages    # how many messages of clients went into the log
    cdef readonly int64_t strangers   # how many came from another image than their session's
    cdef readonly int64_t last_stranger
    cdef int _whose(self, int64_t session_id, int64_t image_id) noexcept nogil
    cdef void _count_stranger(self, int64_t session_id) noexcept nogil
    cdef int _on_ingress(self, const void* fragment) noexcept nogil
    cdef int64_t cluster_time(self) noexcept nogil
    cdef int _leave(self) noexcept nogil
    cdef int32_t _take(self) noexcept nogil
    cdef int _commit_recorded(self) noexcept nogil
