"""A relay between a sender and a receiver of datagrams that drops some by a seed.

Both sides of a comparison go through the same relay with the same seed: the n-th datagram towards
the receiver is dropped or not, whoever sent it. Runs that the kernel joined are counted and cut
datagram by datagram. Answers go back undisturbed.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free

from aerolog.transport.concurrent.atomic cimport (
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
)
from aerolog.transport.concurrent.idle cimport IdleStrategy
from aerolog.transport.network.port cimport (
    BATCH_LIMIT,
    RECEIVE_BUFFER_LENGTH,
    DatagramPort,
    address_t,
    incoming_t,
    outgoing_t,
)

include "incoming.pxi"
include "loop.pxi"


cdef class Relay(Loop):
    """Moves datagrams between two ports.

    Args:
        towards_sender: bound where the sender sends to.
        towards_receiver: connected to the receiver.
        loss: share of the sender's datagrams that are dropped, 0 to 1.
        seed: of the choice.
    """

    cdef DatagramPort _sender_side
    cdef DatagramPort _receiver_side
    cdef IdleStrategy _idle
    cdef uint64_t _state
    cdef uint64_t _threshold
    cdef Incoming _incoming
    cdef address_t _sender

    def __init__(
        self,
        towards_sender: DatagramPort,
        towards_receiver: DatagramPort,
        idle_strategy: IdleStrategy,
        *,
        loss: float,
        seed: int,
    ) -> None:
        self._sender_side = towards_sender
        self._receiver_side = towards_receiver
        self._idle = idle_strategy
        self._state = (seed * 0x9E3779B97F4A7C15 + 1) & 0xFFFFFFFFFFFFFFFF
        self._threshold = <uint64_t> (loss * (1 << 53))
        self._incoming = Incoming()

    def run(self) -> None:
        """Until stop is called."""
        cdef int moved
        with nogil:
            while load_acquire_i32(&self._stop) == 0:
                moved = self._forward() + self._answer()
                if moved > 0:
                    self._idle.reset()
                else:
                    self._idle.idle(0)

    cdef int _forward(self) noexcept nogil:
        cdef int count = self._sender_side.receive(self._incoming.messages, BATCH_LIMIT)
        cdef int index
        for index in range(max(0, count)):
            self._sender = self._incoming.messages[index].source
            self._thin_out(&self._incoming.messages[index])
        return max(0, count)

    cdef void _thin_out(self, const incoming_t* message) noexcept nogil:
        """Send on what is not dropped of one run, in as few pieces as there are gaps."""
        cdef int32_t step = message.segment if message.segment > 0 else message.length
        cdef int32_t offset = 0
        cdef int32_t begin = 0
        cdef int32_t length
        while offset < message.length:
            length = min(step, message.length - offset)
            if self._is_dropped():
                self._send_on(message.data + begin, offset - begin, step)
                begin = offset + length
            offset += length
        self._send_on(message.data + begin, message.length - begin, step)

    cdef bint _is_dropped(self) noexcept nogil:
        # xorshift64*
        self._state ^= self._state >> 12
        self._state ^= self._state << 25
        self._state ^= self._state >> 27
        return (self._state * <uint64_t> 0x2545F4914F6CDD1D) >> 11 < self._threshold

    cdef void _send_on(self, const uint8_t* data, int32_t length, int32_t step) noexcept nogil:
        """Wait for room: what is not dropped by the seed is not dropped here."""
        cdef outgoing_t message
        if length <= 0:
            return
        message.data = data
        message.length = length
        message.segment = step if length > step else 0
        while self._receiver_side.send(&message, 1, NULL) < 1:
            if load_acquire_i32(&self._stop) != 0:
                return
            message.data += self._receiver_side.sent_bytes
            message.length -= <int32_t> self._receiver_side.sent_bytes
            message.segment = step if message.length > step else 0
            if message.length <= 0:
                return

    cdef int _answer(self) noexcept nogil:
        cdef outgoing_t message
        cdef int count = self._receiver_side.receive(self._incoming.messages, BATCH_LIMIT)
        cdef int index
        for index in range(max(0, count)):
            message.data = self._incoming.messages[index].data
            message.length = self._incoming.messages[index].length
            message.segment = (
                self._incoming.messages[index].segment
                if self._incoming.messages[index].length > self._incoming.messages[index].segment
                else 0
            )
            if self._sender.length > 0:
                self._sender_side.send(&message, 1, &self._sender)
        return max(0, count)
