"""State that all parts of the receiver use in a cycle: time, counters, frames to be sent."""

from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport get_i32, put_i64
from aerolog.transport.driver.receive.loss_detector cimport gap_t
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport, TransportSet
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.logbuffer.descriptor cimport wrapping_sub
from aerolog.transport.network.port cimport address_t, outgoing_t
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FLAG_BEGIN,
    FRAME_ALIGNMENT,
    FRAME_LENGTH_OFFSET,
    rttm_t,
    setup_t,
)

cdef enum:
    ANSWER_LIMIT = 64
    ANSWER_BYTES = 8192
    LONGEST_ANSWER = 1064       # an error frame with its longest text
    # The limits of what a setup may ask for.
    TERM_LENGTH_MIN = 65536
    TERM_LENGTH_MAX = 1 << 30
    MESSAGE_LENGTH_MAX = 1 << 24
    MTU_MAX = 65504

# System counters that the receiver writes.
ctypedef struct receive_counters_t:
    int64_t* bytes_received
    int64_t* naks_sent
    int64_t* status_messages_sent
    int64_t* heartbeats_received
    int64_t* under_runs
    int64_t* over_runs
    int64_t* invalid_packets
    int64_t* short_sends
    int64_t* ttl_asymmetries
    int64_t* gap_fills
    int64_t* images_revoked
    int64_t* error_frames_sent

# A status message without its receiver id and tag.
ctypedef struct status_t:
    int32_t session_id
    int32_t stream_id
    int32_t term_id
    int32_t term_offset
    int32_t window
    uint8_t flags


cdef class ReceiveContext:
    cdef receive_counters_t counters
    cdef int64_t now_ns
    # The last answer that the system refused, to be reported to the conductor; NULL: none.
    cdef void* refused_transport
    cdef address_t refused_destination
    cdef int refused_errno
    cdef CountersReader _reader
    cdef int64_t* _address(self, int32_t counter_id) except NULL
    cdef void* _transport
    cdef address_t _destination
    cdef outgoing_t _messages[ANSWER_LIMIT]
    cdef uint8_t _bytes[ANSWER_BYTES]
    cdef int _count
    cdef int32_t _used
    cdef uint8_t* _room(
        self, ReceiveTransport transport, const address_t* destination
    ) noexcept nogil
    cdef void _wrote(self, int32_t length) noexcept nogil
    # Frames are collected: those for one address through one transport leave in one call, and
    # `flush` sends the rest at the end of a cycle.
    cdef void flush(self) noexcept nogil
    cdef void send_status(
        self,
        TransportSet endpoint,
        ReceiveTransport transport,
        const address_t* destination,
        const status_t* status,
    ) noexcept nogil
    # Setup-eliciting (8.3): to the group, the explicit control or the source of a packet.
    cdef void elicit(
        self,
        TransportSet endpoint,
        ReceiveTransport transport,
        const address_t* destination,
        int32_t session_id,
        int32_t stream_id,
    ) noexcept nogil
    cdef void send_nak(
        self,
        ReceiveTransport transport,
        const address_t* destination,
        int32_t session_id,
        int32_t stream_id,
        const gap_t* gap,
    ) noexcept nogil
    cdef void send_rttm(
        self, ReceiveTransport transport, const address_t* destination, const rttm_t* rttm
    ) noexcept nogil
    cdef void send_rejection(
        self,
        TransportSet endpoint,
        ReceiveTransport transport,
        const address_t* destination,
        int32_t session_id,
        int32_t stream_id,
        const uint8_t* reason,
        int32_t reason_length,
    ) noexcept nogil
    cdef void send_response_setup(
        self,
        ReceiveTransport transport,
        const address_t* destination,
        int32_t session_id,
        int32_t stream_id,
        int32_t response_session_id,
    ) noexcept nogil


cdef inline void count(int64_t* counter) noexcept nogil:
    add_to(counter, 1)


cdef void add_to(int64_t* counter, int64_t amount) noexcept nogil


cdef inline int64_t elapsed(int64_t since_ns, int64_t now_ns) noexcept nogil:
    return <int64_t> (<uint64_t> now_ns - <uint64_t> since_ns)


cdef inline bint is_sound_setup(const setup_t* setup) noexcept nogil:
    """Return whether a log can be made from a setup, which anybody may have sent."""
    cdef int32_t longest
    if (
        not TERM_LENGTH_MIN <= setup.term_length <= TERM_LENGTH_MAX
        or setup.term_length & (setup.term_length - 1)
    ):
        return False
    longest = min(setup.term_length // 8, <int32_t> MESSAGE_LENGTH_MAX)
    return (
        DATA_HEADER_LENGTH < setup.mtu <= min(longest, <int32_t> MTU_MAX)
        and setup.mtu % FRAME_ALIGNMENT == 0
        and 0 <= setup.term_offset < setup.term_length
        and setup.term_offset % FRAME_ALIGNMENT == 0
        and wrapping_sub(setup.active_term_id, setup.initial_term_id) >= 0
    )


cdef inline void stamp_message(
    uint8_t* data, int32_t length, int32_t offset, int64_t epoch_ns
) noexcept nogil:
    """Write a timestamp into a message's first frame, if it has room (spec wire-protocol 16)."""
    cdef int64_t at = <int64_t> DATA_HEADER_LENGTH + offset
    if (
        data[FLAGS_OFFSET] & FLAG_BEGIN
        and at + 8 < length
        and at + 8 <= get_i32(data + FRAME_LENGTH_OFFSET)
    ):
        put_i64(data + at, epoch_ns)
