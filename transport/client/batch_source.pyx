"""Batches of messages from logs into Python memory: one native call, without the GIL.

Each batch reads the images in a given order. It holds only whole messages; fragments of incomplete
messages stay in the reader of their image.
"""

import importlib

from cpython.buffer cimport (
    PyBUF_FORMAT,
    PyBUF_ND,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t

from aerolog.transport.client.arrow cimport ArrowBatch
from aerolog.transport.logbuffer.log_reader cimport LogReader, columns_t
from aerolog.transport.memory.buffers cimport get_plain_buffer, is_integer


cdef class BatchSource:
    """The source of batches: an image, or all images of a subscription."""

    cdef list begin_batch(self):
        """Lock the source for a batch; returns the log readers in the order of reading."""
        return []

    cdef int end_batch(self) except -1:
        """Unlock the source after a batch."""
        return 0

    def poll_into(
        self, buffer, offsets, *, positions=None, session_ids=None, stream_ids=None,
        reserved_values=None, limit=None,
    ):
        """Copy whole messages one behind the other into memory of the caller, without the GIL.

        Args:
            buffer: writable and contiguous; the payloads.
            offsets: writable int32 or int64 items, one more than messages: message ``i`` is
                ``buffer[offsets[i]:offsets[i + 1]]``.
            positions: int64 items for the position after each message, if wanted.
            session_ids: int32 items, if wanted.
            stream_ids: int32 items, if wanted.
            reserved_values: int64 items, if wanted.
            limit: greatest number of messages; by default what the shortest of these holds.

        Returns:
            The number of messages copied.

        Raises:
            ValueError: if the next message does not fit into an empty buffer.
        """
        readers = self.begin_batch()
        try:
            return read_into(
                readers, buffer, offsets, positions, session_ids, stream_ids, reserved_values,
                limit,
            )
        finally:
            self.end_batch()

    def poll_array(self, dtype=None, out=None, *, limit=4096):
        """Take messages of one size as rows of a NumPy array, without the GIL.

        Args:
            dtype: type of a row, which is as long as a message; not needed with ``out``.
            out: an array to fill instead of a new one.
            limit: greatest number of messages.

        Returns:
            The rows that were filled. They end before the first message of another size.

        Raises:
            ValueError: if the very next message has another size.
        """
        readers = self.begin_batch()
        try:
            return read_array(readers, dtype, out, limit)
        finally:
            self.end_batch()

    def poll_arrow(self, limit=4096):
        """Take messages as an Arrow record batch, without the GIL and without an Arrow library.

        Args:
            limit: at most so many messages.

        Returns:
            An ArrowBatch: data, position, session_id, reserved_value.
        """
        readers = self.begin_batch()
        try:
            return read_arrow(readers, limit)
        finally:
            self.end_batch()


cdef class _Out:
    """Writable contiguous memory of the caller, with items of a known size; may be absent."""

    cdef Py_buffer buffer
    cdef bint held
    cdef void* memory
    cdef int64_t count
    cdef int64_t itemsize

    def __cinit__(self, str name not None, object target, tuple sizes not None):
        if target is None:
            return
        PyObject_GetBuffer(target, &self.buffer, PyBUF_WRITABLE | PyBUF_ND | PyBUF_FORMAT)
        self.held = True
        if not is_integer(self.buffer.format):
            raise TypeError(f"{name} takes an array of integers")
        self.itemsize = self.buffer.itemsize
        if self.itemsize not in sizes:
            raise ValueError(f"{name} has items of {self.itemsize} bytes, it takes {sizes}")
        self.count = self.buffer.len // self.itemsize
        self.memory = self.buffer.buf

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.buffer)


cdef int64_t _limit(object limit, int64_t room) except -1:
    cdef int64_t most = room if limit is None else limit
    if most < 0:
        raise ValueError(f"a limit is not negative: {limit}")
    return min(most, room)


cdef object _bytes_of(object owner):
    """Contiguous writable memory as bytes."""
    cdef Py_buffer buffer
    get_plain_buffer(owner, &buffer, PyBUF_WRITABLE, "buffer")
    PyBuffer_Release(&buffer)
    return memoryview(owner).cast("B")


