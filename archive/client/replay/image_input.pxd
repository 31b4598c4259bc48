"""A replay from a running archive as a source of a merge, for native callers."""

from libc.stdint cimport int64_t

from aerolog.archive.client.replay.merge cimport MergeInput
from aerolog.transport.client.image cimport Image
from aerolog.transport.logbuffer.log_reader cimport LogReader


cdef class ImageInput(MergeInput):
    cdef readonly Image image
    cdef LogReader _reader
    cdef int64_t _end
    cdef int64_t _at                # position of the next frame to look at
    cdef int64_t _begun             # position at which the message that is put together begins
    cdef readonly int64_t covered
    cdef int _stand(self) noexcept nogil
