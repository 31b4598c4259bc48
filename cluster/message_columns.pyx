"""Copies of messages of sessions: a sequence that has columns as well (spec cluster 8, 11)."""

import importlib
import operator

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cdef enum:
    FIRST_ROOM = 16
    FIRST_BYTES = 4096


cdef class MessageColumns:
    """The base of batches of messages, which says what a message of theirs is as an object.

    The bytes of all messages are behind each other in `data`, so that messages of one length are an
    array: ``numpy.frombuffer(batch.data, dtype)``. A batch keeps copies and may be kept.
    """

    def __dealloc__(self) -> None:
        free(self.entries)
        free(self._bytes)

    cdef bint copy(
        self, const entry_t* entry, const uint8_t* data, int64_t length
    ) noexcept nogil:
        cdef void* larger
        cdef int64_t room
        if self.count == self._room:
            room = max(<int64_t> FIRST_ROOM, 2 * <int64_t> self._room)
            larger = realloc(self.entries, room * sizeof(entry_t))
            if larger == NULL:
                return False
            self.entries = <entry_t*> larger
            self._room = <int32_t> room
        if self._length + length > self._byte_room:
            room = max(self._length + length, 2 * self._byte_room, <int64_t> FIRST_BYTES)
            larger = realloc(self._bytes, room)
            if larger == NULL:
                return False
            self._bytes = <uint8_t*> larger
            self._byte_room = room
        if length > 0:  # without a payload yet there is no memory to copy to
            memcpy(self._bytes + self._length, data, length)
        self._length += length
        self.entries[self.count] = entry[0]
        self.entries[self.count].end = self._length
        self.count += 1
        return True

    cdef int copy_from(self, MessageColumns other, int32_t first) except -1:
        """Copy the messages of another batch, from one on."""
        cdef int64_t begin = other.entries[first - 1].end if first > 0 else 0
        cdef int32_t index
        for index in range(first, other.count):
            if not self.copy(
                &other.entries[index], other._bytes + begin, other.entries[index].end - begin
            ):
                raise MemoryError("no memory for a batch of messages")
            begin = other.entries[index].end
        return 0

    # -- as a sequence ---------------------------------------------------------------------------

    cdef bytes payload(self, int32_t index):
        """The bytes of a message."""
        cdef int64_t begin = self.entries[index - 1].end if index > 0 else 0
        return PyBytes_FromStringAndSize(
            <char*> self._bytes + begin, self.entries[index].end - begin
        )

    cdef object message(self, int32_t index):
        """The message as an object, whose type the batch determines."""
        return self.payload(index)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Any]:
        cdef int32_t index
        for index in range(self.count):
            yield self.message(index)

    def __getitem__(self, where: int | slice) -> Any:
        cdef int64_t index
        if isinstance(where, slice):
            return [self.message(each) for each in range(*where.indices(self.count))]
        index = operator.index(where)
        if index < 0:
            index += self.count
        if not 0 <= index < self.count:
            raise IndexError(f"message {where} of a batch of {self.count}")
        return self.message(<int32_t> index)

    # -- as columns ------------------------------------------------------------------------------

    @property
    def data(self) -> memoryview:
        """The bytes of all messages, one behind the other, read-only."""
        return memoryview(_BatchBytes(self))

    @property
    def ends(self) -> object:
        """Where each message ends in `data`: a NumPy array of int64."""
        return self._column(&self.entries[0].end if self.count else NULL)

    @property
    def session_ids(self) -> object:
        """Ids of the sessions, negative for services: a NumPy array of int64."""
        return self._column(&self.entries[0].session_id if self.count else NULL)

    @property
    def leadership_term_ids(self) -> object:
        """Terms of the leaders that sent or appended the messages: a NumPy array of int64."""
        return self._column(&self.entries[0].term_id if self.count else NULL)

    @property
    def timestamps(self) -> object:
        """The cluster's times of the messages, in its time unit: a NumPy array of int64."""
        return self._column(&self.entries[0].timestamp if self.count else NULL)

    @property
    def positions(self) -> object:
        """The positions behind the messages in their stream: a NumPy array of int64."""
        return self._column(&self.entries[0].position if self.count else NULL)

    cdef object _column(self, int64_t* first):
        numpy = importlib.import_module("numpy")
        column = numpy.empty(self.count, numpy.int64)
        cdef int64_t[::1] values = column
        cdef int32_t index
        for index in range(self.count):
            values[index] = (<int64_t*> (<char*> first + index * sizeof(entry_t)))[0]
        return column

    def to_arrow(self) -> object:
        """Return an Arrow record batch: session_id, timestamp, position, payload (binary)."""
        arrow = importlib.import_module("pyarrow")
        numpy = importlib.import_module("numpy")
        offsets = numpy.concatenate(([0], self.ends)).astype(numpy.int64)
        payload = arrow.Array.from_buffers(
            arrow.large_binary(),
            self.count,
            [None, arrow.py_buffer(offsets), arrow.py_buffer(self.data)],
        )
        return arrow.record_batch(
            [self.session_ids, self.timestamps, self.positions, payload],
            names=["session_id", "timestamp", "position", "payload"],
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.count} messages, {self._length} bytes>"


cdef class _BatchBytes:
    """The bytes of a batch, which live as long as a view of them."""

    cdef MessageColumns _batch
    cdef uint8_t _nothing[1]

    def __cinit__(self, MessageColumns batch not None) -> None:
        self._batch = batch

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        # A batch without bytes has no memory, and nobody may be given an address of NULL.
        cdef void* address = self._batch._bytes if self._batch._bytes != NULL else self._nothing
        PyBuffer_FillInfo(buffer, self, address, self._batch._length, 1, flags)
