"""Congestion control of an image (spec wire-protocol 10): the interface for native code."""

from libc.stdint cimport int32_t, int64_t

# What the conductor has observed in one rebuild step; positions in bytes.
ctypedef struct rebuild_t:
    int64_t now_ns
    int64_t consumption_position    # of the slowest subscriber
    int64_t status_position         # of the last status message that was scheduled
    int64_t hwm_position
    int64_t rebuild_start
    int64_t rebuild_end
    bint loss_found                 # whether a gap appeared or changed since the step before

# window: bytes, for the status message; force_status: send one whatever was consumed.
ctypedef struct window_t:
    int32_t window
    bint force_status


cdef class CongestionControl:
    cdef readonly object error
    cdef int64_t* _counters[2]
    cdef object _counter_file
    cdef void bind_counter(self, int index, int64_t* value) noexcept nogil
    cdef void _publish(self, int index, int64_t value) noexcept nogil
    # The methods of a strategy. The conductor calls on_rebuild, the receiver the round-trip
    # methods; initial_window_length and max_window_length are called once.
    cdef int32_t initial_window_length(self) noexcept nogil
    cdef int32_t max_window_length(self) noexcept nogil
    cdef window_t on_rebuild(self, const rebuild_t* step) noexcept nogil
    cdef bint wants_rtt(self, int64_t now_ns) noexcept nogil
    cdef void on_rtt_request(self, int64_t now_ns) noexcept nogil
    cdef void on_rtt(self, int64_t now_ns, int64_t rtt_ns) noexcept nogil


cdef class StaticWindow(CongestionControl):
    cdef int32_t _window


cdef class Cubic(CongestionControl):
    cdef int32_t _mtu
    cdef int32_t _max_window
    cdef int32_t _max_segments
    cdef int32_t _segments          # the congestion window
    cdef int32_t _segments_at_loss  # the congestion window when the last loss was found
    cdef double _k                  # seconds from a loss until that window is reached again
    cdef int64_t _last_loss_ns
    cdef int64_t _last_update_ns
    cdef int64_t _initial_rtt_ns
    # The conductor reads the estimate, the receiver writes it.
    cdef int64_t _rtt_ns
    cdef int64_t _last_rtt_ns
    cdef int64_t _rtt_timeout_ns
    cdef bint measures_rtt
    cdef bint _tcp_mode
    cdef void _shrink(self, int64_t now_ns) noexcept nogil
    cdef void _grow(self, int64_t now_ns) noexcept nogil


cdef class PythonCongestionControl(CongestionControl):
    cdef int32_t _initial_window
    cdef int32_t _max_window
    cdef int32_t _last_window
    cdef void _give_up(self, error)
