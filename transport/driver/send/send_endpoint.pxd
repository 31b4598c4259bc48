"""A send channel endpoint: one port and where it sends to (spec wire-protocol 3.1, 5.6, 12)."""

from libc.stdint cimport int64_t

from aerolog.transport.driver.send.send_destinations cimport SendDestinations, sending_t
from aerolog.transport.driver.send.shared_window cimport SharedWindow
from aerolog.transport.network.port cimport DatagramPort, address_t, outgoing_t


cdef class SendEndpoint:
    cdef readonly DatagramPort port
    cdef readonly SendDestinations destinations
    cdef readonly SharedWindow shared   # by all publications here
    cdef readonly bint is_multicast
    cdef readonly bint is_response
    cdef readonly bint is_group         # multicast or multi-destination
    cdef readonly bint needs_resolution
    cdef bint is_connected
    cdef int descriptor                 # for poll(2), -1 when it says nothing of what is there
    cdef address_t peer                 # length 0: none, or not resolved
    cdef int64_t last_heard_ns          # of a status message for a publication here
    cdef int64_t last_failure_ns
    cdef int last_error                 # errno not reported yet, else 0
    cdef address_t last_error_where
    # Send messages; returns the bytes that were taken: whole datagrams, in order, by everybody.
    # `to` is the receiver of a response publication, not looked at for other endpoints.
    cdef int64_t transmit(
        self, const outgoing_t* messages, int count, const address_t* to, int64_t now_ns
    ) noexcept nogil
    # Send to another peer from now on.
    cdef void change_peer(self, const address_t* address, int64_t now_ns) noexcept nogil
    cdef void _note_failure(self, const sending_t* sending, int64_t now_ns) noexcept nogil
