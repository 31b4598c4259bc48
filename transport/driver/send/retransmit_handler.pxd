"""Decides how a sender answers a NAK (spec wire-protocol 7); it sends nothing itself.

One sender thread owns a handler, which allocates memory only when it is made.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.driver.flow_control.flow_control cimport FlowControl
from aerolog.transport.driver.send.send_endpoint cimport SharedWindow
from aerolog.transport.events.event_log cimport StreamEvents

cpdef enum:
    # Decisions about a NAK
    RETRANSMIT_NOW = 1              # send again what the resend_t says
    RETRANSMIT_LATER = 2            # next_due() will return it
    RETRANSMIT_NOTHING = 0          # a gap without length, or one whose request is being handled
    RETRANSMIT_INVALID = -1         # count as an invalid packet
    RETRANSMIT_NO_SLOT = -2         # count as an overflow of the pool
    RETRANSMIT_OVER_BUDGET = -3     # the same: too much was asked for in a short time

cpdef enum:
    MAX_RESEND_LIMIT = 256

ctypedef struct resend_t:
    int32_t term_id
    int32_t term_offset
    int32_t length

ctypedef struct action_t:
    int32_t state
    int32_t term_id
    int32_t term_offset
    int32_t length
    int64_t expiry_ns


cdef class RetransmitHandler:
    cdef readonly int32_t term_length
    cdef readonly int32_t max_resend
    cdef readonly bint is_group
    cdef readonly int64_t delay_ns
    cdef readonly int64_t linger_ns
    cdef int32_t active_count       # requests being handled
    cdef action_t* _actions
    cdef StreamEvents events        # logs what is sent again; None when not logged
    # The resend is filled for RETRANSMIT_NOW only.
    cdef int on_nak(
        self,
        FlowControl flow_control,
        SharedWindow shared,
        int32_t term_id,
        int32_t term_offset,
        int32_t length,
        int64_t now_ns,
        resend_t* resend,
    ) noexcept nogil
    # True with what to send again now; call until False. Frees entries that lingered long enough.
    cdef bint next_due(self, int64_t now_ns, resend_t* resend) noexcept nogil
    cdef action_t* _slot_for(
        self, int32_t term_id, int32_t term_offset, bint* is_seen_to
    ) noexcept nogil


cdef inline bint can_resend(
    int64_t position, int64_t sender_position, int32_t term_length, int32_t max_message_length
) noexcept nogil:
    """Return whether a position was sent already and is still in the log."""
    cdef int64_t lowest = sender_position - term_length // 2 - max_message_length
    return lowest <= position < sender_position
