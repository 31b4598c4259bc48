"""The native interface of subscriptions; image.pxd says what may be called without the GIL."""

from libc.stdint cimport int32_t, int64_t


from aerolog.transport.client.batch_source cimport BatchSource


cdef class Subscription(BatchSource):
    cdef object __weakref__
    cdef readonly object conductor
    cdef object _client                   # keeps the client open while this is referred to
    cdef tuple _images                    # replaced as a whole, never changed
    cdef int32_t _closed
    cdef int32_t _busy                    # a poll is under way
    cdef int32_t _round_robin
    cdef int64_t _fork_generation
    cdef object _resolved_endpoint
    cdef readonly int64_t registration_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t channel_status_id
    cdef readonly str channel
    cdef readonly object on_image
    cdef readonly object on_image_gone
    cdef list _batch_images
    cdef int _enter(self) except -1
    cdef int32_t _poll(self, int form, object target, int32_t limit, bint assemble) except -1
    cdef int32_t _first(self, tuple images) noexcept
