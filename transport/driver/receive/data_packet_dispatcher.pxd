"""The streams and sessions that an endpoint wants, and its images, for native code."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from aerolog.transport.driver.receive.receive_stream cimport ReceiveStream


ctypedef struct slot_t:
    int64_t key
    int64_t time_ns
    void* value
    int32_t state       # 0: the slot is free
    int32_t count


cdef inline int64_t pair_key(int32_t high, int32_t low) noexcept nogil:
    return <int64_t> ((<uint64_t> <uint32_t> high) << 32 | <uint64_t> <uint32_t> low)


cdef inline int32_t high_of(int64_t key) noexcept nogil:
    return <int32_t> (<uint64_t> key >> 32)


cdef inline int32_t low_of(int64_t key) noexcept nogil:
    return <int32_t> <uint32_t> <uint64_t> key


cdef class IdTable:
    cdef slot_t* _slots
    cdef int64_t slot_count     # a power of two, 0 before the first key
    cdef int64_t used
    # NULL when the key is not there.
    cdef slot_t* find(self, int64_t key) noexcept nogil
    # The slot of a key, added where it is missing, in a state above 0; NULL without memory.
    cdef slot_t* add(self, int64_t key, int32_t state) noexcept nogil
    cdef void remove(self, int64_t key) noexcept nogil
    # Empties a slot; another key may move into it, so a loop looks at the same index again.
    cdef void remove_at(self, int64_t index) noexcept nogil
    # For loops over the table: a free slot has state 0.
    cdef slot_t* at(self, int64_t index) noexcept nogil
    cdef bint _grow(self) noexcept nogil


cpdef enum:
    SESSION_UNKNOWN = 0
    SESSION_ACTIVE = 1
    SESSION_PENDING_SETUP = 2
    SESSION_INIT_IN_PROGRESS = 3
    SESSION_COOL_DOWN = 4
    SESSION_REFUSED = 5

cpdef enum:
    # The number of sessions that may wait for a setup or an image; further ones are dropped.
    MAX_WAITING_SESSIONS = 1024
    # The number of sessions that may cool down; beyond it the next one may return at once.
    MAX_COOL_DOWNS = 16384

# What the dispatcher decides about a SETUP.
cdef enum:
    SETUP_DROPPED = 0
    SETUP_OF_IMAGE = 1
    SETUP_WANTED = 2
    SETUP_OVER_LIMIT = 3


cdef class DataPacketDispatcher:
    cdef IdTable _streams       # state: _PRESENT or _ALL_SESSIONS; count: images
    cdef IdTable _wanted        # single sessions, by stream and session
    cdef IdTable _sessions      # states and images, by stream and session
    cdef int32_t _session_limit
    cdef int32_t _waiting
    cdef int32_t _cool_downs
    cdef int64_t _last_sweep_ns
    cdef int64_t last_limit_ns  # when a SETUP over the limit was last reported
    cdef bint limit_was_told
    cdef int64_t _last_key
    cdef void* _last_image
    cdef bint add_all(self, int32_t stream_id) noexcept nogil
    cdef bint add_one(self, int32_t stream_id, int32_t session_id) noexcept nogil
    cdef void remove_all(self, int32_t stream_id, int64_t now_ns) noexcept nogil
    cdef void remove_one(
        self, int32_t stream_id, int32_t session_id, int64_t now_ns
    ) noexcept nogil
    cdef bint is_wanted(self, int32_t stream_id, int32_t session_id) noexcept nogil
    cdef bint wants_anything(self) noexcept nogil
    # The image that takes packets of a session, NULL without one.
    cdef void* image_of(self, int32_t stream_id, int32_t session_id) noexcept nogil
    # Handles data of a session without image: whether to elicit a setup.
    cdef bint on_data(
        self, int32_t stream_id, int32_t session_id, bint ends, int64_t now_ns
    ) noexcept nogil
    cdef int judge_setup(
        self, int32_t stream_id, int32_t session_id, int64_t now_ns
    ) noexcept nogil
    # Notes that an image was requested; False without memory.
    cdef bint await_image(
        self, int32_t stream_id, int32_t session_id, int64_t now_ns
    ) noexcept nogil
    # False when the image is no longer wanted, or without memory.
    cdef bint add_image(self, ReceiveStream image) noexcept nogil
    cdef void remove_image(self, ReceiveStream image, bint may_come_back) noexcept nogil
    cdef void refuse_image(
        self, int32_t stream_id, int32_t session_id, int64_t now_ns
    ) noexcept nogil
    cdef void end_cool_down(self, int32_t stream_id, int32_t session_id) noexcept nogil
    cdef void deactivate_all(self, int64_t now_ns) noexcept nogil
    cdef slot_t* _wait(self, int64_t key, int32_t state, int64_t now_ns) noexcept nogil
    cdef void _forget(self, int64_t index, int64_t now_ns) noexcept nogil
    cdef void _leave(self, int32_t state) noexcept nogil
    cdef void _sweep(self, int64_t now_ns) noexcept nogil
    cdef void _count_image(self, int32_t stream_id, int32_t by) noexcept nogil
