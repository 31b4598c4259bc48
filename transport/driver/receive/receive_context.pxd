"""What every part of the receiver uses in a cycle: time, counters, frames to be sent."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.driver.receive.loss_detector cimport gap_t
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport, TransportSet
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.protocol.frames cimport rttm_t
from aerolog.transport.network.port cimport address_t, outgoing_t

cdef enum:
    ANSWER_LIMIT = 64
    ANSWER_BYTES = 8192
    LONGEST_ANSWER = 1064       # an error frame with its longest text

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
    # The last answer that the system refused, for the conductor to be told; NULL: none.
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
    # Frames leave together, those for one address through one transport in one call; `flush`
    # at the end of a cycle.
    cdef void flush(self) noexcept nogil
    cdef void send_status(
        self,
        TransportSet endpoint,
        ReceiveTransport transport,
        const address_t* destination,
        const status_t* status,
    ) noexcept nogil
    # Setup-eliciting (8.3): to the group, the explicit control or where a packet came from.
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
