"""Agents: units of work that a runner or a caller invokes repeatedly (docs/decisions/0001).

duty_cycle is native and holds no GIL. If it needs Python, it sets control_due and returns; the
runner then takes the GIL and calls control(), which returns a work count. on_start and on_close run
once each on the agent's thread.
"""

from libc.stdint cimport int64_t


cdef class Agent:
    cdef readonly str role_name
    cdef bint control_due
    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil
