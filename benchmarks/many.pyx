"""Loops over many streams at once, each on a thread without the GIL.

Every stream numbers its messages by itself; a subscriber stops at the first that is missing,
doubled or out of order.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from aerolog.transport.client.image cimport Image
from aerolog.transport.client.publication cimport ExclusivePublication
from aerolog.transport.concurrent.atomic cimport (
    get_i64,
    load_acquire_i32,
    load_acquire_i64,
    put_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.idle cimport IdleStrategy
from aerolog.transport.logbuffer.appender cimport Appender
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.logbuffer.log_reader cimport LogReader
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH

include "expectation.pxi"
include "loop.pxi"


cdef class ManyPublisher(Loop):
    """Offers numbered messages to many publications in turn.

    Args:
        publications: exclusive ones.
        length: of a message, 8 bytes at least.
        burst: messages to one publication before the next has its turn.
        idle_strategy: when none of them takes any.
    """

    cdef list _publications
    cdef void** _appenders
    cdef int64_t* _numbers
    cdef int _streams
    cdef int _burst
    cdef int64_t _length
    cdef uint8_t* _message
    cdef IdleStrategy _idle

    def __init__(
        self, publications: list, length: int, burst: int, idle_strategy: IdleStrategy
    ) -> None:
        cdef int index
        self._publications = publications
        self._idle = idle_strategy
        self._streams = len(publications)
        self._burst = burst
        self._length = length
        self._appenders = <void**> calloc(self._streams, sizeof(void*))
        self._numbers = <int64_t*> calloc(self._streams, sizeof(int64_t))
        self._message = <uint8_t*> calloc(1, max(length, 8))
        if self._appenders == NULL or self._numbers == NULL or self._message == NULL:
            raise MemoryError
        for index in range(self._streams):
            self._appenders[index] = <void*> (<ExclusivePublication> publications[index]).appender

    def __dealloc__(self) -> None:
        free(self._appenders)
        free(self._numbers)
        free(self._message)

    def run(self) -> None:
        """Until stop is called."""
        cdef int64_t sent = 0, before
        cdef int index, _turn
        with nogil:
            while load_acquire_i32(&self._stop) == 0:
                before = sent
                for index in range(self._streams):
                    for _turn in range(self._burst):
                        put_i64(self._message, self._numbers[index])
                        if (<Appender> self._appenders[index]).append(
                            self._message, self._length, NULL
                        ) < 0:
                            break
                        self._numbers[index] += 1
                        sent += 1
                if sent > before:
                    store_release_i64(&self._count, sent)
                    self._idle.reset()
                else:
                    self._idle.idle(0)


cdef class ManySubscriber(Loop):
    """Polls many images in turn and checks numbers and lengths.

    Args:
        images: to poll.
        length: of each message.
        fragment_limit: per poll of one image.
        idle_strategy: when none of them has any.
    """

    cdef list _images
    cdef void** _readers
    cdef expectation_t* _expected
    cdef int _streams
    cdef int32_t _limit
    cdef readonly bint failed
    cdef IdleStrategy _idle

    def __init__(
        self, images: list, length: int, fragment_limit: int, idle_strategy: IdleStrategy
    ) -> None:
        cdef int index
        self._images = images
        self._idle = idle_strategy
        self._streams = len(images)
        self._limit = fragment_limit
        self._readers = <void**> calloc(self._streams, sizeof(void*))
        self._expected = <expectation_t*> calloc(self._streams, sizeof(expectation_t))
        if self._readers == NULL or self._expected == NULL:
            raise MemoryError
        for index in range(self._streams):
            self._readers[index] = <void*> (<Image> images[index]).reader
            self._expected[index].length = length

    def __dealloc__(self) -> None:
        free(self._readers)
        free(self._expected)

    def run(self) -> None:
        """Until stop is called, or a message is wrong."""
        cdef int64_t received = 0, before
        cdef int index
        with nogil:
            while load_acquire_i32(&self._stop) == 0 and not self.failed:
                before = received
                for index in range(self._streams):
                    received += (<LogReader> self._readers[index]).poll(
                        _check, &self._expected[index], self._limit, INT64_MAX, False
                    )
                    if self._expected[index].failed:
                        self.failed = True
                if received > before:
                    store_release_i64(&self._count, received)
                    self._idle.reset()
                else:
                    self._idle.idle(0)
