"""The conductor's half of an image: what is missing, what the sender may send, when it ends.

Spec wire-protocol 9.2 to 9.4, 9.7, 10, 11, spec log-buffers 15. Positions of subscribers come from
clients: they are believed only as far as data can have been received.
"""

from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint64_t

from aerolog.transport.concurrent.atomic cimport (
    fence_release,
    load_acquire_i32,
    load_acquire_i64,
    load_plain_i32,
    load_plain_i64,
    store_plain_i32,
    store_plain_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.driver.congestion_control.congestion_control cimport (
    CongestionControl,
    Cubic,
    StaticWindow,
    rebuild_t,
    window_t,
)
from aerolog.transport.driver.receive.image_connections cimport Connections
from aerolog.transport.driver.receive.feedback_delay cimport FeedbackDelay
from aerolog.transport.driver.receive.image_intake cimport (
    IMAGE_ACTIVE,
    IMAGE_DONE,
    IMAGE_DRAINING,
    IMAGE_INIT,
    IMAGE_LINGER,
    ImageIntake,
)
from aerolog.transport.driver.logs.image_allocation cimport ImageRoom
from aerolog.transport.driver.receive.loss_detector cimport (
    LossDetector,
    LossRanges,
    gap_t,
    loss_scan_t,
)
from aerolog.transport.driver.receive.receive_transport cimport TransportSet
from aerolog.transport.driver.receive.term_insert cimport clean_image, set_receive_window
from aerolog.transport.driver.conductor.subscriber_positions cimport SubscriberPositions
from aerolog.transport.logbuffer.descriptor cimport LogBuffers, publication_is_revoked
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.loss_report cimport LossReport
from aerolog.transport.network.port cimport set_address
from aerolog.transport.protocol.frames cimport ERROR_TEXT_LIMIT, FRAME_ALIGNMENT

from aerolog.transport.errors import ConfigurationError

from aerolog.transport.network.port import Address

INIT = IMAGE_INIT
ACTIVE = IMAGE_ACTIVE
DRAINING = IMAGE_DRAINING
LINGER = IMAGE_LINGER
DONE = IMAGE_DONE

# Status messages that a draining image still sends, so that one of them arrives.
cdef int64_t _LAST_STATUS_MESSAGES = 5
# Loss report entries: none yet, and none any more.
cdef int64_t _NO_ENTRY = -1
cdef int64_t _NO_REPORT = -2


cdef inline int64_t _elapsed(int64_t since_ns, int64_t now_ns) noexcept nogil:
    return <int64_t> (<uint64_t> now_ns - <uint64_t> since_ns)


cdef int64_t* _address(CountersReader counters, int32_t counter_id) except NULL:
    cdef int64_t* address = counters.value_address(counter_id)
    if address is NULL:
        raise IndexError(f"no such counter: {counter_id}")
    return address


cdef class NetworkImage(ImageIntake):
    """The image of one session of one stream: its log, what is missing of it, who is told.

    Its life: the receiver makes it ACTIVE when it takes it, and DRAINING at the end of stream, when
    it hears nothing for the liveness timeout, or when nothing subscribes to it any more. At a timer
    event with `linger_is_due` the conductor enters LINGER and calls `Receiver.remove_image`; with
    `done_is_due` and `ImageReleased` received it enters DONE and frees log and counters.

    The conductor makes it, turns it (as a `ConductedStream`) and ends it; between
    `Receiver.add_image` and the event `ImageReleased` the receiver writes into it.
    """
    def __init__(
        self,
        LogBuffers logs not None,
        CountersReader counters not None,
        TransportSet endpoint not None,
        Clock clock not None,
        *,
        transport_index: int,
        control: Address,
        rcv_hwm_id: int,
        rcv_pos_id: int,
        rcv_naks_sent_id: int,
        initial_position: int,
        SubscriberPositions subscribers not None,
        FeedbackDelay feedback_delay not None,
        CongestionControl congestion not None,
        LossReport loss_report=None,
        channel: str = "",
        source: str = "",
        reliable: bool = True,
        sparse: bool = True,
        status_message_timeout_ns: int = 200_000_000,
        image_liveness_timeout_ns: int = 10_000_000_000,
    ) -> None:
        """Allocates the room of the first term that data may enter.

        Args:
            logs: the image's log, all zeros.
            counters: holds the counters named by the ids; kept alive. Hwm and rcv-pos are set to
                the initial position here.
            endpoint: the `ReceiveEndpoint` that answers for it.
            clock: of the driver, for the loss report.
            transport_index: of the transport that received the SETUP.
            control: where status messages go, of the event `CreateImage`.
            rcv_hwm_id, rcv_pos_id, rcv_naks_sent_id: counter ids.
            initial_position: of the SETUP, in bytes.
            subscribers: positions of its subscribers, `image.subscribers` from then on.
            feedback_delay: when gaps are reported; `StaticDelay.unreliable()` if not reliable.
            congestion: the window.
            loss_report: where losses are noted, None for nowhere.
            channel: of the subscription, for the loss report.
            source: identity of the source, for the loss report.
            reliable: gaps are reported; else they are filled.
            sparse: room on disk is allocated before the window lets data in.
            status_message_timeout_ns: `aeron.rcv.status.message.timeout`.
            image_liveness_timeout_ns: `aeron.image.liveness.timeout`.

        Raises:
            IndexError: no such counter.
            ConfigurationError: an address, position or index that is none.
        """
        if initial_position < 0 or initial_position % FRAME_ALIGNMENT:
            raise ConfigurationError(
                f"initial position is {initial_position}; use a multiple of {FRAME_ALIGNMENT}"
            )
        self.logs = logs
        self._log = &logs.log
        self.session_id = self._log.session_id
        self.stream_id = self._log.stream_id
        self.endpoint = endpoint
        self.connections = Connections(endpoint)
        self._transport_index = transport_index
        set_address(&self._control, control)
        self._counters = counters
        self._hwm = _address(counters, rcv_hwm_id)
        self._rcv_pos = _address(counters, rcv_pos_id)
        self._naks_sent = _address(counters, rcv_naks_sent_id)
        self._clock = clock
        self.subscribers = subscribers
        self._detector = LossDetector(feedback_delay)
        self._ranges = LossRanges()
        self._loss_report = loss_report
        self._loss_entry = _NO_REPORT if loss_report is None else _NO_ENTRY
        self.channel = channel
        self.source = source
        self._congestion = congestion
        self._measures = not (
            isinstance(congestion, StaticWindow)
            or (isinstance(congestion, Cubic) and not (<Cubic> congestion)._measure_rtt)
        )
        self._reliable = reliable
        self._status_timeout_ns = status_message_timeout_ns
        self._liveness_timeout_ns = image_liveness_timeout_ns
        self._response_session = INT64_MIN
        self.room = ImageRoom(logs, initial_position, sparse=sparse)
        self._start_at(initial_position)

    def _start_at(self, initial_position: int) -> None:
        cdef int64_t position = initial_position
        cdef int32_t window = self._congestion.initial_window_length()
        store_release_i64(self._hwm, position)
        self._hwm_reached = position
        store_release_i64(self._rcv_pos, position)
        set_receive_window(
            &self._window,
            position,
            self._congestion.max_window_length(),
            self._log.term_length,
        )
        self._max_window = self._congestion.max_window_length()
        self._clean_position = position
        self._next_status_position = position
        self._next_window = self._window_with_room(position, window)
        self._status_position = position
        self._status_window = self._next_window

    # ---- the duty cycle -------------------------------------------------------------------------

    cdef int update(self, int64_t now_ns) noexcept nogil:
        """Follow subscribers and data, find gaps, open the window."""
        cdef loss_scan_t found
        cdef rebuild_t step
        cdef window_t decided
        cdef int64_t slowest, fastest, hwm, rebuilt
        cdef int64_t received = load_plain_i64(self._rcv_pos)
        cdef int work_count = 0
        if self._conductor_state != 0 or load_acquire_i32(&self._phase) != IMAGE_ACTIVE:
            return 0
        slowest = self.subscribers.lowest(&fastest)
        if slowest < 0:
            return 0
        hwm = load_acquire_i64(self._hwm)
        rebuilt = max(received, self._believed(fastest, hwm))
        self._detector.scan(self._log, rebuilt, hwm, now_ns, &found)
        step.rebuild_start = rebuilt
        rebuilt = max(rebuilt, found.rebuild_position)
        if rebuilt > received:
            store_release_i64(self._rcv_pos, rebuilt)
        # Nothing is repaired any more in a revoked stream: asking would be without end.
        if found.report and not publication_is_revoked(self._log):
            self._publish_loss(&found.gap)
            self._account_loss(&found.gap)
            work_count = 1
        slowest = max(min(slowest, rebuilt), self._next_status_position)
        step.now_ns = now_ns
        step.consumption_position = slowest
        step.status_position = self._next_status_position
        step.hwm_position = hwm
        step.rebuild_end = rebuilt
        step.loss_found = found.loss_found
        decided = self._congestion.on_rebuild(&step)
        decided.window = self._window_with_room(slowest, decided.window)
        if (
            decided.force_status
            or slowest > self._next_status_position + decided.window // 4
            or self._opens(slowest, decided.window)
        ):
            while clean_image(self._log, &self._clean_position, slowest) > 0:
                pass
            self._publish_status(slowest, decided.window)
            work_count = 1
        return work_count

    cdef int64_t _believed(self, int64_t position, int64_t hwm) noexcept nogil:
        """A subscriber may be past the high-water mark by a padding frame, so to the term's end."""
        cdef int64_t mask = self._log.term_mask
        return min(position, (hwm + mask) & ~mask)

    cdef int32_t _window_with_room(self, int64_t position, int32_t window) noexcept nogil:
        """What of a window has room on disk; the receiver inserts no farther than that.

        A sender that is led by other receivers may be ahead of this window, by half a term at
        most: there is always room for one more window behind what was received.
        """
        cdef int64_t limit = max(position, load_plain_i64(self._rcv_pos)) + self._max_window
        limit = self.granted(min(limit, position + self._log.term_length // 2))
        if self.room.limit > load_plain_i64(&self._room_limit):
            store_release_i64(&self._room_limit, self.room.limit)
        limit = (limit - position) & ~<int64_t> (FRAME_ALIGNMENT - 1)
        return <int32_t> max(<int64_t> 0, min(limit, <int64_t> window))

    cdef bint _opens(self, int64_t position, int32_t window) noexcept nogil:
        """Whether another window says something else than where the room ends, as before."""
        return window != self._next_window and (
            position + window != self._next_status_position + self._next_window
        )

    cdef void _publish_status(self, int64_t position, int32_t window) noexcept nogil:
        cdef int64_t number = self._status_end + 1
        self._next_status_position = position
        self._next_window = window
        store_release_i64(&self._status_begin, number)
        fence_release()
        store_plain_i64(&self._status_position, position)
        store_plain_i32(&self._status_window, window)
        store_release_i64(&self._status_end, number)
        store_release_i64(&self.change, self.change + 1)

    cdef void _publish_loss(self, const gap_t* gap) noexcept nogil:
        cdef int64_t number = self._loss_end + 1
        store_release_i64(&self._loss_begin, number)
        fence_release()
        store_plain_i32(&self._loss.term_id, gap.term_id)
        store_plain_i32(&self._loss.term_offset, gap.term_offset)
        store_plain_i32(&self._loss.length, gap.length)
        store_release_i64(&self._loss_end, number)
        store_release_i64(&self.change, self.change + 1)

    cdef void _account_loss(self, const gap_t* gap) noexcept nogil:
        cdef int32_t bytes_lost
        if self._loss_entry == _NO_REPORT:
            return
        bytes_lost = self._ranges.add_gap(gap)
        if bytes_lost <= 0:
            return
        if self._loss_entry == _NO_ENTRY:
            self._first_loss(bytes_lost)
        else:
            self._loss_report.add_loss(self._loss_entry, bytes_lost, self._clock.epoch_ms())

    cdef void _first_loss(self, int32_t bytes_lost) noexcept nogil:
        """Once an image: the entry with its texts is written with the GIL."""
        self._loss_entry = _NO_REPORT
        with gil:
            entry = self._loss_report.create_entry(
                bytes_lost,
                self._clock.now_epoch_ms(),
                self.session_id,
                self.stream_id,
                self.channel,
                self.source,
            )
            if entry is not None:
                self._loss_entry = entry

    # ---- timer events ---------------------------------------------------------------------------

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        """Whether clients are to be told of its end or of an untethered subscriber's."""
        cdef int32_t state = self._state()
        if state == IMAGE_ACTIVE:
            return self._linger_is_due(now_ns) or self.subscribers.any_due(
                self._untethered_limit(), now_ns
            )
        if state == IMAGE_DRAINING:
            return self._linger_is_due(now_ns)
        return state == IMAGE_LINGER and self._done_is_due(now_ns)

    cdef void tick(self, int64_t now_ns) noexcept nogil:
        """Ask the disk again, note which untethered subscribers keep up."""
        if self._state() == IMAGE_ACTIVE:
            self.retry_room()
            self.subscribers.note_active(self._untethered_limit(), now_ns)

    cdef int32_t _state(self) noexcept nogil:
        return max(self._conductor_state, load_acquire_i32(&self._phase))

    cdef bint _linger_is_due(self, int64_t now_ns) noexcept nogil:
        cdef int32_t state = self._state()
        if state != IMAGE_ACTIVE and state != IMAGE_DRAINING:
            return False
        if publication_is_revoked(self._log):
            return True
        return (
            state == IMAGE_DRAINING
            and _elapsed(self._draining_since_ns, now_ns)
            >= _LAST_STATUS_MESSAGES * self._status_timeout_ns
            and self.subscribers.all_reached(load_plain_i64(self._rcv_pos))
        )

    cdef bint _done_is_due(self, int64_t now_ns) noexcept nogil:
        return self._conductor_state == IMAGE_LINGER and (
            self.subscribers.count == 0
            or _elapsed(self._conductor_state_since_ns, now_ns) >= self._liveness_timeout_ns
        )

    cdef int64_t _untethered_limit(self) noexcept nogil:
        cdef int64_t fastest
        self.subscribers.lowest(&fastest)
        return fastest - self._next_window + self._next_window // 4

    # ---- control --------------------------------------------------------------------------------

    @property
    def state(self) -> int:
        """INIT until the receiver has it, ACTIVE, DRAINING (receiver), LINGER, DONE (conductor)."""
        return self._state()

    @property
    def state_since_ns(self) -> int:
        """When the state was entered; DRAINING: by the receiver's clock, which is the same."""
        if self._conductor_state:
            return self._conductor_state_since_ns
        return self._draining_since_ns

    def enter(self, state: int, now_ns: int) -> None:
        """Go on to LINGER or DONE.

        Raises:
            ValueError: the state is not a later one of these two.
        """
        if state not in (IMAGE_LINGER, IMAGE_DONE) or state <= self._conductor_state:
            raise ValueError(f"an image does not go from state {self._state()} to {state}")
        self._conductor_state = state
        self._conductor_state_since_ns = now_ns

    @property
    def is_end_of_stream(self) -> bool:
        """All its sources have ended; the log says where."""
        return load_acquire_i32(&self._ended) != 0

    @property
    def is_revoked(self) -> bool:
        return publication_is_revoked(self._log)

    @property
    def is_drained(self) -> bool:
        """All subscribers have consumed what was rebuilt."""
        return self.subscribers.all_reached(load_plain_i64(self._rcv_pos))

    def linger_is_due(self, now_ns: int) -> bool:
        """Whether the timer is to end it: DRAINING, drained and five status message timeouts
        old; or revoked.
        """
        return self._linger_is_due(now_ns)

    def done_is_due(self, now_ns: int) -> bool:
        """Whether LINGER is over: no subscribers left, or the liveness timeout has passed."""
        return self._done_is_due(now_ns)

    def accepts_subscribers(self) -> bool:
        """INIT, ACTIVE, or DRAINING and not drained."""
        cdef int32_t state = self._state()
        return state < IMAGE_DRAINING or (state == IMAGE_DRAINING and not self.is_drained)

    def join_position(self) -> int:
        """Where a new subscriber starts: the lowest of rcv-pos and all subscriber positions."""
        cdef int64_t fastest
        cdef int64_t slowest = self.subscribers.lowest(&fastest)
        cdef int64_t received = load_plain_i64(self._rcv_pos)
        return received if slowest < 0 else min(slowest, received)

    def untethered_limit(self) -> int:
        """Position that an untethered subscriber must be past (spec wire-protocol 11)."""
        return self._untethered_limit()

    @property
    def rebuild_position(self) -> int:
        """All before it has been received: rcv-pos."""
        return load_acquire_i64(self._rcv_pos)

    @property
    def hwm_position(self) -> int:
        """The farthest byte received: rcv-hwm."""
        return load_acquire_i64(self._hwm)

    @property
    def window_length(self) -> int:
        """Of the status message scheduled last."""
        return self._next_window

    def reject(self, reason: str) -> None:
        """Answer with error frames from now on, until it times out.

        Args:
            reason: for the publication's clients, ASCII; cut after 1023 bytes.
        """
        cdef const uint8_t[::1] text
        if self.is_rejected:
            return
        self._reason = reason.encode("ascii", "replace")[:ERROR_TEXT_LIMIT] or b" "
        text = self._reason
        self._reason_text = &text[0]
        self._reason_length = <int32_t> text.shape[0]
        store_release_i32(&self._rejected, 1)

    @property
    def is_rejected(self) -> bool:
        return load_plain_i32(&self._rejected) != 0

    @property
    def response_session_id(self) -> int | None:
        """Announced with every timed status message; None stops it."""
        if self._response_session == INT64_MIN:
            return None
        return self._response_session

    @response_session_id.setter
    def response_session_id(self, session_id: int | None) -> None:
        cdef int64_t announced = INT64_MIN
        if session_id is not None:
            announced = <int32_t> session_id
        store_release_i64(&self._response_session, announced)
