from libc.stdint cimport int64_t

from aerolog.transport.client.message_view cimport MessageView
from aerolog.transport.logbuffer.appender cimport reserved_t


# One offer's reserved value. The objects behind the pointers are held by the caller's frame.
ctypedef struct reserved_call_t:
    reserved_t reserved
    void* function
    void* logs
    void* error


cdef reserved_t* prepare_reserved(
    reserved_call_t* call, object value, object logs
) except? NULL
cdef int raise_reserved(reserved_call_t* call) except -1
