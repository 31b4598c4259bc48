"""The image of one session of one stream, for native code."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.driver.receive.image_intake cimport ImageIntake
from aerolog.transport.driver.receive.loss_detector cimport (
    LossDetector,
    LossRanges,
    gap_t,
    loss_scan_t,
)
from aerolog.transport.driver.conductor.subscriber_positions cimport SubscriberPositions
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.loss_report cimport LossReport


cdef class NetworkImage(ImageIntake):
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
