"""The many-to-one ring buffer that carries commands to the driver (spec cnc-and-commands 3).

Any thread of any process may write; one thread reads. The data is followed by a trailer of
counters, each in a pair of cache lines of its own:

    trailer +128 tail, +256 head cache, +384 head, +512 correlation ids, +640 consumer heartbeat

    record: i32 length (with this header; negative while it is written), i32 type, message; at
    multiples of 8. The space of read records is zeroed before the head moves past it.

No value in the buffer is trusted: positions are masked to the buffer and the alignment, and lengths
are checked against the space that is left before they are used.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from aerolog.transport.concurrent.atomic cimport (
    cas_i64,
    fence_release,
    get_and_add_i64,
    load_acquire_i32,
    load_acquire_i64,
    load_plain_i64,
    store_plain_i32,
    store_release_i32,
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

from enum import IntEnum

from aerolog.transport.errors import FileFormatError

cdef enum:
    TAIL_AT = 128
    HEAD_CACHE_AT = 256
    HEAD_AT = 384
    CORRELATION_AT = 512
    HEARTBEAT_AT = 640
    TRAILER = 768

TRAILER_LENGTH = TRAILER
HEADER_LENGTH = HEADER


class RingAction(IntEnum):
    """What ``read`` does after its handler returns; None means CONTINUE."""

    CONTINUE = RING_CONTINUE
    ABORT = RING_ABORT
    BREAK = RING_BREAK
    COMMIT = RING_COMMIT


cdef class ManyToOneRingBuffer:
    """A ring buffer in a section of a mapped file.

    Args:
        mapped: the file that holds the buffer.
        offset: offset of the buffer in the file, a multiple of 8.
        length: bytes of the buffer with its trailer; -1 for the rest of the file.

    Attributes:
        capacity: bytes of data, without the trailer.
        max_message_length: longest message, an eighth of the capacity.
        corruption_count: how many times this reader had to drop corrupt records.
    """

    def __cinit__(self, MappedFile mapped not None, int64_t offset=0, int64_t length=-1):
        if length < 0:
            length = mapped.length - offset
        cdef int64_t capacity = length - TRAILER
        if capacity < 64 or capacity & (capacity - 1) or offset % ALIGNMENT:
            raise FileFormatError(
                f"no ring buffer at offset {offset} with length={length}: it must be a power of "
                f"two + {TRAILER}"
            )
        self._data = mapped.section(offset, length)
        self._trailer = self._data + capacity
        self._mapped = mapped
        self.capacity = capacity
        self.max_message_length = <int32_t> (capacity // 8)

    # Producers: any thread of any process.

    cdef int64_t claim(self, int32_t type_id, int32_t length) noexcept nogil:
        """Claim space for a message; fill it at ``claimed(index)``, then commit or abort.

        Returns the index of the record, or a negative ring_status.
        """
        if type_id < 1 or length < 0 or length > self.max_message_length:
            return RING_INVALID_ARGUMENT
        cdef int64_t index = self._claim_space(align_record(length + HEADER))
        if index >= 0:
            store_release_i32(self._data + index, -(length + HEADER))
            fence_release()
            store_plain_i32(self._data + index + TYPE_AT, type_id)
        return index

    cdef uint8_t* claimed(self, int64_t index) noexcept nogil:
        """Address at which the message of a claim is to be written."""
        return self._data + index + HEADER

    cdef bint commit_claim(self, int64_t index) noexcept nogil:
        """Make a claimed record visible to the reader; False if the index is no open claim."""
        cdef int32_t length = load_acquire_i32(self._data + index)
        if length >= 0:
            return False
        store_release_i32(self._data + index, -length)
        return True

    cdef bint abort_claim(self, int64_t index) noexcept nogil:
        """Turn a claimed record into padding; False if the index is no open claim."""
        cdef int32_t length = load_acquire_i32(self._data + index)
        if length >= 0:
            return False
        store_plain_i32(self._data + index + TYPE_AT, PADDING_TYPE)
        store_release_i32(self._data + index, -length)
        return True

    cdef int64_t put(self, int32_t type_id, const void* message, int32_t length) noexcept nogil:
        """Write a whole message; returns its index or a negative ring_status."""
        cdef int64_t index = self.claim(type_id, length)
        if index >= 0:
            if length > 0:
                memcpy(self._data + index + HEADER, message, length)
            store_release_i32(self._data + index, length + HEADER)
        return index

    cdef int64_t _claim_space(self, int64_t required) noexcept nogil:
        cdef int64_t mask = self.capacity - 1
        cdef int64_t head = load_acquire_i64(self._trailer + HEAD_CACHE_AT)
        cdef int64_t tail, tail_index, index, to_end, padding, next_tail
        while True:
            tail = load_acquire_i64(self._trailer + TAIL_AT)
            if tail & (ALIGNMENT - 1):
                return RING_CORRUPT
            if required > self.capacity - (tail - head):
                head = load_acquire_i64(self._trailer + HEAD_AT)
                if required > self.capacity - (tail - head):
                    return RING_INSUFFICIENT_CAPACITY
                store_release_i64(self._trailer + HEAD_CACHE_AT, head)
            padding = 0
            tail_index = tail & mask
            index = tail_index
            to_end = self.capacity - tail_index
            next_tail = tail + required
            if required > to_end:
                index = 0
                next_tail += to_end
                if required > (head & mask):
                    head = load_acquire_i64(self._trailer + HEAD_AT)
                    if required > (head & mask):
                        # As in the reference, the end is padded, so that the reader gets past it.
                        index = RING_INSUFFICIENT_CAPACITY
                        next_tail = tail + to_end
                    store_release_i64(self._trailer + HEAD_CACHE_AT, head)
                padding = to_end
            if cas_i64(self._trailer + TAIL_AT, tail, next_tail):
                break
        if padding:
            store_release_i32(self._data + tail_index, <int32_t> -padding)
            fence_release()
            store_plain_i32(self._data + tail_index + TYPE_AT, PADDING_TYPE)
            store_release_i32(self._data + tail_index, <int32_t> padding)
        return index

    # The consumer: one thread.

    cdef bint has_message(self) noexcept nogil:
        """Whether a record (or padding) is ready at the head."""
        cdef int64_t head = load_plain_i64(self._trailer + HEAD_AT)
        if load_acquire_i32(self._data + self._index_of(head)) <= 0:
            return False
        return load_acquire_i64(self._trailer + TAIL_AT) > head

    cdef int drain(self, ring_handler_t handler, void* context, int limit) noexcept nogil:
        """Pass at most ``limit`` messages to a native handler; returns how many it took."""
        cdef int64_t head = load_plain_i64(self._trailer + HEAD_AT)
        cdef int64_t index = self._index_of(head)
        # Nothing behind the tail was ever claimed, so it is no record, whatever its bytes are.
        cdef int64_t claimed = load_acquire_i64(self._trailer + TAIL_AT) - head
        cdef int64_t block = min(self.capacity - index, claimed)
        cdef int64_t done = 0
        cdef int32_t length = 0, type_id
        cdef int count = 0, action
        while done < block and count < limit:
            length = self._record_at(index + done, block - done)
            if length <= 0:
                break
            type_id = load_acquire_i32(self._data + index + done + TYPE_AT)
            if type_id != PADDING_TYPE:
                action = handler(
                    context, type_id, self._data + index + done + HEADER, length - HEADER
                )
                if action == RING_ABORT:
                    break
                count += 1
                if action == RING_BREAK:
                    done += align_record(length)
                    break
                if action == RING_COMMIT:
                    done += align_record(length)
                    self._consume(head, done)
                    head += done
                    index += done
                    block -= done
                    done = 0
                    continue
            done += align_record(length)
        if length == RING_CORRUPT and done == 0:
            self._drop_corrupt(head)
        else:
            self._consume(head, done)
        return count

    cdef inline int64_t _index_of(self, int64_t position) noexcept nogil:
        return position & (self.capacity - 1) & ~<int64_t> (ALIGNMENT - 1)

    cdef int32_t _record_at(self, int64_t index, int64_t limit) noexcept nogil:
        """Length of the record at an index; 0 if there is none yet, RING_CORRUPT if invalid."""
        cdef int32_t length = load_acquire_i32(self._data + index)
        if length <= 0:
            return 0
        if length < HEADER or align_record(length) > limit:
            return RING_CORRUPT
        return length

    cdef void _consume(self, int64_t head, int64_t length) noexcept nogil:
        if length > 0:
            memset(self._data + self._index_of(head), 0, length)
            store_release_i64(self._trailer + HEAD_AT, head + length)

    cdef void _drop_corrupt(self, int64_t head) noexcept nogil:
        """Skip everything claimed so far, since no record boundary follows a corrupt length."""
        cdef int64_t tail = load_acquire_i64(self._trailer + TAIL_AT)
        cdef int64_t index = self._index_of(head)
        cdef int64_t length = tail - head
        if length <= 0 or length > self.capacity - index:
            length = self.capacity - index
        self.corruption_count += 1
        memset(self._data + index, 0, length)
        store_release_i64(self._trailer + HEAD_AT, (head & ~<int64_t> (ALIGNMENT - 1)) + length)

    cdef bint try_unblock(self) noexcept nogil:
        """Unblock a dead producer's claim at the head (spec cnc-and-commands 3.6).

        Returns whether there was such a claim.
        """
        cdef int64_t head = load_acquire_i64(self._trailer + HEAD_AT)
        cdef int64_t tail = load_acquire_i64(self._trailer + TAIL_AT)
        if head == tail:
            return False
        cdef int64_t consumer = self._index_of(head)
        cdef int64_t producer = self._index_of(tail)
        cdef int32_t length = load_acquire_i32(self._data + consumer)
        cdef int64_t limit, index, back
        if length < 0:
            # No producer claims a length that has no negative: the reader will drop it.
            store_plain_i32(self._data + consumer + TYPE_AT, PADDING_TYPE)
            store_release_i32(
                self._data + consumer, INT32_MAX if length == INT32_MIN else -length
            )
            return True
        if length > 0:
            return False
        limit = producer if producer > consumer else self.capacity
        index = consumer + ALIGNMENT
        while index < limit:
            if load_acquire_i32(self._data + index) != 0:
                back = index - ALIGNMENT
                while back >= consumer:
                    if load_acquire_i32(self._data + back) != 0:
                        return False
                    back -= ALIGNMENT
                store_plain_i32(self._data + consumer + TYPE_AT, PADDING_TYPE)
                store_release_i32(self._data + consumer, <int32_t> (index - consumer))
                return True
            index += ALIGNMENT
        return False

    # Counters of the trailer.

    cdef int64_t take_correlation_id(self) noexcept nogil:
        return get_and_add_i64(self._trailer + CORRELATION_AT, 1)

    cdef int64_t heartbeat_ms(self) noexcept nogil:
        return load_acquire_i64(self._trailer + HEARTBEAT_AT)

    cdef void beat(self, int64_t epoch_ms) noexcept nogil:
        store_release_i64(self._trailer + HEARTBEAT_AT, epoch_ms)

    cdef int64_t head_position(self) noexcept nogil:
        return load_acquire_i64(self._trailer + HEAD_AT)

    cdef int64_t tail_position(self) noexcept nogil:
        return load_acquire_i64(self._trailer + TAIL_AT)

    # The methods for Python.

    def write(self, type_id: int, message) -> bool:
        """Write a message; False if the ring buffer is full.

        Raises:
            ValueError: if the type id is below 1 or the message is longer than
                ``max_message_length``.
        """
        cdef const uint8_t[::1] source = memoryview(message).cast("B")
        cdef int64_t length = source.shape[0]
        self._check_message(type_id, length)
        return self._checked(self.put(type_id, &source[0] if length else NULL, length)) >= 0

    def try_claim(self, type_id: int, length: int) -> int:
        """Claim space for a message; returns the claim's index, or -1 if the buffer is full.

        The caller fills ``claimed_view(index)`` and then calls ``commit`` or ``abort``. A claim
        that is never finished blocks the reader until the reader calls ``unblock``.
        """
        self._check_message(type_id, length)
        return self._checked(self.claim(type_id, length))

    cdef int _check_message(self, int64_t type_id, int64_t length) except -1:
        self._mapped.check_writable()
        if not 1 <= type_id <= INT32_MAX:
            raise ValueError(f"type id {type_id} must be greater than 0")
        if length < 0 or length > self.max_message_length:
            raise ValueError(
                f"message length {length} is not within 0 to {self.max_message_length}"
            )
        return 0

    cdef int64_t _checked(self, int64_t index) except -9:
        if index == RING_CORRUPT:
            raise FileFormatError(
                f"the ring buffer in {self._mapped.path or 'memory'} is damaged: its tail "
                f"{self.tail_position()} is not a multiple of {ALIGNMENT}"
            )
        return index if index >= 0 else -1

    def claimed_view(self, index: int) -> memoryview:
        """Return a writable view of a claimed message, to be used only before commit."""
        cdef int64_t at = index
        cdef int32_t length = self._claimed_length(at)
        return self._mapped.view(
            self._data + at + HEADER - self._mapped.address, length - HEADER
        )

    cdef int32_t _claimed_length(self, int64_t index) except -1:
        if index < 0 or index > self.capacity - HEADER or index % ALIGNMENT:
            raise ValueError(f"index {index} is no claim of this ring buffer")
        cdef int32_t length = load_acquire_i32(self._data + index)
        if length > -HEADER or -<int64_t> length > self.capacity - index:
            raise ValueError(f"claimed space at {index} was committed or aborted before")
        return -length

    def commit(self, index: int) -> None:
        """Make a claimed message visible to the reader."""
        self._claimed_length(index)
        self.commit_claim(index)

    def abort(self, index: int) -> None:
        """Abandon a claim, which the reader then skips."""
        self._claimed_length(index)
        self.abort_claim(index)

    def read(self, handler, limit: int = 2**31 - 1) -> int:
        """Pass at most ``limit`` messages to ``handler(type_id, bytes)``; returns how many it took.

        The handler returns a RingAction. If it raises an error, its message counts as read.
        """
        self._mapped.check_writable()
        cdef _PythonHandler state = _PythonHandler(handler)
        cdef int count = self.drain(_call_python, <void*> state, limit)
        if state.error is not None:
            raise state.error
        return count

    def unblock(self) -> bool:
        """Unblock a claim that a dead producer left at the head; returns whether there was one."""
        self._mapped.check_writable()
        return self.try_unblock()

    def next_correlation_id(self) -> int:
        """Return a number that is unique among this driver and its clients."""
        self._mapped.check_writable()
        return self.take_correlation_id()

    @property
    def consumer_heartbeat_ms(self) -> int:
        """Time of the reader's last heartbeat, epoch milliseconds; -1 after it has closed."""
        return self.heartbeat_ms()

    @consumer_heartbeat_ms.setter
    def consumer_heartbeat_ms(self, epoch_ms: int) -> None:
        self._mapped.check_writable()
        self.beat(epoch_ms)

    @property
    def producer_position(self) -> int:
        """Number of bytes claimed since the buffer was created."""
        return self.tail_position()

    @property
    def consumer_position(self) -> int:
        """Number of bytes read since the buffer was created."""
        return self.head_position()

    @property
    def pending(self) -> bool:
        """Whether a record is ready to be read."""
        return self.has_message()


cdef class _PythonHandler:
    """The Python handler of a ``read`` in progress, and the exception that it raised."""

    cdef object handle
    cdef object error

    def __init__(self, handle) -> None:
        self.handle = handle


cdef int _call_python(
    void* context, int32_t type_id, const uint8_t* message, int32_t length
) noexcept nogil:
    with gil:
        state = <_PythonHandler> context
        try:
            answer = state.handle(
                type_id, PyBytes_FromStringAndSize(<const char*> message, length)
            )
            return RING_CONTINUE if answer is None else <int> answer
        except BaseException as error:  # noqa: BLE001  (raised again by read)
            state.error = error
            return RING_BREAK
