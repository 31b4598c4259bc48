"""A sender's publications by endpoint, session and stream: streams linked in buckets."""

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from aerolog.transport.driver.send.outbound_stream cimport OutboundStream
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint


cdef class PublicationTable:
    """Holds nothing alive: whoever adds a stream removes it before it goes."""

    def __init__(self):
        if self._buckets == NULL:
            self._buckets = <void**> calloc(BUCKETS, sizeof(void*))
        if self._buckets == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._buckets)

    cdef void** _bucket(
        self, SendEndpoint endpoint, int32_t session_id, int32_t stream_id
    ) noexcept nogil:
        cdef uint64_t key = <uint64_t> <uint32_t> session_id << 32 | <uint64_t> <uint32_t> stream_id
        key = (key ^ <uint64_t> <void*> endpoint) * 0x9E3779B97F4A7C15UL
        return &self._buckets[key >> 52]

    cdef void add(self, OutboundStream stream) noexcept nogil:
        cdef void** place = self._bucket(
            stream.endpoint, stream._log.session_id, stream._log.stream_id
        )
        stream.next_in_bucket = place[0]
        place[0] = <void*> stream

    cdef void remove(self, OutboundStream stream) noexcept nogil:
        cdef void** place = self._bucket(
            stream.endpoint, stream._log.session_id, stream._log.stream_id
        )
        while place[0] != NULL:
            if place[0] == <void*> stream:
                place[0] = stream.next_in_bucket
                return
            place = &(<OutboundStream> place[0]).next_in_bucket

    cdef void* find(
        self, SendEndpoint endpoint, int32_t session_id, int32_t stream_id
    ) noexcept nogil:
        cdef void* found = self._bucket(endpoint, session_id, stream_id)[0]
        while found != NULL:
            if (
                (<OutboundStream> found)._log.session_id == session_id
                and (<OutboundStream> found)._log.stream_id == stream_id
                and <void*> (<OutboundStream> found).endpoint == <void*> endpoint
            ):
                return found
            found = (<OutboundStream> found).next_in_bucket
        return NULL
