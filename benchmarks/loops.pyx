"""Native publisher and subscriber loops of the benchmarks; each runs on a thread without the GIL.

Messages are numbered in their first eight bytes; a subscriber stops at the first that is missing,
doubled or out of order. Counts are read by the measuring thread while the loops run.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from aerolog.transport.client.image cimport Image
from aerolog.transport.client.publication cimport ExclusivePublication
from aerolog.transport.concurrent.atomic cimport (
    cpu_pause,
    get_i64,
    load_acquire_i32,
    load_acquire_i64,
    put_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.logbuffer.appender cimport BACK_PRESSURED, ADMIN_ACTION, Appender
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.logbuffer.reader cimport LogReader
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH

cdef enum:
    CACHE_LINE = 64

cdef struct expectation_t:
    int64_t next_number
    int32_t length
    int32_t failed


cdef void _check(void* context, const fragment_t* fragment) noexcept nogil:
    cdef expectation_t* expected = <expectation_t*> context
    if (
        fragment.length - DATA_HEADER_LENGTH != expected.length
        or get_i64(fragment.frame + DATA_HEADER_LENGTH) != expected.next_number
    ):
        expected.failed = 1
    expected.next_number += 1


cdef class Loop:
    """Count, stop flag and failure of a loop."""

    cdef int64_t _count
    cdef int64_t _idle
    cdef uint8_t[128] _apart
    cdef int32_t _stop

    @property
    def count(self) -> int:
        """Messages so far."""
        return load_acquire_i64(&self._count)

    @property
    def idle_count(self) -> int:
        """Rounds without progress: refused offers, empty polls."""
        return load_acquire_i64(&self._idle)

    def stop(self) -> None:
        """Have the loop return."""
        store_release_i32(&self._stop, 1)


cdef class Publisher(Loop):
    """Offers numbered messages as fast as they go.

    Args:
        publication: an exclusive one.
        length: of a message, 8 bytes at least.
    """

    cdef ExclusivePublication _publication
    cdef Appender _appender
    cdef uint8_t* _message
    cdef int64_t _length

    def __init__(self, publication: ExclusivePublication, length: int) -> None:
        self._publication = publication
        self._appender = publication.appender
        self._length = length
        self._message = <uint8_t*> calloc(1, max(length, 8))
        if self._message == NULL:
            raise MemoryError

    def __dealloc__(self) -> None:
        free(self._message)

    def run(self) -> None:
        """Until stop is called, or the publication ends."""
        cdef int64_t number = 0
        cdef int64_t refused = 0
        cdef int64_t result
        cdef Appender appender = self._appender
        with nogil:
            while load_acquire_i32(&self._stop) == 0:
                put_i64(self._message, number)
                result = appender.append(self._message, self._length, NULL)
                if result >= 0:
                    number += 1
                    store_release_i64(&self._count, number)
                else:
                    refused += 1
                    store_release_i64(&self._idle, refused)
                    if result < ADMIN_ACTION:
                        break
                    cpu_pause()


cdef class Subscriber(Loop):
    """Polls an image and checks numbers and lengths.

    Args:
        image: to poll.
        length: of each message.
        fragment_limit: per poll.
    """

    cdef Image _image
    cdef LogReader _reader
    cdef int32_t _limit
    cdef expectation_t _expected

    def __init__(self, image: Image, length: int, fragment_limit: int = 10) -> None:
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
        cdef int64_t empty = 0
        with nogil:
            while load_acquire_i32(&self._stop) == 0 and not self._expected.failed:
                if reader.poll(_check, &self._expected, self._limit, INT64_MAX, False) > 0:
                    store_release_i64(&self._count, self._expected.next_number)
                else:
                    empty += 1
                    store_release_i64(&self._idle, empty)
                    cpu_pause()
