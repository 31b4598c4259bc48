"""An agent that processes the events of a log, as sessions and services see it."""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.agent cimport Agent


cdef struct waits_t:
    double ns          # how long was waited, of which what is older counts less: nothing after 1 s
    int64_t as_of_ns


cdef class EventAgent(Agent):
    cdef public int64_t time
    cdef public int64_t log_position
    cdef public int64_t leadership_term_id
    cdef public bint is_answering
    cdef public bint in_batch
    cdef public str callback
    cdef int64_t now_ns      # monotonic time of the duty cycle
    cdef public int64_t send_timeout_ns
    cdef readonly int64_t missed           # messages that clients have missed
    cdef readonly int64_t egress_wait_ns   # waits for clients, in all
    cdef waits_t _waits   # for all clients
    # How long a client may make the others wait now: a half of what is left of the budget, less
    # what it has had itself.
    cdef int64_t share_ns(self, waits_t* own, int64_t now_ns) noexcept nogil
    cdef void add_wait(self, waits_t* own, int64_t began_ns, int64_t now_ns) noexcept nogil
    # Raise unless an event of the log is processed.
    cpdef int check_callback(self, str request) except -1
