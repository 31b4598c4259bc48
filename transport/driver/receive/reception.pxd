"""The receiver's data path: ports drained, datagrams given to images (spec wire-protocol 8)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.driver.receive.image_intake cimport ImageIntake
from aerolog.transport.driver.receive.receive_endpoint cimport ReceiveEndpoint
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport
from aerolog.transport.driver.receive.receiver_transports cimport ReceiverTransports
from aerolog.transport.protocol.frames cimport setup_t
from aerolog.transport.network.port cimport BATCH_LIMIT, address_t, incoming_t


cdef class Reception(ReceiverTransports):
    cdef uint8_t* _buffers
    cdef incoming_t _incoming[BATCH_LIMIT]
    cdef void** _images
    cdef int _image_count
    cdef int _image_capacity
    cdef void* _latest_image        # whose high-water mark is still to be published
    # The part of a cycle that datagrams and time make; commands come before it.
    cdef int turn(self) noexcept nogil
    cdef bint hold_image(self, ImageIntake image) noexcept nogil
    cdef bint drop_image(self, ImageIntake image) noexcept nogil
    cdef void _show_progress(self, void* next_image) noexcept nogil
    cdef int _drain(self, ReceiveEndpoint endpoint, ReceiveTransport transport) noexcept nogil
    cdef void _on_message(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const incoming_t* message,
        int64_t epoch_ns,
    ) noexcept nogil
    cdef void _on_datagram(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        uint8_t* data,
        int32_t length,
        const address_t* source,
        int64_t epoch_ns,
        int64_t media_ns,
    ) noexcept nogil
    cdef void _on_data(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        uint8_t* data,
        int32_t length,
        const address_t* source,
        int64_t epoch_ns,
        int64_t media_ns,
    ) noexcept nogil
    cdef void _on_setup(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil
    cdef void _ask_for_image(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const setup_t* setup,
        const address_t* source,
    ) noexcept nogil
    cdef void _tell_limit(
        self, ReceiveEndpoint endpoint, int32_t stream_id, const address_t* source
    ) noexcept nogil
    cdef void _on_rttm(
        self,
        ReceiveEndpoint endpoint,
        ReceiveTransport transport,
        const uint8_t* data,
        int32_t length,
        const address_t* source,
    ) noexcept nogil
    cdef int _work_images(self) noexcept nogil
    cdef void _time_out(self, ImageIntake image) noexcept nogil
    cdef void _drop_image_at(self, int index) noexcept nogil
