from libc.stdint cimport int64_t

from aerolog.transport.client.arrow cimport ArrowBatch

cdef int64_t read_into(
    list readers, object buffer, object offsets, object positions, object session_ids,
    object stream_ids, object reserved_values, object limit,
) except -1
cdef object read_array(list readers, object dtype, object out, object limit)
cdef ArrowBatch read_arrow(list readers, object limit)
