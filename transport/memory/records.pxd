"""Records of native files that lie one behind the other at multiples of 8.

Those of the ring and of the broadcast buffer have a header: i32 length with this header, i32 type.
"""

from libc.stdint cimport int64_t

cdef enum:
    HEADER = 8
    ALIGNMENT = 8
    TYPE_AT = 4
    PADDING_TYPE = -1


cdef inline int64_t align_record(int64_t length) noexcept nogil:
    """Round a length up to the start of the next record."""
    return (length + (ALIGNMENT - 1)) & ~<int64_t> (ALIGNMENT - 1)
