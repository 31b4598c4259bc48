"""Congestion control of an image (spec wire-protocol 10): the interface and the two strategies.

Strategies only decide: they turn times and positions into a window. Segments have the sender's MTU.
"""

from libc.math cimport cbrt
from libc.stdint cimport int32_t, int64_t, uint64_t

from aerolog.transport.concurrent.atomic cimport (
    load_acquire_i64,
    store_release_i64,
)
from aerolog.transport.memory.mapped_file cimport MappedFile

from aerolog.transport.errors import ConfigurationError

cdef double CUBIC_C = 0.4
cdef double CUBIC_B = 0.2
cdef int32_t INITIAL_SEGMENTS = 10
cdef int64_t RTT_TIMEOUT_MULTIPLE = 4
cdef double NS_PER_S = 1e9

# A peer sends back the time of the request: a longer round trip than this is not believed.
cdef int64_t _RTT_MAX_NS = 60_000_000_000
RTT_MAX_NS = 60_000_000_000


cdef inline int64_t _elapsed(int64_t since_ns, int64_t now_ns) noexcept nogil:
    return <int64_t> (<uint64_t> now_ns - <uint64_t> since_ns)


def _check_positive(**values: int) -> None:
    for name, value in values.items():
        if not 0 < value < 2**31:
            raise ConfigurationError(f"{name} is {value}; use 1 to {2**31 - 1}")


