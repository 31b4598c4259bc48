"""Where a segment's frames begin when it begins with zeros (spec archive-files 12, attach)."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport get_i32

cdef enum:
    FRAME_ALIGNMENT = 32


cdef int64_t _find(const uint8_t* base, int64_t length) noexcept nogil:
    cdef int64_t at = 0
    while at + 4 <= length:
        if get_i32(base + at) > 0:
            return at
        at += FRAME_ALIGNMENT
    return -1


def first_frame(data):
    """Offset of the first aligned word above 0, -1 when there is none."""
    cdef Py_buffer view
    cdef int64_t found
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            found = _find(<const uint8_t*> view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
    return found
