"""The native interface of images, for the archive's recorder and the benchmarks.

``reader`` reads the log from the image's position on and needs no GIL: hold a reference to the
image (a borrowed pointer kept alive by a Python list is enough) and call ``image.reader.block``,
then ``image.reader.advance``; or ``.poll``, ``.read_records``, ``.read_values``, ``.position()``,
``.is_closed()``; see ``transport/logbuffer/log_reader.pxd``. One thread at a time. A closed image
answers 0 and stores nothing; its log stays mapped as long as the image object lives, so closing
from another thread is safe at any time.
"""


from libc.stdint cimport int32_t, int64_t

from aerolog.transport.client.message cimport Header
from aerolog.transport.client.batch_source cimport BatchSource
from aerolog.transport.client.message_view cimport MessageView
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.logbuffer.log_reader cimport LogReader


cdef class Image(BatchSource):
    cdef object __weakref__
    cdef LogReader reader
    cdef object _subscription             # weak reference
    cdef readonly object conductor
    cdef int32_t busy                     # a poll is under way
    cdef int64_t _fork_generation
    cdef readonly int64_t correlation_id
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t subscriber_position_id
    cdef readonly str source_identity
    cdef readonly int64_t join_position
    cdef int64_t _final_end_of_stream_position
    cdef bint _final_end_of_stream
    cdef bint _final_revoked
    cdef Header _header
    cdef MessageView _term_view
    cdef MessageView _assembled_view
    cdef int _log_fd                      # of the log's file, opened by the first raw poll
    cdef int enter(self) except -1
    cdef int _descriptor(self) except -1
    cdef object _call(self, object handler, const fragment_t* message)
    # A memoryview of a message behind its first bytes, for one call. The caller then releases it,
    # drops it, and ends it.
    cdef object begin_view(self, const fragment_t* message, int32_t skipped)
    cdef int end_view(self, const fragment_t* message) except -1
    cdef int32_t poll_handler(
        self, object handler, bint controlled, int32_t limit, int64_t limit_position, bint assemble
    ) except -1
    cdef int32_t poll_copies(
        self, list messages, int32_t limit, int64_t limit_position, bint assemble
    ) except -1
    cdef int64_t poll_one_block(self, object handler, int64_t length, bint raw) except -1


# The limit that a caller gives as int32; raises an error when it is negative.
cdef int32_t fragment_limit(object limit) except -1
# Makes a view that somebody kept useless, unless something was built on it.
cdef int release_view(object view) except -1