def max_window_for(receiver_window: int, term_length: int) -> int:
    """Return the largest window of an image in bytes: the receiver's, at most half a term."""
    _check_positive(receiver_window=receiver_window, term_length=term_length)
    return min(receiver_window, term_length // 2)


cdef class CongestionControl:
    """Decides how much data a sender may have in flight to one image.

    Native strategies subclass this and override its `cdef` methods (see congestion_control.pxd);
    Python ones subclass `PythonCongestionControl`. Every window is at least 0 and at most
    `max_window`. The Python methods here call the native ones.

    Attributes:
        counter_names: names of the counters that the driver makes for the image, at most two, in
            the order of the arguments of `bind_counters`.
        error: the exception that stopped a Python strategy, None while it works.
    """
    counter_names = ()

    cdef void bind_counter(self, int index, int64_t* value) noexcept nogil:
        self._counters[index] = value

    cdef void _publish(self, int index, int64_t value) noexcept nogil:
        if self._counters[index] != NULL:
            store_release_i64(self._counters[index], value)

    cdef int32_t initial_window_length(self) noexcept nogil:
        return 0

    cdef int32_t max_window_length(self) noexcept nogil:
        return 0

    cdef window_t on_rebuild(self, const rebuild_t* step) noexcept nogil:
        return window_t(0, False)

    cdef bint wants_rtt(self, int64_t now_ns) noexcept nogil:
        return False

    cdef void on_rtt_request(self, int64_t now_ns) noexcept nogil:
        return

    cdef void on_rtt(self, int64_t now_ns, int64_t rtt_ns) noexcept nogil:
        return

    def bind_counters(self, MappedFile values not None, *offsets: int) -> None:
        """Show the strategy's numbers in counters: each name has an offset in `values`.

        Raises:
            ConfigurationError: more offsets than two, or one outside the file or not aligned.
        """
        cdef int64_t at
        if len(offsets) > 2:
            raise ConfigurationError(f"{len(offsets)} counters; a strategy has two at most")
        for offset in offsets:
            if offset % 8 or not 0 <= offset <= values.length - 8:
                raise ConfigurationError(
                    f"counter offset {offset} is not a word of {values.length} bytes"
                )
        self._counter_file = values
        for index, offset in enumerate(offsets):
            at = offset
            self.bind_counter(index, <int64_t*> (values.address + at))

    @property
    def initial_window(self) -> int:
        return self.initial_window_length()

    @property
    def max_window(self) -> int:
        return self.max_window_length()

    def rebuilt(
        self,
        now_ns: int,
        *,
        loss_found: bool = False,
        consumption_position: int = 0,
        status_position: int = 0,
        hwm_position: int = 0,
        rebuild_start: int = 0,
        rebuild_end: int = 0,
    ) -> tuple[int, bool]:
        """Handle a rebuild step; return the window in bytes, and whether to force a status."""
        cdef rebuild_t step = rebuild_t(
            now_ns,
            consumption_position,
            status_position,
            hwm_position,
            rebuild_start,
            rebuild_end,
            loss_found,
        )
        cdef window_t result = self.on_rebuild(&step)
        return result.window, bool(result.force_status)

    def should_measure_rtt(self, now_ns: int) -> bool:
        return bool(self.wants_rtt(now_ns))

    def rtt_requested(self, now_ns: int) -> None:
        self.on_rtt_request(now_ns)

    def rtt_measured(self, now_ns: int, rtt_ns: int) -> None:
        self.on_rtt(now_ns, rtt_ns)


cdef class StaticWindow(CongestionControl):
    """A window of constant length."""
    def __init__(self, receiver_window: int, term_length: int) -> None:
        self._window = max_window_for(receiver_window, term_length)

    cdef int32_t initial_window_length(self) noexcept nogil:
        return self._window

    cdef int32_t max_window_length(self) noexcept nogil:
        return self._window

    cdef window_t on_rebuild(self, const rebuild_t* step) noexcept nogil:
        return window_t(self._window, False)


cdef class Cubic(CongestionControl):
    """CUBIC with C = 0.4 and B = 0.2, counted in segments of the sender's MTU."""
    counter_names = ("rcv-cc-cubic-rtt", "rcv-cc-cubic-wnd")

    def __init__(
        self,
        receiver_window: int,
        term_length: int,
        mtu: int,
        now_ns: int,
        *,
        initial_rtt_ns: int = 100_000,
        measure_rtt: bool = False,
        tcp_mode: bool = False,
    ) -> None:
        """Raises ConfigurationError for a length or time that is not positive."""
        _check_positive(mtu=mtu)
        if not 0 < initial_rtt_ns <= RTT_MAX_NS:
            raise ConfigurationError(
                f"initial round trip is {initial_rtt_ns} ns; use 1 to {RTT_MAX_NS}"
            )
        self._max_window = max_window_for(receiver_window, term_length)
        self._mtu = min(mtu, self._max_window)
        self._max_segments = self._max_window // self._mtu
        self._segments = min(INITIAL_SEGMENTS, self._max_segments)
        self._segments_at_loss = self._max_segments
        self._k = cbrt(self._segments_at_loss * CUBIC_B / CUBIC_C)
        self._last_loss_ns = now_ns
        self._last_update_ns = now_ns
        self._initial_rtt_ns = initial_rtt_ns
        self._rtt_ns = initial_rtt_ns
        self._rtt_timeout_ns = RTT_TIMEOUT_MULTIPLE * self._initial_rtt_ns
        self._last_rtt_ns = self._last_update_ns - self._rtt_timeout_ns
        self.measures_rtt = measure_rtt
        self._tcp_mode = tcp_mode

    cdef void bind_counter(self, int index, int64_t* value) noexcept nogil:
        CongestionControl.bind_counter(self, index, value)
        # As by the reference, the round trip is shown once it has been measured.
        self._publish(1, self._segments * self._mtu)

    cdef int32_t initial_window_length(self) noexcept nogil:
        return min(INITIAL_SEGMENTS, self._max_segments) * self._mtu

    cdef int32_t max_window_length(self) noexcept nogil:
        return self._max_window

    cdef window_t on_rebuild(self, const rebuild_t* step) noexcept nogil:
        cdef bint force = False
        if step.loss_found:
            self._shrink(step.now_ns)
            force = True
        elif (
            self._segments < self._max_segments
            and _elapsed(self._last_update_ns, step.now_ns) > self._initial_rtt_ns
        ):
            self._grow(step.now_ns)
        elif self._segments == 1 and step.consumption_position > step.status_position:
            # With one segment, a quarter of the window may be less than a frame.
            force = True
        return window_t(self._segments * self._mtu, force)

    cdef void _shrink(self, int64_t now_ns) noexcept nogil:
        self._segments_at_loss = self._segments
        self._k = cbrt(self._segments_at_loss * CUBIC_B / CUBIC_C)
        self._segments = max(1, <int32_t> (self._segments * (1.0 - CUBIC_B)))
        self._last_loss_ns = now_ns
        self._publish(1, self._segments * self._mtu)

    cdef void _grow(self, int64_t now_ns) noexcept nogil:
        cdef double since_loss_ns = <double> _elapsed(self._last_loss_ns, now_ns)
        cdef double t = since_loss_ns / NS_PER_S - self._k
        # The cast truncates towards zero, for negative values too; min keeps it within 32 bits.
        cdef int32_t growth = <int32_t> min(CUBIC_C * t * t * t, <double> self._max_segments)
        cdef double as_tcp
        self._segments = max(1, min(self._max_segments, self._segments_at_loss + growth))
        if self._tcp_mode and self._segments < self._segments_at_loss:
            as_tcp = self._segments_at_loss * (1.0 - CUBIC_B) + (
                3.0 * CUBIC_B / (2.0 - CUBIC_B)
                * (since_loss_ns / <double> load_acquire_i64(&self._rtt_ns))
            )
            # Never beyond half a term, however long ago the loss was.
            as_tcp = min(as_tcp, <double> self._max_segments)
            self._segments = max(self._segments, <int32_t> as_tcp)
        self._last_update_ns = now_ns
        self._publish(1, self._segments * self._mtu)

    cdef bint wants_rtt(self, int64_t now_ns) noexcept nogil:
        return self.measures_rtt and _elapsed(self._last_rtt_ns, now_ns) > self._rtt_timeout_ns

    cdef void on_rtt_request(self, int64_t now_ns) noexcept nogil:
        self._last_rtt_ns = now_ns

    cdef void on_rtt(self, int64_t now_ns, int64_t rtt_ns) noexcept nogil:
        if not 0 < rtt_ns <= _RTT_MAX_NS:
            return
        self._last_rtt_ns = now_ns
        self._rtt_timeout_ns = RTT_TIMEOUT_MULTIPLE * max(rtt_ns, self._initial_rtt_ns)
        store_release_i64(&self._rtt_ns, rtt_ns)
        self._publish(0, rtt_ns)

    @property
    def rtt_ns(self) -> int:
        """The estimate of the round-trip time in nanoseconds."""
        return load_acquire_i64(&self._rtt_ns)


cdef class PythonCongestionControl(CongestionControl):
    """Base of strategies written in Python.

    Override `track_rebuild`, and the three round-trip methods when the strategy measures. They
    are called with the GIL, `track_rebuild` on the conductor's thread and the others on the
    receiver's. An exception, or a result that is not `(window, force)`, stops the strategy for
    this image: it is kept in `error`, and the window stays as it was. Windows are limited to
    0..max_window.
    """
    def __init__(self, initial_window: int, max_window: int) -> None:
        """Raises ConfigurationError unless 0 <= initial_window <= max_window < 2^31."""
        if not 0 <= initial_window <= max_window < 2**31:
            raise ConfigurationError(
                f"initial window {initial_window} of {max_window}; use 0 <= initial <= max < 2^31"
            )
        self._initial_window = initial_window
        self._max_window = max_window
        self._last_window = initial_window

    cdef void _give_up(self, error):
        self.error = error

    cdef int32_t initial_window_length(self) noexcept nogil:
        return self._initial_window

    cdef int32_t max_window_length(self) noexcept nogil:
        return self._max_window

    cdef window_t on_rebuild(self, const rebuild_t* step) noexcept nogil:
        cdef bint force = False
        with gil:
            if self.error is None:
                try:
                    window, forced = self.track_rebuild(
                        step.now_ns,
                        bool(step.loss_found),
                        step.consumption_position,
                        step.status_position,
                        step.hwm_position,
                        step.rebuild_start,
                        step.rebuild_end,
                    )
                    self._last_window = min(max(0, int(window)), self._max_window)
                    force = bool(forced)
                except Exception as error:
                    self._give_up(error)
        return window_t(self._last_window, force)

    cdef bint wants_rtt(self, int64_t now_ns) noexcept nogil:
        cdef bint wanted = False
        with gil:
            if self.error is None:
                try:
                    wanted = bool(self.measures_rtt(now_ns))
                except Exception as error:
                    self._give_up(error)
        return wanted

    cdef void on_rtt_request(self, int64_t now_ns) noexcept nogil:
        with gil:
            if self.error is None:
                try:
                    self.on_rtt_requested(now_ns)
                except Exception as error:
                    self._give_up(error)

    cdef void on_rtt(self, int64_t now_ns, int64_t rtt_ns) noexcept nogil:
        with gil:
            if self.error is None:
                try:
                    self.on_rtt_measured(now_ns, rtt_ns)
                except Exception as error:
                    self._give_up(error)

    def track_rebuild(
        self,
        now_ns: int,
        loss_found: bool,
        consumption_position: int,
        status_position: int,
        hwm_position: int,
        rebuild_start: int,
        rebuild_end: int,
    ) -> tuple[int, bool]:
        """Return the window in bytes and whether to force a status message; here the initial one.

        Args:
            now_ns: the time of the driver's monotonic clock.
            loss_found: whether a gap appeared, grew or shrank since the step before.
            consumption_position: the position of the slowest subscriber.
            status_position: the position of the last status message that was scheduled.
            hwm_position: the end of the farthest data received.
            rebuild_start: the position at which the step began to look for frames.
            rebuild_end: the position of the first missing byte.
        """
        return self._initial_window, False

    def measures_rtt(self, now_ns: int) -> bool:
        """Return whether to request an echo from the sender now; here never."""
        return False

    def on_rtt_requested(self, now_ns: int) -> None:
        return

    def on_rtt_measured(self, now_ns: int, rtt_ns: int) -> None:
        return
