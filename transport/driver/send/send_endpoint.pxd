"""A send channel endpoint: one port and its destinations (spec wire-protocol 3.1, 5.6, 7, 12).

Several publications share an endpoint and its window. The conductor makes it and closes its port;
in between only the sender uses it.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.network.port cimport DatagramPort, address_t, outgoing_t


cpdef enum:
    SHARED_PERIOD_NS = 10_000_000
    SHARED_JUDGED_NS = 100_000_000      # the time after which the limit is judged and may be cut
    SHARED_START = 1024 * 1024          # the limit at first, in bytes in flight
    SHARED_LEAST = 256 * 1024
    SHARED_MOST = 1 << 30
    RESEND_FLOOR = 4 * 1024 * 1024      # bytes that may be sent again in any period


cdef class SharedWindow:
    cdef readonly int64_t in_flight     # bytes sent and not consumed, as receivers report
    cdef readonly int64_t longest       # the widest window of a stream
    cdef int64_t _limit                 # of in_flight
    cdef int64_t _period_end_ns
    cdef int64_t _judged_at_ns
    cdef int64_t _overflowed_at         # the limit when it was last cut, 0 for never
    cdef int64_t _peak                  # of in_flight in this period
    cdef int64_t _sent                  # in this period, for the first time
    cdef int64_t _granted               # in this period, to be sent again
    cdef int64_t _consumed              # in this period
    cdef int64_t _granted_since         # the limit was judged
    cdef int64_t _consumed_since
    cdef int64_t _peak_since
    # Bytes that a stream may send now, 0 or less for none. Once in a cycle for each stream.
    cdef int64_t room(self, int64_t now_ns) noexcept nogil
    cdef void sent(self, int64_t length) noexcept nogil
    # Receivers have consumed bytes in flight of a stream with such a window.
    cdef void consumed(self, int64_t length, int64_t window) noexcept nogil
    # A stream gives up bytes in flight, because it has no receivers any more.
    cdef void forget(self, int64_t length) noexcept nogil
    # Whether so much may be sent again now. The longest retransmission always fits a period.
    cdef bint grant(self, int64_t length, int64_t longest, int64_t now_ns) noexcept nogil
    cdef int64_t _current(self) noexcept nogil
    cdef int64_t _growth(self) noexcept nogil
    cdef void _judge(self) noexcept nogil
    cdef void _next_period(self, int64_t now_ns) noexcept nogil


cdef enum:
    # The number of destinations of one endpoint; further ones are not admitted, so that forged
    # status messages cost a bounded amount of work and memory.
    MAX_DESTINATIONS = 1024

ctypedef struct destination_t:
    address_t address           # length 0: not resolved yet
    int64_t registration_id     # of a manual one, else -1
    int64_t receiver_id
    int64_t last_heard_ns
    bint has_receiver_id

# The result of a send: bytes that all destinations took, and the failure that was found.
ctypedef struct sending_t:
    int64_t bytes
    int error                   # errno of a refusal to be reported, else 0
    address_t where             # the destination that refused; length 0: the connected peer


cdef class SendDestinations:
    cdef readonly int mode
    cdef int32_t count
    cdef destination_t* _items
    cdef int32_t _capacity
    cdef int32_t _next_first
    cdef int64_t* _counter
    cdef CountersReader _counters
    # Sends to every destination, each time beginning with another one.
    cdef void send(
        self,
        DatagramPort port,
        const outgoing_t* messages,
        int count,
        int64_t length,
        int64_t now_ns,
        sending_t* sending,
    ) noexcept nogil
    cdef void on_status_message(
        self, int64_t receiver_id, const address_t* source, int64_t now_ns
    ) noexcept nogil
    # Registration id of the manual destination that a receiver's frame came from, else -1.
    cdef int64_t find(self, int64_t receiver_id, const address_t* source) noexcept nogil
    # False without memory: the caller keeps the command.
    cdef bint add(
        self, int64_t registration_id, const address_t* address, int64_t now_ns
    ) noexcept nogil
    cdef void remove(self, int64_t registration_id) noexcept nogil
    cdef void change(
        self, int64_t registration_id, const address_t* address, int64_t now_ns
    ) noexcept nogil
    # Registration id of a manual destination, from index `first` on, that was silent for 5 s, whose
    # index is written to *found; -1 when there is none.
    cdef int64_t silent(self, int32_t first, int64_t now_ns, int32_t* found) noexcept nogil
    cdef bint _grow(self) noexcept nogil
    cdef void _remove_at(self, int32_t index) noexcept nogil
    cdef void _expire(self, int64_t now_ns) noexcept nogil
    cdef bint _matches(
        self, const destination_t* item, int64_t receiver_id, const address_t* source
    ) noexcept nogil


cdef class SendEndpoint:
    cdef readonly DatagramPort port
    cdef readonly SendDestinations destinations
    cdef readonly SharedWindow shared   # the window of all publications of this endpoint
    cdef readonly bint is_multicast
    cdef readonly bint is_response
    cdef readonly bint is_group         # multicast or multi-destination
    cdef readonly bint needs_resolution
    cdef bint is_connected
    cdef int descriptor                 # for poll(2), -1 when polling it does not show all input
    cdef address_t peer                 # length 0: none, or not resolved
    cdef int64_t last_heard_ns          # of a status message for a publication here
    cdef int64_t last_failure_ns
    cdef int last_error                 # errno not reported yet, else 0
    cdef address_t last_error_where
    # Sends messages; returns the bytes that all destinations took: whole datagrams, in order.
    # `to` is the receiver of a response publication, ignored by other endpoints.
    cdef int64_t transmit(
        self, const outgoing_t* messages, int count, const address_t* to, int64_t now_ns
    ) noexcept nogil
    # Sends to another peer from now on.
    cdef void change_peer(self, const address_t* address, int64_t now_ns) noexcept nogil
    cdef void _note_failure(self, const sending_t* sending, int64_t now_ns) noexcept nogil
