"""The image of one session of one stream from the network, for receiver and conductor."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport load_acquire_i64
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.driver.conductor.driver_stream cimport DriverStream
from aerolog.transport.driver.conductor.subscriber_positions cimport SubscriberPositions
from aerolog.transport.driver.congestion_control.congestion_control cimport CongestionControl
from aerolog.transport.driver.receive.image_connections cimport ImageConnections
from aerolog.transport.driver.receive.loss_detector cimport (
    LossDetector,
    LossRanges,
    gap_t,
    loss_scan_t,
)
from aerolog.transport.driver.receive.receive_context cimport ReceiveContext
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport, TransportSet
from aerolog.transport.driver.receive.term_insert cimport receive_window_t
from aerolog.transport.logbuffer.descriptor cimport LogBuffers, log_buffer_t
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.loss_report cimport LossReport
from aerolog.transport.network.port cimport address_t
from aerolog.transport.protocol.frames cimport rttm_t


# INIT to DRAINING are the receiver's to enter, LINGER and DONE the conductor's.
cdef enum image_state:
    IMAGE_INIT = 0
    IMAGE_ACTIVE = 1
    IMAGE_DRAINING = 2
    IMAGE_LINGER = 3
    IMAGE_DONE = 4


# Fields that one agent writes often are a cache line away from those that the other one reads.
cdef class ReceiveStream(DriverStream):
    # ---- set once
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly LogBuffers logs
    cdef TransportSet endpoint
    cdef CongestionControl _congestion
    cdef const log_buffer_t* _log
    cdef int64_t* _hwm
    cdef int64_t* _rcv_pos
    cdef int64_t* _naks_sent
    cdef int64_t _status_timeout_ns
    cdef int64_t _liveness_timeout_ns
    cdef address_t _control
    cdef int32_t _transport_index
    cdef bint _reliable
    cdef bint _measures             # the strategy may measure round trips: ask it every cycle

    # ---- the conductor writes, the receiver reads
    cdef int64_t _conductor_line[8]
    cdef int64_t change             # changes with every field published below
    cdef int64_t _room_limit        # positions below it have space on disk
    cdef int64_t _response_session  # a session id, INT64_MIN for none
    cdef int64_t _status_begin
    cdef int64_t _status_position
    cdef int32_t _status_window
    cdef int32_t _rejected
    cdef int64_t _status_end
    cdef int64_t _loss_begin
    cdef gap_t _loss
    cdef int64_t _loss_end
    cdef bytes _reason              # keeps the text alive
    cdef const uint8_t* _reason_text
    cdef int32_t _reason_length

    # ---- the receiver writes, the conductor reads
    cdef int64_t _receiver_line[8]
    cdef int32_t _phase
    cdef int32_t _ended
    cdef int64_t _draining_since_ns

    # ---- the receiver's own
    cdef int64_t _own_line[8]
    cdef int64_t wake_ns            # the next cycle with work to do, if nothing changes before
    cdef int64_t change_seen
    cdef int64_t _status_deadline_ns
    cdef int64_t _last_packet_ns
    cdef int64_t _hwm_reached       # the next value of the counter
    cdef int64_t _filled_to         # end of the last gap that was filled
    cdef int64_t _status_seen
    cdef int64_t _loss_seen
    cdef receive_window_t _window
    cdef bint _status_enabled
    cdef bint _status_ends
    cdef ImageConnections connections
    cdef int64_t _last_line[8]

    # The receiver takes the image, or lets it drain; `deactivate` may be called again.
    cdef void activate(self, int64_t now_ns) noexcept nogil
    cdef void deactivate(self, int64_t now_ns) noexcept nogil
    cdef void silence(self) noexcept nogil
    cdef bint is_active(self) noexcept nogil
    cdef bint has_ended(self) noexcept nogil
    cdef bint was_revoked(self) noexcept nogil
    # Handles a DATA or PAD datagram of at least a header, of this session and stream.
    cdef void on_packet(
        self,
        ReceiveContext context,
        int32_t index,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil
    # Follows the last of several packets: shows the conductor the high-water mark.
    cdef void publish_hwm(self) noexcept nogil
    cdef void on_setup(
        self, ReceiveContext context, int32_t index, const address_t* source
    ) noexcept nogil
    cdef void on_round_trip(self, ReceiveContext context, const rttm_t* rttm) noexcept nogil
    cdef bint is_of(self, ReceiveStream other) noexcept nogil
    cdef void add_transport(
        self, ReceiveContext context, ReceiveTransport transport
    ) noexcept nogil
    cdef void drop_transport(self, ReceiveContext context, int32_t index) noexcept nogil
    # Runs a cycle of the receiver that has work to do; returns a work count, or -1 when no
    # frame has come for the liveness timeout.
    cdef int work(self, ReceiveContext context) noexcept nogil
    # Sends the last frame of an image whose publication was revoked.
    cdef void send_last_status(self, ReceiveContext context) noexcept nogil
    cdef void _on_heartbeat(
        self,
        ReceiveContext context,
        int32_t index,
        int64_t position,
        uint8_t flags,
        const address_t* source,
    ) noexcept nogil
    cdef void _end(self, ReceiveContext context, uint8_t flags) noexcept nogil
    cdef int _work_status(self, ReceiveContext context) noexcept nogil
    cdef void _send_status(
        self, ReceiveContext context, int64_t position, int32_t window
    ) noexcept nogil
    cdef void _send_rejection(self, ReceiveContext context) noexcept nogil
    cdef void _announce_response(self, ReceiveContext context, int64_t session) noexcept nogil
    cdef int _work_loss(self, ReceiveContext context) noexcept nogil
    cdef void _report_gap(self, ReceiveContext context, const gap_t* gap) noexcept nogil
    cdef void _measure(self, ReceiveContext context) noexcept nogil
    cdef void _note_active_transports(self, int64_t now_ns) noexcept nogil

    # ---- the conductor's own
    cdef readonly SubscriberPositions subscribers
    cdef readonly str channel
    cdef readonly str source
    cdef CountersReader _counters
    cdef Clock _clock
    cdef LossDetector _detector
    cdef LossRanges _ranges
    cdef LossReport _loss_report
    cdef int64_t _loss_entry        # in the report, -1 before the first loss, -2 for never
    cdef int64_t _next_status_position
    cdef int64_t _clean_position
    cdef int32_t _next_window
    cdef int32_t _max_window
    cdef int32_t _conductor_state
    cdef int64_t _conductor_state_since_ns
    cdef int64_t _believed(self, int64_t position, int64_t hwm) noexcept nogil
    cdef void _publish_status(self, int64_t position, int32_t window) noexcept nogil
    cdef void _publish_loss(self, const gap_t* gap) noexcept nogil
    cdef void _account_loss(self, const gap_t* gap) noexcept nogil
    cdef void _first_loss(self, int32_t bytes_lost) noexcept nogil
    cdef int32_t _window_with_room(self, int64_t position, int32_t window) noexcept nogil
    cdef bint _opens(self, int64_t position, int32_t window) noexcept nogil
    cdef int32_t _state(self) noexcept nogil
    cdef bint _linger_is_due(self, int64_t now_ns) noexcept nogil
    cdef bint _done_is_due(self, int64_t now_ns) noexcept nogil
    cdef int64_t _untethered_limit(self) noexcept nogil


cdef inline bint has_nothing_to_do(ReceiveStream image, int64_t now_ns) noexcept nogil:
    """Return whether `work` would return at once; it reads two cache lines of the image."""
    return image.wake_ns - now_ns > 0 and load_acquire_i64(&image.change) == image.change_seen
