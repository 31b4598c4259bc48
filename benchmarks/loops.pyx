"""Native publisher and subscriber loops of the benchmarks; each runs on a thread without the GIL.

Messages are numbered in their first eight bytes; a subscriber stops at the first that is missing,
doubled or out of order. Counts are read by the measuring thread while the loops run.
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
from aerolog.transport.concurrent.clock cimport SystemClock
from aerolog.transport.concurrent.idle cimport IdleStrategy
from aerolog.transport.logbuffer.appender cimport ADMIN_ACTION, Appender
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.logbuffer.log_reader cimport LogReader
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH

cdef int64_t _PATIENCE_NS = 10_000_000_000

include "expectation.pxi"
include "loop.pxi"


cdef class Publisher(Loop):
    """Offers numbered messages as fast as they go.

    Args:
        publication: an exclusive one.
        length: of a message, 8 bytes at least.
    """

    cdef IdleStrategy _idle
    cdef ExclusivePublication _publication
    cdef Appender _appender
    cdef uint8_t* _message
    cdef int64_t _length

    def __init__(
        self, publication: ExclusivePublication, length: int, idle_strategy: IdleStrategy
    ) -> None:
        self._idle = idle_strategy
        self._publication = publication
        self._appender = publication.appender
        self._length = length
        self._message = <uint8_t*> calloc(1, max(length, 8))
        if self._message == NULL:
            raise MemoryError

    def __dealloc__(self) -> None:
        free(self._message)

    def run(self, limit: int = INT64_MAX) -> None:
        """Until stop is called, the publication ends, or so many messages are sent."""
        cdef int64_t number = 0
        cdef int64_t most = limit
        cdef int64_t result
        cdef Appender appender = self._appender
        cdef IdleStrategy idle = self._idle
        with nogil:
            while load_acquire_i32(&self._stop) == 0 and number < most:
                put_i64(self._message, number)
                result = appender.append(self._message, self._length, NULL)
                if result >= 0:
                    idle.reset()
                    number += 1
                    store_release_i64(&self._count, number)
                else:
                    if result < ADMIN_ACTION:
                        break
                    if result != ADMIN_ACTION:
                        idle.idle(0)


cdef class Subscriber(Loop):
    """Polls an image and checks numbers and lengths.

    Args:
        image: to poll.
        length: of each message.
        fragment_limit: per poll.
    """

    cdef IdleStrategy _idle
    cdef Image _image
    cdef LogReader _reader
    cdef int32_t _limit
    cdef expectation_t _expected

    def __init__(
        self, image: Image, length: int, fragment_limit: int, idle_strategy: IdleStrategy
    ) -> None:
        self._idle = idle_strategy
        self._image = image
        self._reader = image.reader
        self._limit = fragment_limit
        self._expected.next_number = 0
        self._expected.length = length
        self._expected.failed = 0

    @property
    def failed(self) -> bool:
        """Whether a message was missing, doubled, out of order or of another length."""
        return self._expected.failed != 0

    def run(self) -> None:
        """Until stop is called, or a message is wrong."""
        cdef LogReader reader = self._reader
        cdef IdleStrategy idle = self._idle
        with nogil:
            while load_acquire_i32(&self._stop) == 0 and not self._expected.failed:
                if reader.poll(_check, &self._expected, self._limit, INT64_MAX, False) > 0:
                    idle.reset()
                    store_release_i64(&self._count, self._expected.next_number)
                else:
                    idle.idle(0)


cdef struct echo_t:
    void* appender
    const int32_t* stop


cdef void _echo(void* context, const fragment_t* fragment) noexcept nogil:
    cdef echo_t* echo = <echo_t*> context
    while load_acquire_i32(echo.stop) == 0:
        if (<Appender> echo.appender).append(
            fragment.frame + DATA_HEADER_LENGTH, fragment.length - DATA_HEADER_LENGTH, NULL
        ) > 0:
            return


cdef class Echo(Loop):
    """Sends back whatever comes."""

    cdef IdleStrategy _idle
    cdef Image _image
    cdef ExclusivePublication _publication

    def __init__(
        self, image: Image, publication: ExclusivePublication, idle_strategy: IdleStrategy
    ) -> None:
        self._image = image
        self._publication = publication
        self._idle = idle_strategy

    def run(self) -> None:
        """Until stop is called."""
        cdef LogReader reader = self._image.reader
        cdef Appender appender = self._publication.appender
        cdef IdleStrategy idle = self._idle
        cdef echo_t echo
        echo.appender = <void*> appender
        echo.stop = &self._stop
        with nogil:
            while load_acquire_i32(&self._stop) == 0:
                idle.idle(reader.poll(_echo, &echo, 10, INT64_MAX, False))


cdef class Caller:
    """Sends numbered messages and waits for each to come back."""

    cdef ExclusivePublication _publication
    cdef Image _image
    cdef uint8_t* _message
    cdef int64_t _length
    cdef expectation_t _expected
    cdef IdleStrategy _idle

    def __init__(
        self,
        publication: ExclusivePublication,
        image: Image,
        length: int,
        idle_strategy: IdleStrategy,
    ) -> None:
        self._idle = idle_strategy
        self._publication = publication
        self._image = image
        self._length = length
        self._expected.next_number = 0
        self._expected.length = length
        self._expected.failed = 0
        self._message = <uint8_t*> calloc(1, max(length, 8))
        if self._message == NULL:
            raise MemoryError

    def __dealloc__(self) -> None:
        free(self._message)

    def run(self, count: int) -> list[int]:
        """Nanoseconds of each of so many round trips.

        Raises:
            RuntimeError: what came back was not what was sent, or nothing came for ten seconds.
        """
        cdef LogReader reader = self._image.reader
        cdef Appender appender = self._publication.appender
        cdef SystemClock clock = SystemClock()
        cdef IdleStrategy idle = self._idle
        cdef int64_t trips = count
        cdef int64_t* times = <int64_t*> calloc(trips, sizeof(int64_t))
        cdef int64_t trip, start, number
        cdef bint late = False
        if times == NULL:
            raise MemoryError
        try:
            with nogil:
                for trip in range(trips):
                    number = self._expected.next_number
                    put_i64(self._message, number)
                    start = clock.nano_time()
                    while appender.append(self._message, self._length, NULL) < 0:
                        late = clock.nano_time() - start > _PATIENCE_NS
                        if late:
                            break
                    while self._expected.next_number == number and not late:
                        if reader.poll(_check, &self._expected, 1, INT64_MAX, False) == 0:
                            idle.idle(0)
                            late = clock.nano_time() - start > _PATIENCE_NS
                    times[trip] = clock.nano_time() - start
                    if late or self._expected.failed:
                        break
            if late or self._expected.failed:
                raise RuntimeError(f"round trip {number} {'did not end' if late else 'is wrong'}")
            return [times[trip] for trip in range(trips)]
        finally:
            free(times)
