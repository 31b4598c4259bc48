"""The agent that receives, for native code."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.queue cimport record_t
from aerolog.transport.driver.receive.image_intake cimport ImageIntake
from aerolog.transport.driver.receive.receive_endpoint cimport ReceiveEndpoint
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport
from aerolog.transport.driver.receive.reception cimport Reception


cdef class Receiver(Reception):
    cdef object _backlog        # commands that the queue did not take, in order
    cdef dict _held             # what the receiver has, by address
    # Setups wait while the conductor has others to care for: of its time they get a little at
    # once, and half of it in the long run.
    cdef object _setups
    cdef int _setup_count
    cdef int64_t _setup_given_ns    # 0: none is being worked on
    cdef int64_t _setup_credit_ns
    cdef int64_t _credited_ns
    cdef object _half           # the first record of a setup whose second has not come yet
    # For the conductor's clockwork: whether `events` has something to return.
    cdef bint has_events(self) noexcept nogil
    cdef void _update_credit(self, int64_t now_ns) noexcept nogil
    cdef int _take_commands(self) noexcept nogil
    cdef void _execute(self, const record_t* command) noexcept nogil
    cdef void _add_endpoint(self, ReceiveEndpoint endpoint) noexcept nogil
    cdef void _remove_endpoint(self, ReceiveEndpoint endpoint) noexcept nogil
    cdef void _add_subscription(
        self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, bint single
    ) noexcept nogil
    cdef void _elicit_session(
        self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id
    ) noexcept nogil
    cdef void _add_image(self, ImageIntake image) noexcept nogil
    cdef void _remove_image(self, ImageIntake image) noexcept nogil
    cdef void _add_destination(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    cdef void _remove_destination(
        self, ReceiveEndpoint endpoint, ReceiveTransport transport
    ) noexcept nogil
    cdef void _tell(self, int32_t kind, void* pointer, void* other) noexcept nogil
    cdef bint _offer(self, object command)
    cdef object _event(self, const record_t* record)
