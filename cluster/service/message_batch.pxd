"""Messages of a log, for a service that takes them in batches."""

from libc.stdint cimport int64_t, uint8_t

from aerolog.cluster.message_columns cimport MessageColumns, entry_t


cdef class MessageBatch(MessageColumns):
    cdef list _sessions     # of each message: a ClientSession or None
    cdef int add(
        self, object session, const entry_t* entry, const uint8_t* data, int64_t length
    ) except -1
