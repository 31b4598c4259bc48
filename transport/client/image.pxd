"""Native face of images: for the archive's recorder and the benchmarks.

An image is polled by one thread at a time. The ``nogil`` methods may be called without the GIL as
long as the caller holds a reference; a closed image answers 0 and touches no memory that may be
unmapped, so closing from another thread is safe at any time.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.logbuffer.descriptor cimport LogBuffers


cdef struct image_block_t:
    const uint8_t* data       # first frame, in the mapped term
    int32_t length            # whole aligned frames, bytes; 0 = nothing there
    int32_t term_id
    int32_t term_offset
    bint is_padding           # the block is one padding frame
    int64_t position          # of the first frame


cdef class Image:
    cdef object __weakref__
    cdef object _subscription             # weak reference
    cdef LogBuffers _log_buffers          # keeps the log mapped
    cdef object _counters_memory          # keeps the counters mapped
    cdef int64_t* _position               # sub-pos counter, written by the polling thread
    cdef int32_t _closed                  # 0 open, 1 closed; stored once, read by any thread
    cdef int32_t _busy                    # a poll is under way
    cdef int64_t _fork_generation
    cdef readonly int64_t correlation_id
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t subscriber_position_id
    cdef readonly str source_identity
    cdef readonly int64_t join_position
    cdef int64_t _final_position
    cdef int64_t _final_end_of_stream_position
    cdef bint _final_end_of_stream
    cdef bint _final_revoked

    # Frames from the current position, at most `length_limit` bytes and within one term
    # (log-buffers section 21). Does not move the position: call native_advance with the block's
    # length once it has been consumed.
    cdef int32_t native_block(self, int32_t length_limit, image_block_t* block) noexcept nogil
    cdef void native_advance(self, int64_t length) noexcept nogil
    cdef int64_t native_position(self) noexcept nogil
    cdef bint native_is_closed(self) noexcept nogil
    cdef bint native_is_end_of_stream(self) noexcept nogil
    cdef bint native_is_revoked(self) noexcept nogil
