"""A bounded queue from one producer thread to one consumer thread.

Head and tail are on cache lines of their own, each with a copy of the other's last seen value, so
that a thread reads the other thread's line only when the queue looks full or empty.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from posix.stdlib cimport posix_memalign

from aerolog.transport.concurrent.atomic cimport (
    load_acquire_i64,
    load_plain_i64,
    store_release_i64,
)

from aerolog.transport.errors import ConfigurationError

# Offsets of the words in front of the records.
cdef enum:
    TAIL = 0            # next to write; the producer's
    HEAD_SEEN = 8       # the producer's
    HEAD = 128          # next to read; the consumer's
    TAIL_SEEN = 136     # the consumer's
    RECORDS = 256

cdef int64_t _MAX_CAPACITY = 1 << 24


cdef class SpscQueue:
    """A bounded queue of native records.

    Args:
        capacity: number of records, 1 to 2^24, rounded up to a power of two.
    """

    def __cinit__(self, capacity: int) -> None:
        cdef int64_t rounded = 1
        cdef void* memory = NULL
        if not 1 <= capacity <= _MAX_CAPACITY:
            raise ConfigurationError(f"queue capacity must be in 1..{_MAX_CAPACITY}: {capacity}")
        while rounded < capacity:
            rounded *= 2
        if posix_memalign(&memory, 128, RECORDS + rounded * sizeof(record_t)):
            raise MemoryError
        self.capacity = rounded
        self._mask = rounded - 1
        self._memory = <uint8_t*> memory
        self._records = <record_t*> (self._memory + RECORDS)
        for word in (TAIL, HEAD_SEEN, HEAD, TAIL_SEEN):
            store_release_i64(self._memory + <int64_t> word, 0)

    def __dealloc__(self) -> None:
        free(self._memory)

    cdef bint offer(self, const record_t* record) noexcept nogil:
        cdef int64_t tail = load_plain_i64(self._memory + TAIL)
        if tail - load_plain_i64(self._memory + HEAD_SEEN) >= self.capacity:
            # Pairs with the release store in poll: consumed records may be overwritten.
            store_release_i64(self._memory + HEAD_SEEN, load_acquire_i64(self._memory + HEAD))
            if tail - load_plain_i64(self._memory + HEAD_SEEN) >= self.capacity:
                return False
        self._records[tail & self._mask] = record[0]
        store_release_i64(self._memory + TAIL, tail + 1)
        return True

    cdef bint poll(self, record_t* record) noexcept nogil:
        cdef int64_t head = load_plain_i64(self._memory + HEAD)
        if head >= load_plain_i64(self._memory + TAIL_SEEN):
            # Pairs with the release store in offer: the record is complete.
            store_release_i64(self._memory + TAIL_SEEN, load_acquire_i64(self._memory + TAIL))
            if head >= load_plain_i64(self._memory + TAIL_SEEN):
                return False
        record[0] = self._records[head & self._mask]
        store_release_i64(self._memory + HEAD, head + 1)
        return True

    cdef int64_t size(self) noexcept nogil:
        cdef int64_t head = load_acquire_i64(self._memory + HEAD)
        return load_acquire_i64(self._memory + TAIL) - head

    def __len__(self) -> int:
        return self.size()

    def put(self, kind: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> bool:
        """Add a record to the queue; False if the queue is full."""
        cdef record_t record
        record.kind = kind
        record.flags = 0
        record.pointer = NULL
        record.a = a
        record.b = b
        record.c = c
        record.d = d
        return self.offer(&record)

    def get(self) -> tuple[int, int, int, int, int] | None:
        """Remove and return the next record as (kind, a, b, c, d), or None if there is none."""
        cdef record_t record
        if not self.poll(&record):
            return None
        return record.kind, record.a, record.b, record.c, record.d
