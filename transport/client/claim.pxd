from libc.stdint cimport int64_t

from aerolog.transport.client.message_view cimport MessageView
from aerolog.transport.logbuffer.appender cimport Appender, claim_t


cdef class BufferClaim:
    cdef Appender _appender       # keeps the log mapped
    cdef claim_t _claim
    cdef int64_t _result
    cdef bint _open
    cdef Py_ssize_t _exports
    cdef object _buffer
    cdef bytearray _staged        # what commit copies in, for arrays
    cdef public object on_commit
    cdef int _require_open(self) except -1
    cdef int _finish(self) except -1


cdef BufferClaim new_claim(Appender appender, int64_t length)
