"""The native interface of publications, for the archive's replayer and the benchmarks.

``appender`` writes into the log and needs no GIL: hold a reference to the publication (a borrowed
pointer kept alive by a Python list is enough) and call ``publication.appender.append(...)``,
``.append_slices``, ``.claim``, ``.append_records``, ``.append_values``, ``.position()``,
``.position_limit()``, ``.is_closed()``; on an exclusive publication also
``publication.exclusive.append_block(...)`` and ``.append_padding(...)``. Results and codes are in
``transport/logbuffer/appender.pxd``. A closed publication answers CLOSED; its log stays mapped as
long as the publication object lives, so closing from another thread is safe at any time.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.logbuffer.appender cimport Appender, ExclusiveAppender


# Appends the messages of a batch: the count, and by the pointers the last result and length.
ctypedef int64_t (*append_t)(
    Appender appender, object messages, object start, object limit, int64_t* result,
    int64_t* length,
) except -1


cdef class BasePublication:
    cdef object __weakref__
    cdef Appender appender
    cdef readonly object conductor        # the client's
    cdef object _client                   # keeps the client open while this is referred to
    cdef int32_t _closed                  # 0 open, 1 closed
    cdef int32_t _busy                    # a call that may give the GIL away is under way
    cdef int32_t _exclusive               # one thread at a time: _busy is minded
    cdef int64_t _fork_generation
    cdef int64_t _last_result
    cdef readonly int64_t registration_id
    cdef readonly int64_t original_registration_id
    cdef readonly int32_t position_limit_id
    cdef readonly int32_t channel_status_id
    cdef readonly str channel
    cdef int ready(self) except -1
    # Offers a batch by this publication's appender, or by another that writes with that one.
    cdef int64_t offer_batch(
        self, Appender appender, append_t append, object messages, object start, object limit
    ) except -1
    cdef object answer(self, int64_t result, int64_t length)
    cdef int64_t _append(self, object data, object reserved_value, int64_t* length) except? -100
    cdef int64_t _append_memory(
        self, const void* data, int64_t length, object reserved_value) except? -100


cdef class Publication(BasePublication):
    pass


cdef class ExclusivePublication(BasePublication):
    cdef ExclusiveAppender exclusive      # the same object as `appender`
    cdef public bint revoke_on_close
