"""Appending to a log and reading it from Python without client and driver, for tests.

The caller has to do a driver's work as well: it sets limits, cleans terms and owns the position
counters. Programs that talk to a driver use aerolog.transport.client instead.
"""

from collections import namedtuple

from cpython.buffer cimport (
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport get_i32, get_i64
from aerolog.transport.logbuffer.appender cimport (
    Appender,
    ExclusiveAppender,
    abort_claim,
    claim_t,
    commit_claim,
    concurrent_appender,
    exclusive_appender,
    records_t,
    slice_t,
    values_t,
)
from aerolog.transport.logbuffer.descriptor cimport LogBuffers
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.logbuffer.frame_writer cimport reserved_t
from aerolog.transport.logbuffer.log_reader cimport (
    ACTION_ABORT,
    LogReader,
    block_t,
    columns_t,
    log_reader,
)
from aerolog.transport.memory.counter cimport counter_t
from aerolog.transport.memory.counters cimport COUNTER_ALLOCATED
from aerolog.transport.memory.mapped_file cimport MappedFile
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    RESERVED_VALUE_OFFSET,
    SESSION_ID_OFFSET,
    STREAM_ID_OFFSET,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
)

cdef extern from "Python.h":
    enum:
        PyBUF_READ_FLAG "PyBUF_READ"
        PyBUF_WRITE_FLAG "PyBUF_WRITE"

Fragment = namedtuple(
    "Fragment",
    "payload position flags session_id stream_id term_id term_offset reserved_value",
)


cdef object _copied(const fragment_t* fragment):
    cdef const uint8_t* frame = fragment.frame
    return Fragment(
        (<const char*> frame)[DATA_HEADER_LENGTH : fragment.length],
        fragment.position,
        fragment.flags,
        get_i32(frame + SESSION_ID_OFFSET),
        get_i32(frame + STREAM_ID_OFFSET),
        get_i32(frame + TERM_ID_OFFSET),
        get_i32(frame + TERM_OFFSET_OFFSET),
        get_i64(frame + RESERVED_VALUE_OFFSET),
    )


cdef class _Call:
    """A Python function called by a native callback; its first exception is raised later."""

    cdef object function
    cdef object error

    def __cinit__(self, function: object) -> None:
        self.function = function

    def raise_error(self) -> None:
        if self.error is not None:
            raise self.error


cdef int64_t _supply(void* context, const uint8_t* frame, int32_t length) noexcept nogil:
    cdef int64_t value = 0
    with gil:
        call = <_Call> context
        try:
            view = PyMemoryView_FromMemory(<char*> frame, length, PyBUF_READ_FLAG)
            value = call.function(view)
        except BaseException as error:
            call.error = call.error or error
    return value


cdef void _collect(void* context, const fragment_t* fragment) noexcept nogil:
    with gil:
        (<list> context).append(_copied(fragment))


cdef int _decide(void* context, const fragment_t* fragment) noexcept nogil:
    cdef int action = ACTION_ABORT
    with gil:
        call = <_Call> context
        try:
            action = call.function(_copied(fragment))
        except BaseException as error:
            call.error = call.error or error
    return action


cdef class _Reserved:
    """The native form of a ``reserved_value`` argument."""

    cdef reserved_t native
    cdef _Call call
    cdef const reserved_t* pointer

    def __cinit__(self, value: object) -> None:
        self.native.supplier = NULL
        self.native.context = NULL
        self.pointer = NULL if value is None else &self.native
        if callable(value):
            self.call = _Call(value)
            self.native.supplier = _supply
            self.native.context = <void*> self.call
        elif value is not None:
            self.native.value = value

    def done(self) -> None:
        if self.call is not None:
            self.call.raise_error()


cdef class _Bytes:
    """A buffer that is held for the duration of a call."""

    cdef Py_buffer view
    cdef bint held

    def __cinit__(self, buffer: object, writable: bool = False) -> None:
        PyObject_GetBuffer(buffer, &self.view, PyBUF_WRITABLE if writable else PyBUF_SIMPLE)
        self.held = True

    def __dealloc__(self) -> None:
        if self.held:
            PyBuffer_Release(&self.view)

    cdef uint8_t* address(self):
        return <uint8_t*> self.view.buf

    cdef int64_t room(self, int64_t item_length) except -1:
        if item_length <= 0:
            raise ValueError(f"an item has at least one byte, not {item_length}")
        return self.view.len // item_length


