"""Datagrams from one thread to another by batched system calls and nothing else.

What the kernel carries without a driver: no driver that makes the same calls can carry more.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from aerolog.transport.concurrent.atomic cimport (
    cpu_pause,
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.network.port cimport (
    BATCH_LIMIT,
    RECEIVE_BUFFER_LENGTH,
    DatagramPort,
    incoming_t,
    outgoing_t,
)


cdef class Drain:
    """Receives and counts."""

    cdef DatagramPort _port
    cdef incoming_t* _incoming
    cdef uint8_t* _memory
    cdef int32_t _stop
    cdef int64_t _count

    def __init__(self, port: DatagramPort) -> None:
        cdef int index
        self._port = port
        self._incoming = <incoming_t*> calloc(BATCH_LIMIT, sizeof(incoming_t))
        self._memory = <uint8_t*> calloc(BATCH_LIMIT, RECEIVE_BUFFER_LENGTH)
        if self._incoming == NULL or self._memory == NULL:
            raise MemoryError
        for index in range(BATCH_LIMIT):
            self._incoming[index].data = self._memory + <int64_t> index * RECEIVE_BUFFER_LENGTH
            self._incoming[index].capacity = RECEIVE_BUFFER_LENGTH

    def __dealloc__(self) -> None:
        free(self._incoming)
        free(self._memory)

    @property
    def count(self) -> int:
        """Datagrams received so far."""
        return load_acquire_i64(&self._count)

    def run(self) -> None:
        """Until stop is called."""
        cdef int received
        with nogil:
            while load_acquire_i32(&self._stop) == 0:
                received = self._port.receive(self._incoming, BATCH_LIMIT)
                if received > 0:
                    store_release_i64(&self._count, self._count + received)
                else:
                    cpu_pause()

    def stop(self) -> None:
        """Have ``run`` return; from any thread."""
        store_release_i32(&self._stop, 1)


cdef class Flood:
    """Sends datagrams of one length, so many ahead of a drain and no more."""

    cdef DatagramPort _port
    cdef Drain _drain
    cdef outgoing_t* _messages
    cdef uint8_t* _memory
    cdef int64_t _window
    cdef int32_t _stop

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

    def stop(self) -> None:
        """Have ``run`` return; from any thread."""
        store_release_i32(&self._stop, 1)
