"""Runners of agents, and the tracker of their duty cycles."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.idle cimport IdleStrategy
from aerolog.transport.concurrent.standby_runner cimport duty_t
from aerolog.transport.memory.counter cimport counter_t


cdef class DutyCycleTracker:
    cdef counter_t _max_cycle_counter       # each may be missing
    cdef counter_t _threshold_counter
    cdef object _counter_owner
    cdef int64_t _max_cycle_time
    cdef int64_t _threshold_exceeded
    cdef readonly int64_t threshold_ns
    cdef int64_t _last_update_ns
    # Show both numbers in counters, whose memory `owner` keeps alive.
    cdef void bind(
        self, const counter_t* max_cycle_time, const counter_t* threshold_exceeded, object owner
    )
    cdef void update(self, int64_t now_ns) noexcept nogil
    cdef void measure_and_update(self, int64_t now_ns) noexcept nogil


cdef class AgentInvoker:
    cdef readonly tuple agents
    cdef readonly tuple trackers
    cdef readonly Clock clock
    cdef readonly object error_handler
    cdef readonly object on_failure
    cdef void** _agents
    cdef void** _trackers
    cdef int32_t _count
    cdef int32_t _state
    cdef bint _control_due
    cdef bint _in_cycle
    cdef void _free_arrays(self)
    cdef int _native_cycle(self) noexcept nogil
    cdef int _control_cycle(self) except -1


cdef class AgentRunner(AgentInvoker):
    cdef readonly IdleStrategy idle_strategy
    cdef readonly str name
    cdef readonly int32_t affinity
    cdef readonly object thread
    cdef int32_t _stop
    cdef bint _idles_in_python
    cdef bint _may_rest
    cdef int64_t _parks     # longest parks since there was work
    cdef duty_t _duty
    cdef void _idle(self, int work_count) noexcept nogil
    cdef int _run_native(self, bint idles_first, int work_count) noexcept nogil
    cdef int _turn_agents(self) except -1
    cdef object __weakref__
