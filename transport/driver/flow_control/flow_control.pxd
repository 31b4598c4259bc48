"""Decides how far a sender may send (spec wire-protocol 6), from positions and times alone.

One sender thread owns a strategy. Other threads, such as the conductor's, may only call
receiver_count() and has_required_receivers().
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.events.event_log cimport StreamEvents
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.protocol.frames cimport error_t, status_message_t

cpdef enum:
    # The number of receivers that one stream tracks; further ones are not admitted, so that forged
    # ids cost a bounded amount of memory and time.
    MAX_RECEIVERS = 1024

ctypedef struct receiver_t:
    int64_t receiver_id
    int64_t last_position
    int64_t last_edge               # last position + window
    int64_t time_of_last_status_ns
    bint end_of_stream


cdef class FlowControl:
    cdef readonly int32_t term_length
    cdef readonly int32_t retransmit_window_multiple
    # Each takes the sender's limit and returns the one that holds from now on.
    cdef int64_t on_status_message(
        self,
        const status_message_t* message,
        int64_t position,           # of the message, checked by the publication
        int64_t limit,
        int64_t now_ns,
    ) noexcept nogil
    cdef int64_t on_setup(self, int64_t limit, int64_t now_ns) noexcept nogil
    cdef int64_t on_idle(self, int64_t limit, int64_t now_ns) noexcept nogil
    cdef void on_trigger_send_setup(
        self, const status_message_t* message, int64_t now_ns
    ) noexcept nogil
    cdef void on_error(self, const error_t* error, int64_t now_ns) noexcept nogil
    cdef bint has_required_receivers(self) noexcept nogil
    cdef int32_t receiver_count(self) noexcept nogil
    # Bytes to resend for a request of length at term_offset, both checked; 0 is possible.
    cdef int32_t max_retransmit_length(self, int32_t term_offset, int32_t length) noexcept nogil


cdef class MaxFlowControl(FlowControl):
    pass


cdef class MinFlowControl(FlowControl):
    cdef readonly int64_t receiver_timeout_ns
    cdef readonly int32_t group_min_size
    cdef receiver_t* _receivers
    cdef int32_t _capacity
    cdef int32_t _count
    cdef int64_t* _counter          # fc-receivers, NULL when there is none
    cdef CountersReader _counters   # keeps the memory of the counter mapped
    cdef int64_t _setup_limit       # frozen limit while a receiver joins, -1 for none
    cdef int64_t _time_of_setup_ns
    cdef bint _setup_was_triggered
    cdef StreamEvents _events       # logs receivers that join and leave; None when not logged
    cdef bint _matches(self, const status_message_t* message) noexcept nogil
    cdef bint _matches_error(self, const error_t* error) noexcept nogil
    cdef int64_t _limit_of_setup(self, int64_t now_ns) noexcept nogil
    cdef bint _add(
        self, const status_message_t* message, int64_t position, int64_t edge, int64_t now_ns
    ) noexcept nogil
    cdef bint _is_older(self, int64_t time_ns, int64_t now_ns) noexcept nogil
    cdef void _publish_count(self, int32_t count) noexcept nogil


cdef class TaggedFlowControl(MinFlowControl):
    cdef readonly int64_t group_tag
    cdef readonly int32_t short_tag


cdef class PythonFlowControl(FlowControl):
    cdef readonly object error
    cdef int32_t _count
    cdef int32_t _connectable
    cdef bint _overrides_idle
    cdef void _keep(self, object error)
