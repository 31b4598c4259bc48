"""The ports of a receive endpoint, for native code."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.network.port cimport DatagramPort, address_t

cpdef enum:
    MAX_TRANSPORTS = 32


cdef class ReceiveTransport:
    cdef readonly int32_t index
    cdef readonly DatagramPort port
    cdef readonly object explicit_control
    cdef int descriptor             # for poll(2), -1 when polling it does not show all input
    cdef readonly object control_group
    cdef bint has_group
    cdef address_t group
    cdef int32_t ttl                # of answers to the group, 0 when not asked for
    # The receiver's own:
    cdef bint has_control
    cdef address_t control          # the explicit control address in effect
    cdef int64_t elicit_deadline_ns
    cdef int64_t last_heard_ns      # data, SETUP or RTTM
    cdef int64_t last_unresolved_ns
    cdef int64_t last_failure_ns
    cdef bint has_failed
    cdef bint gives_runs            # whether the last batch had joined datagrams


cdef class TransportSet:
    cdef readonly int64_t receiver_id
    cdef readonly object group_tag
    cdef readonly bint is_multi_destination
    cdef bint is_tagged
    cdef int64_t tag
    # The receiver's own: borrowed transports by index, NULL where there is none.
    cdef void* _slots[MAX_TRANSPORTS]
    cdef int32_t slot_limit         # one above the highest index in use
    cdef int32_t transport_count
    cdef inline void* transport_at(self, int32_t index) noexcept nogil:
        return self._slots[index]
    cdef void attach(self, ReceiveTransport transport) noexcept nogil
    cdef void detach(self, int32_t index) noexcept nogil