# A counter of a test is a word without a record: it is never freed.
cdef int32_t _STATE = COUNTER_ALLOCATED
cdef int64_t _REGISTRATION_ID = 1


cdef counter_t _counter(MappedFile counters, int64_t offset) except *:
    cdef counter_t counter
    if offset % 8:
        raise ValueError(f"a counter is 8-byte aligned, not at {offset}")
    counter.value = <int64_t*> counters.section(offset, 8)
    counter.state = <const uint8_t*> &_STATE
    counter.holder = <const uint8_t*> &_REGISTRATION_ID
    counter.registration_id = _REGISTRATION_ID
    return counter


cdef class DirectPublication:
    """A publication that appends to a log without a driver.

    Args:
        logs: a publication log.
        counters: memory that holds the position limit.
        limit_offset: offset in ``counters`` of the limit, an int64.
        exclusive: whether this is the only writer of the log.
    """

    cdef Appender _appender
    cdef claim_t _claim

    def __cinit__(
        self, logs: LogBuffers, counters: MappedFile, limit_offset: int, *, exclusive: bool
    ) -> None:
        cdef counter_t limit = _counter(counters, limit_offset)
        self._claim.frame = NULL
        if exclusive:
            self._appender = exclusive_appender(logs, &limit, counters)
        else:
            self._appender = concurrent_appender(logs, &limit, counters)

    @property
    def logs(self) -> LogBuffers:
        """The log."""
        return self._appender.logs

    def offer(self, data: object, reserved_value: object = None) -> int:
        """Offer one message; returns the position after it or a negative code."""
        cdef _Bytes held = _Bytes(data)
        cdef _Reserved reserved = _Reserved(reserved_value)
        cdef int64_t result
        with nogil:
            result = self._appender.append(
                <const uint8_t*> held.view.buf, held.view.len, reserved.pointer
            )
        reserved.done()
        return result

    def offer_parts(self, parts: object, reserved_value: object = None) -> int:
        """Offer one message made of several pieces in their order."""
        cdef list held = [_Bytes(part) for part in parts]
        cdef _Reserved reserved = _Reserved(reserved_value)
        cdef int32_t count = <int32_t> len(held)
        cdef int32_t index
        cdef int64_t result
        cdef slice_t* slices = <slice_t*> PyMem_Malloc(max(1, count) * sizeof(slice_t))
        if slices == NULL:
            raise MemoryError
        try:
            for index in range(count):
                slices[index].address = (<_Bytes> held[index]).address()
                slices[index].length = (<_Bytes> held[index]).view.len
            with nogil:
                result = self._appender.append_slices(slices, count, reserved.pointer)
        finally:
            PyMem_Free(slices)
        reserved.done()
        return result

    def offer_records(
        self,
        records: object,
        record_length: int,
        first: int = 0,
        reserved_value: int | None = None,
    ) -> tuple[int, int]:
        """Offer records of one length, beginning with number ``first``.

        Returns how many were appended, and the last result.
        """
        cdef _Bytes held = _Bytes(records)
        cdef _Reserved reserved = _Reserved(reserved_value)
        cdef records_t native
        cdef int64_t start = first
        cdef int64_t taken, result
        native.header.length = 0
        native.data = held.address()
        native.record_length = record_length
        native.stride = record_length
        native.count = held.room(record_length)
        if start < 0:
            raise ValueError(f"no record before the first: {first}")
        with nogil:
            taken = self._appender.append_records(&native, start, reserved.pointer, &result)
        return taken, result

    def offer_values(
        self,
        data: object,
        offsets: object,
        width: int = 4,
        first: int = 0,
        reserved_value: int | None = None,
    ) -> tuple[int, int]:
        """Offer values that lie between consecutive offsets of 4 or 8 bytes each.

        Returns how many were appended, and the last result.
        """
        cdef _Bytes held = _Bytes(data)
        cdef _Bytes held_offsets = _Bytes(offsets)
        cdef _Reserved reserved = _Reserved(reserved_value)
        cdef values_t native
        cdef int64_t start = first
        cdef int64_t taken, result
        if width not in (4, 8) or start < 0:
            raise ValueError(f"offsets have 4 or 8 bytes, not {width}; first is {first}")
        native.data = held.address()
        native.data_length = held.view.len
        native.offsets_i32 = <const int32_t*> held_offsets.address() if width == 4 else NULL
        native.offsets_i64 = <const int64_t*> held_offsets.address() if width == 8 else NULL
        native.count = held_offsets.room(width) - 1
        with nogil:
            taken = self._appender.append_values(&native, start, reserved.pointer, &result)
        return taken, result

    def claim(self, length: int) -> object:
        """Claim a frame; returns a writable view of it, header included, or a negative code."""
        cdef int64_t result = self._appender.claim(length, &self._claim)
        if result < 0:
            return result
        return PyMemoryView_FromMemory(
            <char*> self._claim.frame, DATA_HEADER_LENGTH + self._claim.length, PyBUF_WRITE_FLAG
        )

    def commit(self) -> None:
        """Make the claimed frame visible to readers."""
        commit_claim(&self._claim)

    def abort(self) -> None:
        """Turn the claimed frame into padding."""
        abort_claim(&self._claim)

    cdef ExclusiveAppender _exclusive(self):
        if not isinstance(self._appender, ExclusiveAppender):
            raise ValueError("only an exclusive publication can do this")
        return <ExclusiveAppender> self._appender

    def offer_padding(self, length: int) -> int:
        """Offer a padding frame as long as a message with a payload of ``length`` bytes."""
        return self._exclusive().append_padding(length)

    def offer_block(self, block: object) -> int:
        """Offer a block of whole frames that continue the stream."""
        cdef _Bytes held = _Bytes(block)
        return self._exclusive().append_block(held.address(), held.view.len)

    @property
    def position(self) -> int:
        """Position of the next frame."""
        return self._appender.position()

    @property
    def position_limit(self) -> int:
        """Position from which on offers are refused."""
        return self._appender.position_limit()

    @property
    def available_window(self) -> int:
        """Bytes from the position to the limit."""
        return self._appender.available_window()

    def close(self) -> None:
        """Close the publication; every later offer returns -4 (CLOSED)."""
        self._appender.close()


