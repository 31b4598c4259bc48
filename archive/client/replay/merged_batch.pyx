"""The rows of a merge in columns, whose memory may be filled again or kept."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from aerolog.archive.client.replay.timed_message cimport TimedMessage

cdef enum:
    PAYLOAD_CAPACITY_MAX = 0x7FFFFFFF
    ROWS_MAX = 1 << 24

# Name to memoryview format and bytes a value. payload_offset has a row more than the others.
COLUMNS = {
    "recording_id": ("q", 8),
    "source": ("i", 4),
    "time_ns": ("q", 8),
    "position": ("q", 8),
    "session_id": ("i", 4),
    "stream_id": ("i", 4),
    "term_id": ("i", 4),
    "term_offset": ("i", 4),
    "flags": ("h", 2),
    "reserved_value": ("q", 8),
    "payload_offset": ("i", 4),
    "payload": ("B", 1),
}


cdef class MergedBatch:
    """Messages of a merge in columns, in their order.

    Args:
        rows_max: how many rows there is room for.
        payload_capacity: how many bytes the payload column has room for.

    The columns, each a number a row but for the last two: ``recording_id``, ``source`` (its place
    among the recordings), ``time_ns`` (epoch nanoseconds), ``position`` (after the message, in the
    stream of its recording), ``session_id`` and ``stream_id`` (of the recording), ``term_id``,
    ``term_offset``, ``flags``, ``reserved_value`` (of the first frame), ``payload_offset`` (a row
    more than the others: message i is payload[offset[i]:offset[i + 1]]), ``payload`` (bytes).
    """

    def __cinit__(self, int64_t rows_max, int64_t payload_capacity):
        if not 1 <= rows_max <= ROWS_MAX:
            raise ValueError(f"a batch has room for 1 to {ROWS_MAX} rows, not {rows_max}")
        if not 0 <= payload_capacity <= PAYLOAD_CAPACITY_MAX:
            raise ValueError(f"payload capacity must be 0 to {PAYLOAD_CAPACITY_MAX} bytes")
        self._memory = {}
        self.c.rows_max = rows_max
        self.c.payload_capacity = payload_capacity
        self.c.recording_id = <int64_t*> self._place("recording_id", rows_max * 8)
        self.c.source = <int32_t*> self._place("source", rows_max * 4)
        self.c.time_ns = <int64_t*> self._place("time_ns", rows_max * 8)
        self.c.position = <int64_t*> self._place("position", rows_max * 8)
        self.c.session_id = <int32_t*> self._place("session_id", rows_max * 4)
        self.c.stream_id = <int32_t*> self._place("stream_id", rows_max * 4)
        self.c.term_id = <int32_t*> self._place("term_id", rows_max * 4)
        self.c.term_offset = <int32_t*> self._place("term_offset", rows_max * 4)
        self.c.flags = <int16_t*> self._place("flags", rows_max * 2)
        self.c.reserved_value = <int64_t*> self._place("reserved_value", rows_max * 8)
        self.c.payload_offset = <int32_t*> self._place("payload_offset", (rows_max + 1) * 4)
        self.c.payload = <uint8_t*> self._place("payload", payload_capacity)
        self.c.payload_offset[0] = 0

    cdef void* _place(self, str name, int64_t length) except NULL:
        """Allocate a column without clearing it; it stays in place as long as this object lives."""
        cdef Py_buffer view
        memory = PyByteArray_FromStringAndSize(NULL, max(length, <int64_t> 1))
        PyObject_GetBuffer(memory, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
        cdef void* address = view.buf
        self._memory[name] = memoryview(memory)
        PyBuffer_Release(&view)
        return address

    @property
    def rows(self):
        """Rows filled so far."""
        return self.c.rows

    @property
    def rows_max(self):
        """Rows that there is room for."""
        return self.c.rows_max

    @property
    def payload_length(self):
        """Bytes filled in the payload column."""
        return self.c.payload_length

    @property
    def payload_capacity(self):
        """Bytes that the payload column has room for."""
        return self.c.payload_capacity

    def __len__(self):
        return self.c.rows

    def clear(self):
        """Empty the batch to fill it again; views of its columns will show the new rows."""
        self.c.rows = 0
        self.c.payload_length = 0

    def column(self, str name not None):
        """The filled part of a column, without a copy: typed, read-only.

        Raises:
            ValueError: there is no such column.
        """
        if name not in COLUMNS:
            raise ValueError(f"no such column: {name}; there are {', '.join(COLUMNS)}")
        text, size = COLUMNS[name]
        if name == "payload":
            return self._memory[name][: self.c.payload_length].toreadonly()
        rows = self.c.rows + 1 if name == "payload_offset" else self.c.rows
        return self._memory[name][: rows * size].cast(text).toreadonly()

    def messages(self):
        """The rows as a list of messages that do not refer to this memory."""
        cdef list found = []
        cdef TimedMessage made
        cdef int64_t row, begin
        for row in range(self.c.rows):
            begin = self.c.payload_offset[row]
            made = TimedMessage.__new__(TimedMessage)
            made.time_ns = self.c.time_ns[row]
            made.recording_id = self.c.recording_id[row]
            made.position = self.c.position[row]
            made.reserved_value = self.c.reserved_value[row]
            made.session_id = self.c.session_id[row]
            made.stream_id = self.c.stream_id[row]
            made.term_id = self.c.term_id[row]
            made.term_offset = self.c.term_offset[row]
            made.flags = <uint8_t> self.c.flags[row]
            made.payload = PyBytes_FromStringAndSize(
                <const char*> self.c.payload + begin, self.c.payload_offset[row + 1] - begin
            )
            found.append(made)
        return found
