"""Datagrams from one thread to another by batched system calls and nothing else.

What the kernel carries without a driver: no driver that makes the same calls can carry more.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from posix.time cimport nanosleep, timespec

from aerolog.transport.concurrent.atomic cimport (
    cpu_pause,
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock, SystemClock
from aerolog.transport.network.port cimport (
    BATCH_LIMIT,
    RECEIVE_BUFFER_LENGTH,
    DatagramPort,
    incoming_t,
    outgoing_t,
)

include "incoming.pxi"
include "loop.pxi"


cdef class Drain(Loop):
    """Receives and counts datagrams."""

    cdef DatagramPort _port
    cdef Incoming _incoming

    def __init__(self, port: DatagramPort) -> None:
        self._port = port
        self._incoming = Incoming()

    def run(self) -> None:
        """Until stop is called."""
        cdef int received
        with nogil:
            while load_acquire_i32(&self._stop) == 0:
                received = self._port.receive(self._incoming.messages, BATCH_LIMIT)
                if received > 0:
                    store_release_i64(&self._count, self._count + received)
                else:
                    cpu_pause()


cdef class Flood(Loop):
    """Sends datagrams of one length, so many ahead of a drain and no more."""

    cdef DatagramPort _port
    cdef Drain _drain
    cdef outgoing_t* _messages
    cdef uint8_t* _memory
    cdef int64_t _window

    def __init__(self, port: DatagramPort, drain: Drain, *, length: int, window: int) -> None:
        cdef int index
        self._port, self._drain, self._window = port, drain, window // length
        self._messages = <outgoing_t*> calloc(BATCH_LIMIT, sizeof(outgoing_t))
        self._memory = <uint8_t*> calloc(BATCH_LIMIT, length)
        if self._messages == NULL or self._memory == NULL:
            raise MemoryError
        for index in range(BATCH_LIMIT):
            self._messages[index].data = self._memory + index * <int64_t> length
            self._messages[index].length = length

    def __dealloc__(self) -> None:
        free(self._messages)
        free(self._memory)

    def run(self) -> None:
        """Until stop is called."""
        cdef int64_t sent = 0
        cdef int64_t room
        with nogil:
            while load_acquire_i32(&self._stop) == 0:
                room = self._window - (sent - load_acquire_i64(&self._drain._count))
                if room >= BATCH_LIMIT:
                    sent += max(0, self._port.send(self._messages, BATCH_LIMIT, NULL))
                else:
                    cpu_pause()


cdef class Beat:
    """Sends small datagrams at a steady rate, and takes what comes on another port meanwhile.

    Args:
        sending: connected to who listens.
        receiving: what comes here is read and dropped.
        length: of each datagram.
        each_turn: datagrams a turn, BATCH_LIMIT at most.
        interval_ns: from turn to turn.
    """

    cdef DatagramPort _sending
    cdef DatagramPort _receiving
    cdef outgoing_t* _messages
    cdef Incoming _incoming
    cdef uint8_t* _memory
    cdef int64_t _interval_ns
    cdef int32_t _each_turn
    cdef readonly int64_t received

    def __init__(
        self,
        sending: DatagramPort,
        receiving: DatagramPort,
        *,
        length: int,
        each_turn: int,
        interval_ns: int,
    ) -> None:
        cdef int index
        if not 0 < length <= 1408 or not 0 < each_turn <= BATCH_LIMIT:
            raise ValueError(f"length {length}, each_turn {each_turn}")
        self._sending, self._receiving = sending, receiving
        self._each_turn, self._interval_ns = each_turn, interval_ns
        self._messages = <outgoing_t*> calloc(BATCH_LIMIT, sizeof(outgoing_t))
        self._incoming = Incoming()
        self._memory = <uint8_t*> calloc(1, RECEIVE_BUFFER_LENGTH)
        if self._messages == NULL or self._memory == NULL:
            raise MemoryError
        for index in range(BATCH_LIMIT):
            self._messages[index].data = self._memory
            self._messages[index].length = length

    def __dealloc__(self) -> None:
        free(self._messages)
        free(self._memory)

    def run(self, seconds: float) -> None:
        """For so long."""
        cdef Clock clock = SystemClock()
        cdef int64_t due_ns = clock.nano_time()
        cdef int64_t end_ns = due_ns + <int64_t> (seconds * 1e9)
        cdef int64_t left_ns
        cdef int taken
        cdef timespec pause
        pause.tv_sec = 0
        with nogil:
            while due_ns < end_ns:
                self._sending.send(self._messages, self._each_turn, NULL)
                taken = BATCH_LIMIT
                while taken == BATCH_LIMIT:
                    taken = self._receiving.receive(self._incoming.messages, BATCH_LIMIT)
                    self.received += max(0, taken)
                due_ns += self._interval_ns
                left_ns = due_ns - clock.nano_time()
                if left_ns > 0:
                    pause.tv_nsec = left_ns
                    nanosleep(&pause, NULL)
