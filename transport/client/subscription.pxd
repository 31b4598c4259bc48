"""Native face of subscriptions; see image.pxd for what may be called without the GIL."""

from libc.stdint cimport int32_t, int64_t


cdef class Subscription:
    cdef object __weakref__
    cdef object _owner                    # the client conductor that registered this object
    cdef tuple _images                    # replaced as a whole, never changed
    cdef int32_t _closed
    cdef int32_t _busy
    cdef int32_t _round_robin
    cdef int64_t _fork_generation
    cdef int64_t _registration_id
    cdef int32_t _stream_id
    cdef int32_t _channel_status_id
    cdef str _channel
    cdef object _on_image
    cdef object _on_image_gone