cdef int64_t read_into(
    list readers, object buffer, object offsets, object positions, object session_ids,
    object stream_ids, object reserved_values, object limit,
) except -1:
    cdef _Out data = _Out("buffer", _bytes_of(buffer), (1,))
    cdef _Out ends = _Out("offsets", offsets, (4, 8))
    cdef _Out position_column = _Out("positions", positions, (8,))
    cdef _Out session_column = _Out("session_ids", session_ids, (4,))
    cdef _Out stream_column = _Out("stream_ids", stream_ids, (4,))
    cdef _Out reserved_column = _Out("reserved_values", reserved_values, (8,))
    cdef int64_t most
    cdef int64_t done = 0
    cdef int64_t end = 0
    cdef int64_t needed = -1
    cdef int64_t capacity = data.count
    cdef columns_t columns
    cdef LogReader reader
    cdef int32_t* ends_i32 = <int32_t*> ends.memory if ends.itemsize == 4 else NULL
    cdef int64_t* ends_i64 = <int64_t*> ends.memory if ends.itemsize == 8 else NULL
    if ends.count < 1:
        raise ValueError("offsets needs room for one more than the number of messages")
    most = _limit(limit, ends.count - 1)
    for column in (position_column, session_column, stream_column, reserved_column):
        if (<_Out> column).held:
            most = min(most, (<_Out> column).count)
    if ends_i32 != NULL:
        capacity = min(capacity, <int64_t> INT32_MAX)
        ends_i32[0] = 0
    else:
        ends_i64[0] = 0
    for reader in readers:
        columns.positions = _plus64(position_column, done)
        columns.session_ids = _plus32(session_column, done)
        columns.stream_ids = _plus32(stream_column, done)
        columns.reserved_values = _plus64(reserved_column, done)
        with nogil:
            done += reader.read_values(
                <uint8_t*> data.memory, end, capacity,
                ends_i32 + done if ends_i32 != NULL else NULL,
                ends_i64 + done if ends_i64 != NULL else NULL,
                most - done, &columns, &needed,
            )
            end = ends_i32[done] if ends_i32 != NULL else ends_i64[done]
        if needed >= 0 or done == most:
            break
    if done == 0 and needed > capacity:
        raise ValueError(f"the next message has {needed} bytes, buffer has {capacity}")
    return done


cdef int64_t* _plus64(_Out column, int64_t index) noexcept:
    return NULL if column.memory == NULL else <int64_t*> column.memory + index


cdef int32_t* _plus32(_Out column, int64_t index) noexcept:
    return NULL if column.memory == NULL else <int32_t*> column.memory + index


cdef object read_array(list readers, object dtype, object out, object limit):
    cdef int64_t most
    cdef int64_t done = 0
    cdef int64_t other_length = -1
    cdef int64_t record_length
    cdef uint8_t* memory
    cdef Py_buffer buffer
    cdef LogReader reader
    if out is None and dtype is None:
        raise TypeError("poll_array needs a dtype, or an array to fill")
    if out is None:
        out = importlib.import_module("numpy").empty(limit, dtype)
    elif dtype is not None and getattr(out, "dtype", dtype) != dtype:
        raise ValueError(f"out has items of {out.dtype}, not {dtype}")
    get_plain_buffer(out, &buffer, PyBUF_WRITABLE | PyBUF_ND, "an array for messages")
    try:
        if buffer.ndim < 1 or buffer.shape[0] == 0 or buffer.len == 0:
            raise ValueError("an array for messages has at least one row of at least one byte")
        record_length = buffer.len // buffer.shape[0]
        most = _limit(limit, buffer.shape[0])
        memory = <uint8_t*> buffer.buf
        for reader in readers:
            with nogil:
                done += reader.read_records(
                    memory + done * record_length, record_length, most - done, NULL,
                    &other_length,
                )
            if other_length >= 0 or done == most:
                break
    finally:
        PyBuffer_Release(&buffer)
    if done == 0 and other_length >= 0:
        raise ValueError(f"the next message has {other_length} bytes, a row {record_length}")
    return out[:done]


cdef ArrowBatch read_arrow(list readers, object limit):
    cdef ArrowBatch batch = ArrowBatch.__new__(ArrowBatch)
    cdef columns_t columns
    cdef LogReader reader
    cdef int64_t needed
    cdef int64_t taken
    batch.allocate(_limit(limit, INT32_MAX))
    for reader in readers:
        needed = 0
        while needed >= 0 and batch.count < batch.capacity:
            columns.positions = batch.positions + batch.count
            columns.session_ids = batch.session_ids + batch.count
            columns.stream_ids = NULL
            columns.reserved_values = batch.reserved_values + batch.count
            with nogil:
                taken = reader.read_values(
                    batch.data, batch.data_length, batch.data_capacity,
                    batch.offsets + batch.count, NULL, batch.capacity - batch.count, &columns,
                    &needed,
                )
            batch.count += taken
            batch.data_length = batch.offsets[batch.count]
            if needed >= 0 and batch.grow_data(needed):
                return batch
    return batch
