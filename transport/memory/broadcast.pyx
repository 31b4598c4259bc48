"""The broadcast buffer that carries the driver's messages to all clients (spec cnc-and-commands 4).

One thread writes and never waits. Each of any number of readers has its own receiver, which copies
messages out and detects when the writer has lapped it. A trailer follows the data:

    trailer +0 tail intent, +8 tail, +16 start of the latest record

    record: i32 length (with this header), i32 type, message; at multiples of 8
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    fence_acquire,
    fence_release,
    load_acquire_i64,
    load_plain_i32,
    load_plain_i64,
    store_plain_i32,
    store_release_i64,
)
from aerolog.transport.memory.mapped_file cimport MappedFile
from aerolog.transport.memory.records cimport (
    ALIGNMENT,
    HEADER,
    PADDING_TYPE,
    TYPE_AT,
    align_record,
)

from aerolog.transport.errors import BroadcastLappedError, FileFormatError

cdef enum:
    INTENT_AT = 0
    TAIL_AT = 8
    LATEST_AT = 16
    TRAILER = 128

TRAILER_LENGTH = TRAILER
HEADER_LENGTH = HEADER


cdef int64_t _capacity(MappedFile mapped, int64_t offset, int64_t length) except -1:
    cdef int64_t capacity = length - TRAILER
    if capacity < 64 or capacity & (capacity - 1) or offset % ALIGNMENT:
        raise FileFormatError(
            f"no broadcast buffer at offset {offset} with length={length}: it must be a power of "
            f"two + {TRAILER}"
        )
    mapped.section(offset, length)
    return capacity


cdef class BroadcastTransmitter:
    """The only writer of a broadcast buffer.

    Args:
        mapped: the file that holds the buffer.
        offset: offset of the buffer in the file, a multiple of 8.
        length: bytes of the buffer with its trailer; -1 for the rest of the file.
    """

    def __cinit__(self, MappedFile mapped not None, int64_t offset=0, int64_t length=-1):
        mapped.check_writable()
        self.capacity = _capacity(mapped, offset, mapped.length - offset if length < 0 else length)
        self._data = mapped.address + offset
        self._trailer = self._data + self.capacity
        self._mapped = mapped
        self.max_message_length = <int32_t> (self.capacity // 8)

    cdef bint transmit(self, int32_t type_id, const void* message, int32_t length) noexcept nogil:
        """Send a message; False if it is too long or its type id is below 1."""
        if type_id < 1 or length < 0 or length > self.max_message_length:
            return False
        # The mask keeps the tail aligned even if another process has overwritten it.
        cdef int64_t tail = load_plain_i64(self._trailer + TAIL_AT) & ~<int64_t> (ALIGNMENT - 1)
        cdef int64_t offset = tail & (self.capacity - 1)
        cdef int64_t required = align_record(length + HEADER)
        cdef int64_t to_end = self.capacity - offset
        cdef bint wraps = to_end < required
        store_release_i64(
            self._trailer + INTENT_AT, tail + required + (to_end if wraps else 0)
        )
        fence_release()
        if wraps:
            store_plain_i32(self._data + offset, <int32_t> to_end)
            store_plain_i32(self._data + offset + TYPE_AT, PADDING_TYPE)
            tail += to_end
            offset = 0
        store_plain_i32(self._data + offset, length + HEADER)
        store_plain_i32(self._data + offset + TYPE_AT, type_id)
        if length > 0:
            memcpy(self._data + offset + HEADER, message, length)
        store_release_i64(self._trailer + LATEST_AT, tail)
        store_release_i64(self._trailer + TAIL_AT, tail + required)
        return True

    def send(self, type_id: int, message) -> None:
        """Send a message to all readers.

        Raises:
            ValueError: if the type id is below 1 or the message is longer than
                ``max_message_length``.
        """
        cdef const uint8_t[::1] source = memoryview(message).cast("B")
        cdef int64_t length = source.shape[0]
        if length > self.max_message_length or type_id < 1:
            raise ValueError(
                f"type id {type_id} must be greater than 0 and message length {length} at most "
                f"{self.max_message_length}"
            )
        self.transmit(type_id, &source[0] if length else NULL, <int32_t> length)


cdef class BroadcastReceiver:
    """One reader of a broadcast buffer; it starts at the latest message.

    Args:
        mapped: the file that holds the buffer.
        offset: offset of the buffer in the file, a multiple of 8.
        length: bytes of the buffer with its trailer; -1 for the rest of the file.

    Attributes:
        lapped_count: how many times this reader lost messages because it was too slow.
    """

    def __cinit__(self, MappedFile mapped not None, int64_t offset=0, int64_t length=-1):
        self.capacity = _capacity(mapped, offset, mapped.length - offset if length < 0 else length)
        self._data = mapped.address + offset
        self._trailer = self._data + self.capacity
        self._mapped = mapped
        self._max_message_length = <int32_t> (self.capacity // 8)
        self.message = <uint8_t*> malloc(self._max_message_length)
        if self.message == NULL:
            raise MemoryError
        self._next = load_acquire_i64(self._trailer + LATEST_AT)
        self._cursor = self._next

    def __dealloc__(self):
        free(self.message)

    cdef bint has_message(self) noexcept nogil:
        """Whether the writer has sent something that this reader has not received."""
        return load_acquire_i64(self._trailer + TAIL_AT) > self._next

    cdef bint _valid(self) noexcept nogil:
        return self._cursor + self.capacity > load_acquire_i64(self._trailer + INTENT_AT)

    cdef int _lapped(self) noexcept nogil:
        """Continue with the newest message; all earlier ones are lost."""
        self.lapped_count += 1
        self._next = load_acquire_i64(self._trailer + TAIL_AT)
        return BROADCAST_LAPPED

    cdef int receive(self) noexcept nogil:
        """Copy the next message to ``type_id``, ``message`` and ``length``.

        Returns BROADCAST_MESSAGE, BROADCAST_NOTHING, or BROADCAST_LAPPED if messages were lost or
        the buffer is damaged; then the reader continues with the next message sent.
        """
        cdef int64_t tail = load_acquire_i64(self._trailer + TAIL_AT)
        cdef int64_t offset
        cdef int32_t length, type_id
        if tail <= self._next:
            return BROADCAST_NOTHING
        self._cursor = self._next
        while True:
            if not self._valid():
                return self._lapped()
            offset = self._cursor & (self.capacity - 1)
            if offset & (ALIGNMENT - 1):
                return self._lapped()
            length = load_plain_i32(self._data + offset)
            type_id = load_plain_i32(self._data + offset + TYPE_AT)
            if length < HEADER or length > self.capacity - offset:
                return self._lapped()
            self._next = self._cursor + align_record(length)
            if type_id != PADDING_TYPE:
                break
            # Padding only fills the end of the buffer, and a message follows it.
            if offset == 0:
                return self._lapped()
            self._cursor = self._next
        if length - HEADER > self._max_message_length:
            return self._lapped()
        memcpy(self.message, self._data + offset + HEADER, length - HEADER)
        fence_acquire()
        if not self._valid():
            return self._lapped()
        self.type_id = type_id
        self.length = length - HEADER
        return BROADCAST_MESSAGE

    def receive_next(self) -> tuple[int, bytes] | None:
        """Return the next message as (type id, bytes), or None if there is none.

        Raises:
            BroadcastLappedError: if messages were lost, after which a client cannot continue.
        """
        cdef int result
        with nogil:
            result = self.receive()
        if result == BROADCAST_NOTHING:
            return None
        if result == BROADCAST_LAPPED:
            raise BroadcastLappedError("unable to keep up with broadcast")
        return self.type_id, PyBytes_FromStringAndSize(<const char*> self.message, self.length)
