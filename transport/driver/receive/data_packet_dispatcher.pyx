"""The streams and sessions that an endpoint wants, and its images (spec wire-protocol 8.3).

Anybody can send datagrams of any session, so only wanted sessions leave a trace here, and only a
bounded number of them. Nothing is kept about other sessions: each datagram is judged anew.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free

from aerolog.transport.driver.receive.receive_stream cimport ReceiveStream


cdef enum:
    FIRST_SLOT_COUNT = 16


cdef inline int64_t _hash(int64_t key) noexcept nogil:
    """Spread neighbouring stream and session ids over the table."""
    cdef uint64_t mixed = <uint64_t> key
    mixed = (mixed ^ (mixed >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    mixed = (mixed ^ (mixed >> 27)) * <uint64_t> 0x94D049BB133111EB
    return <int64_t> ((mixed ^ (mixed >> 31)) >> 1)


cdef class IdTable:
    """A table of int64 keys for streams and sessions; its Python methods are for tests."""
    def __dealloc__(self) -> None:
        free(self._slots)

    cdef slot_t* find(self, int64_t key) noexcept nogil:
        cdef int64_t mask = self.slot_count - 1
        cdef int64_t index
        if self.used == 0:
            return NULL
        index = _hash(key) & mask
        while self._slots[index].state != 0:
            if self._slots[index].key == key:
                return &self._slots[index]
            index = (index + 1) & mask
        return NULL

    cdef slot_t* add(self, int64_t key, int32_t state) noexcept nogil:
        cdef slot_t* slot = self.find(key)
        cdef int64_t index
        if slot is NULL:
            # At most half full, so that a walk from a key's place stays short.
            if 2 * (self.used + 1) > self.slot_count and not self._grow():
                return NULL
            index = _hash(key) & (self.slot_count - 1)
            while self._slots[index].state != 0:
                index = (index + 1) & (self.slot_count - 1)
            slot = &self._slots[index]
            slot.key = key
            slot.time_ns = 0
            slot.value = NULL
            slot.count = 0
            self.used += 1
        slot.state = state
        return slot

    cdef bint _grow(self) noexcept nogil:
        cdef slot_t* old = self._slots
        cdef int64_t old_count = self.slot_count
        cdef int64_t count = max(<int64_t> FIRST_SLOT_COUNT, 2 * old_count)
        cdef slot_t* grown = <slot_t*> calloc(<size_t> count, sizeof(slot_t))
        cdef int64_t at, index
        if grown is NULL:
            return False
        for at in range(old_count):
            if old[at].state != 0:
                index = _hash(old[at].key) & (count - 1)
                while grown[index].state != 0:
                    index = (index + 1) & (count - 1)
                grown[index] = old[at]
        self._slots = grown
        self.slot_count = count
        free(old)
        return True

    cdef void remove(self, int64_t key) noexcept nogil:
        cdef slot_t* slot = self.find(key)
        if slot is not NULL:
            self.remove_at(slot - self._slots)

    cdef void remove_at(self, int64_t index) noexcept nogil:
        """Close the gap: later slots whose keys belong at or before the gap move up."""
        cdef int64_t mask = self.slot_count - 1
        cdef int64_t gap = index
        cdef int64_t at = index
        cdef int64_t home
        self.used -= 1
        while True:
            at = (at + 1) & mask
            if self._slots[at].state == 0:
                break
            home = _hash(self._slots[at].key) & mask
            if ((at - home) & mask) >= ((at - gap) & mask):
                self._slots[gap] = self._slots[at]
                gap = at
        self._slots[gap].state = 0

    cdef slot_t* at(self, int64_t index) noexcept nogil:
        return &self._slots[index]

    def put(self, key: int, state: int) -> None:
        """Add a key; ValueError for a state below 1, MemoryError without memory."""
        if state < 1:
            raise ValueError(f"state {state} would mark a free slot; use 1 or more")
        if self.add(key, state) is NULL:
            raise MemoryError

    def get(self, key: int) -> int | None:
        cdef slot_t* slot = self.find(key)
        return None if slot is NULL else slot.state

    def discard(self, key: int) -> None:
        self.remove(key)

    def keys(self) -> list[int]:
        cdef int64_t index
        return [
            self._slots[index].key
            for index in range(self.slot_count)
            if self._slots[index].state != 0
        ]

    def __len__(self) -> int:
        return self.used


cdef enum:
    _PRESENT = 1        # single sessions of the stream are wanted
    _ALL_SESSIONS = 2

# After this time, a setup that was elicited and did not come, or an image that could not be made,
# is requested again (spec wire-protocol 8.4).
cdef int64_t _WAIT_TIMEOUT_NS = 1_000_000_000


cdef inline bint _waited(const slot_t* slot, int64_t now_ns) noexcept nogil:
    return <int64_t> (<uint64_t> now_ns - <uint64_t> slot.time_ns) > _WAIT_TIMEOUT_NS


cdef class DataPacketDispatcher:
    """The streams and sessions that an endpoint wants, and its images (spec wire-protocol 8.3).

    It belongs to the receiver; the Python methods are for tests.
    """

    def __cinit__(self, session_limit: int = 2**31 - 1) -> None:
        self._streams = IdTable()
        self._wanted = IdTable()
        self._sessions = IdTable()
        self._session_limit = session_limit

    # ---- what is wanted -------------------------------------------------------------------------

    cdef bint add_all(self, int32_t stream_id) noexcept nogil:
        return self._streams.add(stream_id, _ALL_SESSIONS) is not NULL

    cdef bint add_one(self, int32_t stream_id, int32_t session_id) noexcept nogil:
        cdef slot_t* stream = self._streams.find(stream_id)
        cdef int64_t key = pair_key(stream_id, session_id)
        if stream is NULL:
            stream = self._streams.add(stream_id, _PRESENT)
            if stream is NULL:
                return False
        if self._wanted.find(key) is NULL:
            if self._wanted.add(key, 1) is NULL:
                return False
            stream.time_ns += 1  # in the slot of a stream this is the number of single sessions
        return True

    cdef void remove_all(self, int32_t stream_id, int64_t now_ns) noexcept nogil:
        cdef slot_t* stream = self._streams.find(stream_id)
        cdef slot_t* session
        cdef int64_t index = 0
        if stream is NULL or stream.state != _ALL_SESSIONS:
            return
        stream.state = _PRESENT
        while index < self._sessions.slot_count:
            session = self._sessions.at(index)
            if (
                session.state != 0
                and high_of(session.key) == stream_id
                and self._wanted.find(session.key) is NULL
            ):
                self._forget(index, now_ns)
            else:
                index += 1
        if stream.time_ns == 0:
            self._streams.remove(stream_id)

    cdef void remove_one(
        self, int32_t stream_id, int32_t session_id, int64_t now_ns
    ) noexcept nogil:
        cdef slot_t* stream = self._streams.find(stream_id)
        cdef slot_t* session
        cdef int64_t key = pair_key(stream_id, session_id)
        if stream is NULL or self._wanted.find(key) is NULL:
            return
        self._wanted.remove(key)
        stream.time_ns -= 1
        if stream.state == _ALL_SESSIONS:
            return
        session = self._sessions.find(key)
        if session is not NULL:
            self._forget(session - self._sessions.at(0), now_ns)
        if stream.time_ns == 0:
            self._streams.remove(stream_id)

    cdef void _forget(self, int64_t index, int64_t now_ns) noexcept nogil:
        """Forget a session that is no longer wanted; later slots of the table move up."""
        cdef slot_t* session = self._sessions.at(index)
        cdef int32_t state = session.state
        if state == SESSION_ACTIVE:
            (<ReceiveStream> session.value).deactivate(now_ns)
            self._count_image(high_of(session.key), -1)
        self._leave(state)
        self._sessions.remove_at(index)

    cdef bint is_wanted(self, int32_t stream_id, int32_t session_id) noexcept nogil:
        cdef slot_t* stream = self._streams.find(stream_id)
        if stream is NULL:
            return False
        return (
            stream.state == _ALL_SESSIONS
            or self._wanted.find(pair_key(stream_id, session_id)) is not NULL
        )

    cdef bint wants_anything(self) noexcept nogil:
        return self._streams.used > 0

    # ---- datagrams ------------------------------------------------------------------------------

    cdef void* image_of(self, int32_t stream_id, int32_t session_id) noexcept nogil:
        cdef int64_t key = pair_key(stream_id, session_id)
        cdef slot_t* session
        if self._last_image is not NULL and self._last_key == key:
            return self._last_image
        session = self._sessions.find(key)
        if session is NULL or session.state != SESSION_ACTIVE:
            return NULL
        self._last_key = key
        self._last_image = session.value
        return session.value

    cdef bint on_data(
        self, int32_t stream_id, int32_t session_id, bint ends, int64_t now_ns
    ) noexcept nogil:
        cdef slot_t* session
        cdef int64_t key = pair_key(stream_id, session_id)
        if ends or not self.is_wanted(stream_id, session_id):
            return False
        session = self._sessions.find(key)
        if session is NULL:
            return self._wait(key, SESSION_PENDING_SETUP, now_ns) is not NULL
        if (
            session.state == SESSION_PENDING_SETUP or session.state == SESSION_REFUSED
        ) and _waited(session, now_ns):
            session.state = SESSION_PENDING_SETUP
            session.time_ns = now_ns
            return True
        return False

    cdef int judge_setup(
        self, int32_t stream_id, int32_t session_id, int64_t now_ns
    ) noexcept nogil:
        cdef slot_t* stream = self._streams.find(stream_id)
        cdef slot_t* session
        if stream is NULL:
            return SETUP_DROPPED
        if stream.count >= self._session_limit:
            return SETUP_OVER_LIMIT
        session = self._sessions.find(pair_key(stream_id, session_id))
        if session is NULL:
            return SETUP_WANTED if self.is_wanted(stream_id, session_id) else SETUP_DROPPED
        if session.state == SESSION_ACTIVE:
            return SETUP_OF_IMAGE
        if session.state == SESSION_PENDING_SETUP or (
            session.state == SESSION_REFUSED and _waited(session, now_ns)
        ):
            return SETUP_WANTED
        return SETUP_DROPPED

    cdef bint await_image(
        self, int32_t stream_id, int32_t session_id, int64_t now_ns
    ) noexcept nogil:
        cdef int64_t key = pair_key(stream_id, session_id)
        cdef slot_t* session = self._sessions.find(key)
        if session is NULL:
            return self._wait(key, SESSION_INIT_IN_PROGRESS, now_ns) is not NULL
        session.state = SESSION_INIT_IN_PROGRESS
        session.time_ns = now_ns
        return True

    cdef slot_t* _wait(self, int64_t key, int32_t state, int64_t now_ns) noexcept nogil:
        """Add a session that waits; NULL when too many sessions do."""
        cdef slot_t* session
        if self._waiting >= MAX_WAITING_SESSIONS:
            self._sweep(now_ns)
            if self._waiting >= MAX_WAITING_SESSIONS:
                return NULL
        session = self._sessions.add(key, state)
        if session is not NULL:
            session.time_ns = now_ns
            self._waiting += 1
            self._last_image = NULL
        return session

    cdef void _sweep(self, int64_t now_ns) noexcept nogil:
        """Forget sessions whose wait is over, at most once in a timeout."""
        cdef slot_t* session
        cdef int64_t index = 0
        if <int64_t> (<uint64_t> now_ns - <uint64_t> self._last_sweep_ns) <= _WAIT_TIMEOUT_NS:
            return
        self._last_sweep_ns = now_ns
        while index < self._sessions.slot_count:
            session = self._sessions.at(index)
            if (
                session.state == SESSION_PENDING_SETUP or session.state == SESSION_REFUSED
            ) and _waited(session, now_ns):
                self._leave(session.state)
                self._sessions.remove_at(index)
            else:
                index += 1

    cdef void _leave(self, int32_t state) noexcept nogil:
        """Update the counts when a session leaves a state."""
        self._last_image = NULL
        if state == SESSION_COOL_DOWN:
            self._cool_downs -= 1
        elif state != SESSION_ACTIVE:
            self._waiting -= 1

    # ---- images ---------------------------------------------------------------------------------

    cdef bint add_image(self, ReceiveStream image) noexcept nogil:
        cdef int64_t key = pair_key(image.stream_id, image.session_id)
        cdef slot_t* session
        if not self.is_wanted(image.stream_id, image.session_id):
            return False
        session = self._sessions.find(key)
        if session is not NULL and session.state == SESSION_ACTIVE:
            session.value = <void*> image
            self._last_image = NULL
            return True
        if session is not NULL:
            self._leave(session.state)
        session = self._sessions.add(key, SESSION_ACTIVE)
        self._last_image = NULL
        if session is NULL:
            return False
        session.value = <void*> image
        self._count_image(image.stream_id, 1)
        return True

    cdef void remove_image(self, ReceiveStream image, bint may_come_back) noexcept nogil:
        cdef slot_t* session = self._sessions.find(pair_key(image.stream_id, image.session_id))
        if (
            session is NULL
            or session.state != SESSION_ACTIVE
            or session.value != <void*> image
        ):
            return
        self._count_image(image.stream_id, -1)
        self._last_image = NULL
        if may_come_back or self._cool_downs >= MAX_COOL_DOWNS:
            self._sessions.remove(session.key)
        else:
            session.state = SESSION_COOL_DOWN
            session.value = NULL
            self._cool_downs += 1

    cdef void _count_image(self, int32_t stream_id, int32_t by) noexcept nogil:
        cdef slot_t* stream = self._streams.find(stream_id)
        if stream is not NULL:
            stream.count += by

    cdef void refuse_image(
        self, int32_t stream_id, int32_t session_id, int64_t now_ns
    ) noexcept nogil:
        cdef slot_t* session = self._sessions.find(pair_key(stream_id, session_id))
        if session is not NULL and session.state == SESSION_INIT_IN_PROGRESS:
            session.state = SESSION_REFUSED
            session.time_ns = now_ns

    cdef void end_cool_down(self, int32_t stream_id, int32_t session_id) noexcept nogil:
        cdef slot_t* session = self._sessions.find(pair_key(stream_id, session_id))
        if session is not NULL and session.state == SESSION_COOL_DOWN:
            self._leave(SESSION_COOL_DOWN)
            self._sessions.remove(session.key)

    cdef void deactivate_all(self, int64_t now_ns) noexcept nogil:
        cdef int64_t index
        for index in range(self._sessions.slot_count):
            if self._sessions.at(index).state == SESSION_ACTIVE:
                (<ReceiveStream> self._sessions.at(index).value).deactivate(now_ns)

    # ---- for tests ------------------------------------------------------------------------------

    def wants(self, stream_id: int, session_id: int) -> bool:
        return self.is_wanted(stream_id, session_id)

    def session_state(self, stream_id: int, session_id: int) -> int:
        cdef slot_t* session = self._sessions.find(pair_key(stream_id, session_id))
        return SESSION_UNKNOWN if session is NULL else session.state

    @property
    def waiting_sessions(self) -> int:
        return self._waiting

    def image_count(self, stream_id: int) -> int:
        cdef slot_t* stream = self._streams.find(stream_id)
        return 0 if stream is NULL else stream.count
