"""Memory for the rows of a scan or a merge: one buffer for each column, allocated once a batch."""

from cpython.buffer cimport (
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cpython.bytearray cimport PyByteArray_FromStringAndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

cdef enum:
    PAYLOAD_CAPACITY_MAX = 0x7FFFFFFF

# Memoryview format and bytes per value of each column; payload_offset has one value more.
COLUMNS = {
    "position": ("q", 8),
    "term_id": ("i", 4),
    "term_offset": ("i", 4),
    "session_id": ("i", 4),
    "stream_id": ("i", 4),
    "flags": ("h", 2),
    "reserved_value": ("q", 8),
    "payload_offset": ("i", 4),
    "payload": ("B", 1),
}
FORMATS = {"recording_id": ("q", 8), "source": ("i", 4), "time_ns": ("q", 8), **COLUMNS}


cdef class BatchColumns:
    """Rows of messages in columns, which native code fills.

    Attributes:
        buffers: the memory of each wanted column, as ``allocate`` returned it.
    """

    cdef int allocate_columns(
        self, tuple names, int64_t rows_max, int64_t payload_capacity, object allocate
    ) except -1:
        if not 0 <= payload_capacity <= PAYLOAD_CAPACITY_MAX:
            raise ValueError(f"payload capacity must be 0 to {PAYLOAD_CAPACITY_MAX} bytes")
        self.buffers = {}
        self._views = {}
        self.c.rows_max = rows_max
        self.c.payload_capacity = payload_capacity
        for name in names:
            size = FORMATS[name][1]
            count = rows_max + 1 if name == "payload_offset" else rows_max
            length = payload_capacity if name == "payload" else count * size
            self._add(name, _new_bytes(length) if allocate is None else allocate(length), length)
        self.c.recording_id = <int64_t*> self._address("recording_id")
        self.c.source = <int32_t*> self._address("source")
        self.c.time_ns = <int64_t*> self._address("time_ns")
        self.c.position = <int64_t*> self._address("position")
        self.c.term_id = <int32_t*> self._address("term_id")
        self.c.term_offset = <int32_t*> self._address("term_offset")
        self.c.session_id = <int32_t*> self._address("session_id")
        self.c.stream_id = <int32_t*> self._address("stream_id")
        self.c.flags = <int16_t*> self._address("flags")
        self.c.reserved_value = <int64_t*> self._address("reserved_value")
        self.c.payload_offset = <int32_t*> self._address("payload_offset")
        self.c.payload = <uint8_t*> self._address("payload")
        if self.c.payload_offset != NULL:
            self.c.payload_offset[0] = 0
        return 0

    cdef int _add(self, str name, object buffer, int64_t length) except -1:
        # The memoryview keeps the memory in its place as long as this object lives.
        view = memoryview(buffer).cast("B")
        if len(view) < length:
            raise ValueError(f"column {name} was given {len(view)} bytes and needs {length}")
        self._views[name] = view
        self.buffers[name] = buffer
        return 0

    cdef void* _address(self, str name) except? NULL:
        """Return the address of a column; NULL when the column is not wanted."""
        cdef Py_buffer view
        if name not in self._views:
            return NULL
        PyObject_GetBuffer(self._views[name], &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
        cdef void* address = view.buf
        PyBuffer_Release(&view)
        return address

    cdef object filled(self, str name):
        text, size = FORMATS[name]
        if name == "payload":
            return self._views[name][: self.c.payload_length]
        rows = self.c.rows + 1 if name == "payload_offset" else self.c.rows
        return self._views[name][: rows * size].cast(text)

    @property
    def rows(self):
        """Number of rows filled so far."""
        return self.c.rows

    @property
    def rows_max(self):
        """Number of rows that fit."""
        return self.c.rows_max

    @property
    def payload_length(self):
        """Number of bytes filled in the payload column."""
        return self.c.payload_length

    @property
    def payload_capacity(self):
        """Number of bytes that fit in the payload column."""
        return self.c.payload_capacity


cdef class ScanColumns(BatchColumns):
    """The memory for the rows of one batch of a scan.

    Args:
        rows_max: how many rows there is room for.
        payload_capacity: how many bytes the payload column has room for.
        names: the wanted columns; all of `COLUMNS` by default.
        allocate: returns writable memory of at least so many bytes; a bytearray by default.
    """

    def __cinit__(self, rows_max, payload_capacity, names=None, allocate=None):
        if rows_max < 1:
            raise ValueError(f"a batch needs room for rows, not {rows_max}")
        wanted = tuple(COLUMNS) if names is None else tuple(names)
        for name in wanted:
            if name not in COLUMNS:
                raise ValueError(f"no such column: {name}; there are {', '.join(COLUMNS)}")
        if "payload" in wanted and "payload_offset" not in wanted:
            wanted += ("payload_offset",)
        self.allocate_columns(wanted, rows_max, payload_capacity, allocate)

    def column(self, str name):
        """Return the filled part of a column as a typed memoryview of its memory."""
        return self.filled(name)


cdef object _new_bytes(int64_t length):
    """Allocate bytes whose contents are undefined."""
    return PyByteArray_FromStringAndSize(NULL, length)
