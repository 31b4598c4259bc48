"""Memory for the rows of a scan, one buffer for each column, allocated once per batch."""

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


cdef class ScanColumns:
    """The memory for the rows of one batch.

    Attributes:
        rows: rows filled so far.
        payload_length: bytes filled in the payload column.
        buffers: the memory of each wanted column, as ``allocate`` returned it.
    """

    def __cinit__(self, rows_max, payload_capacity, names=None, allocate=None):
        if rows_max < 1:
            raise ValueError(f"a batch needs room for rows, not {rows_max}")
        if not 0 <= payload_capacity <= PAYLOAD_CAPACITY_MAX:
            raise ValueError(f"payload capacity must be 0 to {PAYLOAD_CAPACITY_MAX} bytes")
        self.buffers = {}
        self._views = {}
        self.c.rows_max = rows_max
        self.c.payload_capacity = payload_capacity
        wanted = tuple(COLUMNS) if names is None else tuple(names)
        for name in wanted:
            if name not in COLUMNS:
                raise ValueError(f"no such column: {name}; there are {', '.join(COLUMNS)}")
        if "payload" in wanted and "payload_offset" not in wanted:
            wanted += ("payload_offset",)
        for name in wanted:
            size = COLUMNS[name][1]
            count = rows_max + 1 if name == "payload_offset" else rows_max
            length = payload_capacity if name == "payload" else count * size
            self._place(name, _new_bytes(length) if allocate is None else allocate(length), length)

    cdef int _place(self, str name, object buffer, int64_t length) except -1:
        cdef Py_buffer view
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
        cdef void* address = view.buf
        if view.len < length:
            PyBuffer_Release(&view)
            raise ValueError(f"column {name} was given {view.len} bytes and needs {length}")
        # The memoryview keeps the memory in its place as long as this object lives.
        self._views[name] = memoryview(buffer).cast("B")
        PyBuffer_Release(&view)
        self.buffers[name] = buffer
        if name == "position":
            self.c.position = <int64_t*> address
        elif name == "term_id":
            self.c.term_id = <int32_t*> address
        elif name == "term_offset":
            self.c.term_offset = <int32_t*> address
        elif name == "session_id":
            self.c.session_id = <int32_t*> address
        elif name == "stream_id":
            self.c.stream_id = <int32_t*> address
        elif name == "flags":
            self.c.flags = <int16_t*> address
        elif name == "reserved_value":
            self.c.reserved_value = <int64_t*> address
        elif name == "payload_offset":
            self.c.payload_offset = <int32_t*> address
            self.c.payload_offset[0] = 0
        else:
            self.c.payload = <uint8_t*> address
        return 0

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

    def column(self, str name):
        """Return the filled part of a column as a typed memoryview of its memory."""
        text, size = COLUMNS[name]
        if name == "payload":
            return self._views[name][: self.c.payload_length]
        rows = self.c.rows + 1 if name == "payload_offset" else self.c.rows
        return self._views[name][: rows * size].cast(text)


cdef object _new_bytes(int64_t length):
    """Allocate bytes whose contents are undefined."""
    return PyByteArray_FromStringAndSize(NULL, length)
