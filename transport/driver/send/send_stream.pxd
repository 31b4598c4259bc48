"""A UDP publication for its two threads: the sender's transmission, the conductor's limits.

Spec wire-protocol 5.2 to 5.9, 7, 11, 14, 16; spec log-buffers 14, 17, 18. The sender's methods and
the conductor's duty cycle hold no GIL; the conductor's control part calls the Python ones on its
own thread. Each field has one writer, and words that both see go through atomics. Nothing of the
data path allocates, except for receivers that join.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.driver.flow_control.flow_control cimport FlowControl
from aerolog.transport.driver.send.live_receivers cimport LiveReceivers
from aerolog.transport.driver.send.retransmit_handler cimport RetransmitHandler, resend_t
from aerolog.transport.driver.send.send_context cimport BatchStream, SendContext
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.network.port cimport address_t
from aerolog.transport.protocol.frames cimport (
    error_t,
    nak_t,
    response_setup_t,
    rttm_t,
    status_message_t,
)


# When a stream has work to do, in an array of the sender: an idle stream costs a read of this and
# of the length of the next frame.
ctypedef struct turn_t:
    void* stream
    const uint8_t* watched      # a frame's length appears here; NULL: nothing may be sent
    int64_t due_ns              # act at this time, with or without a frame


cdef class SendStream(BatchStream):
    cdef turn_t* turn                   # in the sender's array, NULL while not added
    cdef void* next_in_bucket           # another stream, in the sender's table
    cdef readonly SendEndpoint endpoint
    cdef FlowControl _flow_control
    cdef RetransmitHandler _retransmit
    cdef LiveReceivers _receivers
    cdef int64_t* _snd_pos
    cdef int64_t* _snd_lmt
    cdef int64_t* _snd_bpe
    cdef int64_t* _snd_naks
    cdef int64_t _setup_sent_ns
    cdef int64_t _last_sent_ns          # data or heartbeat
    cdef int64_t _echo_period_end_ns
    cdef int32_t _echoes
    cdef int32_t _timestamp_offset      # of the payload; -8 reserved value, -1 none
    cdef int32_t _max_datagrams
    cdef int32_t _ttl
    cdef bint _has_been_heard           # whether any ordinary status message has come
    cdef bint _is_setup_elicited
    cdef int64_t _in_flight             # bytes sent and not consumed that the endpoint counts
    cdef bint _tracks_limit
    cdef bint _was_short
    cdef bint _is_group
    cdef bint _signal_eos
    cdef bint _ssc
    cdef bint _asks_flow_control        # it may change the limit when nothing is sent
    cdef bint _response_connected_due
    cdef readonly bint is_response
    cdef readonly int64_t response_correlation_id
    cdef address_t _response_address
    # Words that both threads see are together, next to those that the conductor reads in every
    # cycle: written by the conductor, read by the sender
    cdef int64_t _spy_position          # of the fastest spy
    cdef int32_t _is_end_of_stream
    # written by the sender, read by the conductor
    cdef int32_t _has_receivers
    cdef int32_t _has_unicast_eos
    cdef int64_t _position
    cdef int64_t _limit
    cdef int32_t _is_live               # has receivers, and those that flow control requires
    # written by both, as the log's own word is
    cdef int32_t _is_connected
    cdef int32_t _spy_count             # written by the conductor
    # Runs one step: data, setups, heartbeats, retransmissions; sets the turn.
    cdef void send(self, SendContext context) noexcept nogil
    # Handle control frames for this stream. An ordinary status message must be acceptable.
    cdef bint is_acceptable(self, const status_message_t* message) noexcept nogil
    cdef void on_status_message(
        self, SendContext context, const status_message_t* message, const address_t* source
    ) noexcept nogil
    cdef void on_nak(self, SendContext context, const nak_t* nak) noexcept nogil
    cdef void on_rttm(self, SendContext context, const rttm_t* rttm) noexcept nogil
    cdef void on_error(
        self, SendContext context, const error_t* error, const address_t* source
    ) noexcept nogil
    cdef void on_response_setup(
        self, SendContext context, const response_setup_t* setup
    ) noexcept nogil
    # Forgets all bytes in flight.
    cdef void leave(self) noexcept nogil
    cdef void _forget(self, int64_t length) noexcept nogil
    cdef void update_connected(self) noexcept nogil
    cdef int64_t _next_due(self, int64_t now_ns, bint has_sent) noexcept nogil
    cdef int _compose(self, SendContext context) noexcept nogil
    cdef void _send_setup(self, SendContext context) noexcept nogil
    cdef void _send_heartbeat(self, SendContext context) noexcept nogil
    cdef void _idle(self, SendContext context) noexcept nogil
    cdef void _resend(self, SendContext context, const resend_t* resend) noexcept nogil
    cdef void _elicit(
        self, SendContext context, const status_message_t* message, const address_t* source
    ) noexcept nogil
    cdef void _note_limit_event(self, SendContext context) noexcept nogil
    cdef void _move_to(self, int64_t position) noexcept nogil
    cdef void _set_limit(self, int64_t limit) noexcept nogil
    cdef void _note_consumed(self, int64_t limit_before) noexcept nogil
    cdef void _note_receivers(self) noexcept nogil

    # ---- the conductor's own, on lines that the sender does not write
    # The results of the last cycle; while they hold there is nothing to do.
    cdef int32_t _count_seen
    cdef int32_t _connected_seen
    cdef bint _is_settled
    cdef bint _is_caught_up             # whether the sender has sent everything
    cdef int64_t* _tail                 # of the active term
    cdef int64_t _tail_seen
    cdef int64_t _sender_seen
    cdef const void* _count             # of terms, in the log
    cdef int64_t _publisher_seen
    cdef int64_t _publisher_limit
    cdef int64_t _clean_position
    cdef bint _has_nothing_new(self, int64_t sender_position) noexcept nogil
    cdef int64_t _sample(self) noexcept nogil
    cdef bint _move_limit(self, int64_t sender_position, int64_t producer) noexcept nogil
    cdef bint _store_limit(self, int64_t limit) noexcept nogil
    cdef void _show_spies(self, int64_t producer) noexcept nogil
    cdef void _settle(self) noexcept nogil
    cdef bint _is_over(self) noexcept nogil
    cdef int _start_at(self, int64_t position, int64_t now_ns) except -1
