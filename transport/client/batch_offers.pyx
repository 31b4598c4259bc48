"""Batches of messages from Python memory into a log: one native call, without the GIL."""

from cpython.buffer cimport (
    PyBUF_SIMPLE,
    PyBUF_STRIDES,
    PyBuffer_Release,
)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t

from aerolog.transport.logbuffer.appender cimport (
    Appender,
    records_t,
    reserved_t,
    slice_t,
)
from aerolog.transport.memory.buffers cimport get_plain_buffer


cdef class _Slices:
    """Addresses of buffers, which are held as long as this object lives."""

    cdef slice_t* slices
    cdef Py_buffer* buffers
    cdef object _held
    cdef int64_t count
    cdef int64_t buffer_count
    cdef int64_t total_length

    def __cinit__(self, list held not None):
        cdef int64_t capacity = len(held) or 1
        self._held = held
        self.slices = <slice_t*> PyMem_Malloc(capacity * sizeof(slice_t))
        self.buffers = <Py_buffer*> PyMem_Malloc(capacity * sizeof(Py_buffer))
        if self.slices == NULL or self.buffers == NULL:
            raise MemoryError()
        for item in held:
            self._add(item)

    cdef int _add(self, object item) except -1:
        cdef slice_t* at = &self.slices[self.count]
        if PyBytes_CheckExact(item):
            at.address = <const uint8_t*> PyBytes_AS_STRING(item)
            at.length = PyBytes_GET_SIZE(item)
        else:
            get_plain_buffer(item, &self.buffers[self.buffer_count], PyBUF_SIMPLE, "a message")
            at.address = <const uint8_t*> self.buffers[self.buffer_count].buf
            at.length = self.buffers[self.buffer_count].len
            self.buffer_count += 1
        self.count += 1
        self.total_length += at.length
        return 0

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.buffer_count):
            PyBuffer_Release(&self.buffers[i])
        PyMem_Free(self.slices)
        PyMem_Free(self.buffers)


cdef int64_t append_parts(
    Appender appender, object parts, const reserved_t* reserved, int64_t* length
) except? -100:
    cdef _Slices slices = _Slices(list(parts))
    cdef int64_t result
    length[0] = slices.total_length
    if slices.count > INT32_MAX:
        raise ValueError(f"a message of {slices.count} parts")
    with nogil:
        result = appender.append_slices(slices.slices, <int32_t> slices.count, reserved)
    return result


cdef int64_t _count(object start, object limit, int64_t available) except -1:
    """Return the number of messages to take from `start` on."""
    cdef int64_t first = start
    cdef int64_t most = available if limit is None else limit
    if first < 0 or most < 0:
        raise ValueError(f"start and limit are not negative: start={start}, limit={limit}")
    return max(0, min(available - first, most))


cdef int64_t append_sequence(
    Appender appender, object messages, object start, object limit, int64_t* result,
    int64_t* length,
) except -1:
    cdef _Slices slices
    cdef int64_t count
    cdef int64_t done = 0
    cdef int64_t code = 0
    cdef int32_t retries = 0
    if not isinstance(messages, (list, tuple)):
        if getattr(messages, "ndim", 1) > 1:
            return append_rows(appender, messages, start, limit, result, length)
        if not hasattr(messages, "__getitem__") or not hasattr(messages, "__len__"):
            raise TypeError(
                f"offer_many takes a sequence, not {type(messages).__name__}: messages that are "
                f"refused have to be offered again"
            )
        if isinstance(messages, (bytes, bytearray, memoryview, str)):
            raise TypeError(
                f"offer_many takes a sequence of messages, not {type(messages).__name__}"
            )
    count = _count(start, limit, len(messages))
    slices = _Slices(list(messages[start:start + count]))
    with nogil:
        while done < slices.count:
            code = appender.append(slices.slices[done].address, slices.slices[done].length, NULL)
            if code >= 0:
                done += 1
                retries = 0
            elif not appender.is_retried(code, &retries):
                break
    result[0] = code
    if done < slices.count:
        length[0] = slices.slices[done].length
    return done


cdef int64_t append_rows(
    Appender appender, object array, object start, object limit, int64_t* result,
    int64_t* length,
) except -1:
    cdef Py_buffer buffer
    cdef records_t records
    cdef int64_t done
    get_plain_buffer(array, &buffer, PyBUF_STRIDES, "an array of messages")
    try:
        if buffer.ndim == 0:
            raise ValueError("an array of messages has at least one dimension")
        records.header.length = 0
        records.record_length = _row_length(&buffer)
        # Without strides (as ctypes has it) items lie one behind the other.
        records.stride = records.record_length if buffer.strides == NULL else buffer.strides[0]
        records.count = _count(start, limit, buffer.shape[0])
        length[0] = records.record_length
        if records.count == 0:
            return 0
        records.data = <const uint8_t*> buffer.buf + <int64_t> start * records.stride
        with nogil:
            done = appender.append_records(&records, 0, NULL, result)
        return done
    finally:
        PyBuffer_Release(&buffer)


cdef int64_t _row_length(Py_buffer* buffer) except -1:
    """Bytes of a row, which has to be contiguous."""
    cdef int64_t length = buffer.itemsize
    cdef int i
    for i in range(buffer.ndim - 1, 0, -1):
        if buffer.strides != NULL and buffer.shape[i] > 1 and buffer.strides[i] != length:
            raise ValueError("the rows of an array of messages must be contiguous")
        length *= buffer.shape[i]
    return length