cdef class DirectSubscription:
    """A subscription that reads a log without a driver.

    Args:
        logs: a publication or image log.
        counters: memory that holds the position.
        position_offset: offset in ``counters`` of the position, an int64.
    """

    cdef LogReader _reader

    def __cinit__(self, logs: LogBuffers, counters: MappedFile, position_offset: int) -> None:
        cdef counter_t position = _counter(counters, position_offset)
        self._reader = log_reader(logs, &position, counters)

    @property
    def logs(self) -> LogBuffers:
        """The log."""
        return self._reader.logs

    @property
    def position(self) -> int:
        """Position of the next fragment."""
        return self._reader.position()

    def poll(
        self, limit: int = 10, limit_position: int = INT64_MAX, *, assemble: bool = False
    ) -> list[Fragment]:
        """Consume the next fragments or messages and return copies of them."""
        cdef list found = []
        cdef int32_t most = limit
        cdef int64_t bound = limit_position
        cdef bint join = assemble
        cdef void* context = <void*> found
        with nogil:
            self._reader.poll(_collect, context, most, bound, join)
        return found

    def poll_controlled(
        self,
        handler: object,
        limit: int = 10,
        limit_position: int = INT64_MAX,
        *,
        assemble: bool = False,
    ) -> int:
        """Pass copies to a handler that returns an action; returns the number consumed."""
        cdef _Call call = _Call(handler)
        cdef int32_t count = self._reader.poll_controlled(
            _decide, <void*> call, limit, limit_position, assemble
        )
        call.raise_error()
        return count

    def peek(
        self, initial_position: int, handler: object, limit_position: int = INT64_MAX
    ) -> int:
        """Read ahead without consuming; returns the next position, or -1 for an invalid start."""
        cdef _Call call = _Call(handler)
        cdef int64_t result = self._reader.peek(
            initial_position, _decide, <void*> call, limit_position
        )
        call.raise_error()
        return result

    def scan(
        self, limit: int = 10, limit_position: int = INT64_MAX
    ) -> tuple[list[Fragment], int]:
        """Return copies of the next fragments and the position after them, consuming nothing."""
        cdef int64_t following
        cdef int32_t count
        cdef fragment_t* fragments = <fragment_t*> PyMem_Malloc(max(1, limit) * sizeof(fragment_t))
        if fragments == NULL:
            raise MemoryError
        try:
            count = self._reader.scan(limit_position, fragments, limit, &following)
            return [_copied(&fragments[index]) for index in range(count)], following
        finally:
            PyMem_Free(fragments)

    def block(self, length_limit: int) -> tuple[bytes, int, int, int, bool] | None:
        """Return the next frames without consuming them, or None.

        The tuple holds their bytes, session id, term id, file offset, and whether they are padding.
        """
        cdef block_t block
        if not self._reader.block(length_limit, &block):
            return None
        return (
            (<const char*> block.address)[: block.length],
            block.session_id,
            block.term_id,
            block.file_offset,
            block.is_padding,
        )

    def advance(self, position: int) -> None:
        """Move the position forward to ``position``."""
        self._reader.advance(position)

    def read_records(
        self, out: object, record_length: int, positions: object = None
    ) -> tuple[int, int]:
        """Fill an array with messages of one length.

        Returns how many there were, and the other length of the message that stopped the call.
        """
        cdef _Bytes held = _Bytes(out, True)
        cdef int64_t limit = held.room(record_length)
        cdef int64_t length = record_length
        cdef columns_t columns
        cdef _Bytes held_positions = _fill_columns(&columns, positions)
        cdef int64_t count, other
        if held_positions is not None:
            limit = min(limit, held_positions.room(8))
        with nogil:
            count = self._reader.read_records(
                <uint8_t*> held.view.buf, length, limit, &columns, &other
            )
        return count, other

    def read_values(
        self, data: object, offsets: object, width: int = 4, positions: object = None
    ) -> tuple[int, int]:
        """Fill data and offsets with messages; offsets have 4 or 8 bytes and start at 0.

        Returns how many there were, and the length of a message that did not fit.
        """
        cdef _Bytes held = _Bytes(data, True)
        cdef _Bytes held_offsets = _Bytes(offsets, True)
        cdef columns_t columns
        cdef _Bytes held_positions = _fill_columns(&columns, positions)
        cdef int32_t* narrow = <int32_t*> held_offsets.address() if width == 4 else NULL
        cdef int64_t* wide = <int64_t*> held_offsets.address() if width == 8 else NULL
        cdef int64_t limit = held_offsets.room(width) - 1
        cdef int64_t count, needed
        if width not in (4, 8) or limit < 0:
            raise ValueError(f"one offset at least, of 4 or 8 bytes, not {width}")
        if held_positions is not None:
            limit = min(limit, held_positions.room(8))
        if narrow != NULL:
            narrow[0] = 0
        else:
            wide[0] = 0
        with nogil:
            count = self._reader.read_values(
                <uint8_t*> held.view.buf, 0, held.view.len, narrow, wide, limit, &columns, &needed
            )
        return count, needed

    def close(self) -> None:
        """Close the subscription: later polls return nothing, and the position stays."""
        self._reader.close()


cdef object _fill_columns(columns_t* columns, object positions):
    """Set the addresses of the columns; the result keeps their memory alive."""
    cdef _Bytes held = None if positions is None else _Bytes(positions, True)
    columns.positions = NULL if held is None else <int64_t*> held.address()
    columns.session_ids = NULL
    columns.stream_ids = NULL
    columns.reserved_values = NULL
    return held
