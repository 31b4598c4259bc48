"""Destinations of a multi-destination send endpoint (spec wire-protocol 12); the sender's."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.network.port cimport DatagramPort, address_t, outgoing_t

cdef enum:
    # Destinations of one endpoint; more are not let in, so that forged status messages cost a
    # bounded amount of work and memory.
    MAX_DESTINATIONS = 1024

ctypedef struct destination_t:
    address_t address           # length 0: not resolved yet
    int64_t registration_id     # of a manual one, else -1
    int64_t receiver_id
    int64_t last_heard_ns
    bint has_receiver_id

# What a send came to: bytes that everybody took, and what went wrong with whom.
ctypedef struct sending_t:
    int64_t bytes
    int error                   # errno of a refusal to be reported, else 0
    address_t where             # of that refusal; length 0: the connected peer


cdef class SendDestinations:
    cdef readonly int mode
    cdef int32_t count
    cdef destination_t* _items
    cdef int32_t _capacity
    cdef int32_t _next_first
    cdef int64_t* _counter
    cdef CountersReader _counters
    # To every destination, the first one changing from send to send.
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
    cdef void remove_by_address(self, const address_t* address) noexcept nogil
    cdef void change(
        self, int64_t registration_id, const address_t* address, int64_t now_ns
    ) noexcept nogil
    # Registration id of a manual destination from `first` on that was not heard of for 5 s, whose
    # index goes to *found; -1 when there is none.
    cdef int64_t silent(self, int32_t first, int64_t now_ns, int32_t* found) noexcept nogil
    cdef bint _grow(self) noexcept nogil
    cdef void _remove_at(self, int32_t index) noexcept nogil
    cdef void _expire(self, int64_t now_ns) noexcept nogil
    cdef bint _matches(
        self, const destination_t* item, int64_t receiver_id, const address_t* source
    ) noexcept nogil
