"""The index of a catalog in memory, and the walk that builds it, for up to a million entries.

An archive that runs may change the bytes during a walk, so each length is read once and checked
before it is used. Offsets in the index were checked against the mapping. Channels are checked when
they are read, since another process may write them at that time. The layout is that of
spec archive-files 3.2 and spec archive-files 5.3.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memmove
from posix.mman cimport MADV_DONTNEED, madvise

from aerolog.archive.protocol.offsets cimport (
    DESCRIPTOR_BLOCK_LENGTH,
    ENTRY_HEADER_LENGTH,
    ENTRY_RECORDING_ID_OFFSET,
    ENTRY_SESSION_ID_OFFSET,
    ENTRY_STATE_OFFSET,
    ENTRY_STOP_POSITION_OFFSET,
    ENTRY_STREAM_ID_OFFSET,
    ENTRY_STRINGS_OFFSET,
    ENTRY_VALID,
    NULL_POSITION,
)
from aerolog.transport.concurrent.atomic cimport (
    get_i32,
    get_i64,
    load_acquire_i32,
    load_acquire_i64,
)
from aerolog.transport.memory.mapped_file cimport MappedFile

cdef extern from "string.h" nogil:
    void* memmem(
        const void* haystack, size_t haystack_length, const void* needle, size_t needle_length
    )

cdef enum:
    INITIAL_ROOM = 64
    RELEASE_LENGTH = 16 * 1024 * 1024


cdef int64_t release_walked(uint8_t* base, int64_t released, int64_t offset) noexcept nogil:
    """Release pages of a mapped file that a walk has passed, 16 MiB at a time.

    The pages stay in the system's page cache and are mapped again when they are read again.
    """
    if offset - released <= RELEASE_LENGTH:
        return released
    madvise(base + released, RELEASE_LENGTH, MADV_DONTNEED)
    return released + RELEASE_LENGTH


cdef int _grow(void** place, int64_t room, size_t size) except -1:
    cdef void* moved = realloc(place[0], room * size)
    if moved == NULL:
        raise MemoryError()
    place[0] = moved
    return 0


cdef bint _has_fragment(
    const uint8_t* base, int64_t capacity, int64_t offset, const uint8_t* fragment, int64_t length
) noexcept nogil:
    """Return whether the original channel of an entry contains a fragment."""
    cdef int64_t end, at
    if length == 0:
        return True
    end = offset + ENTRY_HEADER_LENGTH + load_acquire_i32(base + offset)
    at = offset + ENTRY_STRINGS_OFFSET
    if end > capacity or at + 4 > end:
        return False
    at += 4 + <int64_t> (<uint32_t> get_i32(base + at))
    if at + 4 > end:
        return False
    end = min(end, at + 4 + <int64_t> (<uint32_t> get_i32(base + at)))
    at += 4
    if at >= end:
        return False
    return memmem(base + at, end - at, fragment, length) != NULL


cdef class CatalogIndex:
    """Offsets, session ids and stream ids of a catalog's VALID entries, 24 bytes per entry.

    Ids ascend. Session and stream ids are those of the walk or of the last ``set_streams``. A
    process that does not write the catalog passes ``fresh`` to its searches, because the archive
    may have extended a recording with another session.
    """

    def __dealloc__(self) -> None:
        free(self._ids)
        free(self._offsets)
        free(self._session_ids)
        free(self._stream_ids)

    cdef int push(
        self, int64_t recording_id, int64_t offset, int32_t session_id, int32_t stream_id
    ) except -1:
        cdef int64_t at = self._count, room
        if at == self._room:
            room = max(<int64_t> INITIAL_ROOM, self._room + (self._room >> 1))
            _grow(<void**> &self._ids, room, sizeof(int64_t))
            _grow(<void**> &self._offsets, room, sizeof(int64_t))
            _grow(<void**> &self._session_ids, room, sizeof(int32_t))
            _grow(<void**> &self._stream_ids, room, sizeof(int32_t))
            self._room = room
        self._ids[at] = recording_id
        self._offsets[at] = offset
        self._session_ids[at] = session_id
        self._stream_ids[at] = stream_id
        self._count = at + 1
        return 0

    cdef int64_t lower(self, int64_t recording_id) noexcept nogil:
        """Return the index of the first entry with that id or a higher one."""
        cdef int64_t low = 0, high = self._count, middle
        while low < high:
            middle = (low + high) >> 1
            if self._ids[middle] < recording_id:
                low = middle + 1
            else:
                high = middle
        return low

    def __len__(self) -> int:
        return self._count

    def add(self, int64_t recording_id, int64_t offset, int32_t session_id, int32_t stream_id):
        """Append an entry.

        Raises:
            ValueError: the id is not higher than all others.
        """
        if self._count > 0 and recording_id <= self._ids[self._count - 1]:
            raise ValueError(
                f"recording id {recording_id} is not above {self._ids[self._count - 1]}"
            )
        self.push(recording_id, offset, session_id, stream_id)

    def offset_of(self, recording_id):
        """Return the offset of an entry in the file, -1 when no entry has that id."""
        cdef int64_t at
        if not 0 <= recording_id <= INT64_MAX:
            return -1
        at = self.lower(recording_id)
        if at < self._count and self._ids[at] == recording_id:
            return self._offsets[at]
        return -1

    def remove(self, int64_t recording_id):
        """Remove an entry and return whether there was one."""
        cdef int64_t at = self.lower(recording_id), behind
        if at >= self._count or self._ids[at] != recording_id:
            return False
        behind = self._count - at - 1
        memmove(self._ids + at, self._ids + at + 1, behind * sizeof(int64_t))
        memmove(self._offsets + at, self._offsets + at + 1, behind * sizeof(int64_t))
        memmove(self._session_ids + at, self._session_ids + at + 1, behind * sizeof(int32_t))
        memmove(self._stream_ids + at, self._stream_ids + at + 1, behind * sizeof(int32_t))
        self._count -= 1
        return True

    def shift(self, int64_t behind, int64_t difference):
        """Add ``difference`` bytes to the offsets above ``behind``: those entries were moved."""
        cdef int64_t at
        for at in range(self._count):
            if self._offsets[at] > behind:
                self._offsets[at] += difference

    def set_streams(self, int64_t recording_id, int32_t session_id, int32_t stream_id):
        """Set the session and stream id of an entry."""
        cdef int64_t at = self.lower(recording_id)
        if at < self._count and self._ids[at] == recording_id:
            self._session_ids[at] = session_id
            self._stream_ids[at] = stream_id

    def ids(self):
        """Return all recording ids in ascending order."""
        cdef int64_t at
        return [self._ids[at] for at in range(self._count)]

    def offsets(self):
        """Return the offsets of all entries in the order of their ids."""
        cdef int64_t at
        return [self._offsets[at] for at in range(self._count)]

    def active(self, MappedFile catalog not None):
        """Return the ids of the entries that have no stop position."""
        cdef int64_t at, released = 0
        cdef uint8_t* base = catalog.section(0, catalog.length)
        cdef const uint8_t* stop
        found = []
        for at in range(self._count):
            stop = base + self._offsets[at] + ENTRY_STOP_POSITION_OFFSET
            if load_acquire_i64(stop) == NULL_POSITION:
                found.append(self._ids[at])
            released = release_walked(base, released, self._offsets[at])
        catalog.check_whole()
        return found

    def find_last(
        self,
        MappedFile catalog not None,
        int64_t min_recording_id,
        int32_t session_id,
        int32_t stream_id,
        const uint8_t[::1] fragment not None,
        bint fresh=False,
    ):
        """Return the highest matching id from ``min_recording_id`` up, -1 when none matches."""
        cdef const uint8_t* base = catalog.section(0, catalog.length)
        cdef int64_t capacity = catalog.length, length = fragment.shape[0]
        cdef const uint8_t* wanted = &fragment[0] if length > 0 else NULL
        cdef int64_t at = self._count - 1, offset
        cdef int32_t session, stream
        with nogil:
            while at >= 0 and self._ids[at] >= min_recording_id:
                offset = self._offsets[at]
                session, stream = self._session_ids[at], self._stream_ids[at]
                if fresh and stream == stream_id:
                    session = get_i32(base + offset + ENTRY_SESSION_ID_OFFSET)
                if (
                    session == session_id
                    and stream == stream_id
                    and _has_fragment(base, capacity, offset, wanted, length)
                ):
                    break
                at -= 1
        catalog.check_whole()
        return self._ids[at] if at >= 0 and self._ids[at] >= min_recording_id else -1

    def matching(
        self,
        MappedFile catalog not None,
        int64_t from_recording_id,
        int64_t limit,
        stream_id,
        const uint8_t[::1] fragment not None,
    ):
        """Examine up to ``limit`` entries, starting with an id.

        Args:
            catalog: the mapped catalog that this index describes.
            from_recording_id: lowest id to examine.
            limit: entries to examine, 1 or more.
            stream_id: the wanted stream id; None matches all entries, whatever the fragment.
            fragment: bytes that the original channel must contain.

        Returns:
            The ids that match; the id to examine next; and whether the end of the index was
            reached. At the end the next id is the one after the last, as the reference counts: it
            takes ``from_recording_id`` for the id of the first entry that it examines.
        """
        cdef const uint8_t* base = catalog.section(0, catalog.length)
        cdef int64_t capacity = catalog.length, length = fragment.shape[0]
        cdef const uint8_t* wanted = &fragment[0] if length > 0 else NULL
        cdef int64_t first = self.lower(from_recording_id), at
        cdef int64_t end = min(self._count, first + max(<int64_t> 1, limit))
        cdef bint is_any = stream_id is None
        cdef int32_t stream = 0 if is_any else stream_id
        found = [
            self._ids[at]
            for at in range(first, end)
            if is_any
            or (
                self._stream_ids[at] == stream
                and _has_fragment(base, capacity, self._offsets[at], wanted, length)
            )
        ]
        catalog.check_whole()
        if end < self._count:
            return found, self._ids[end], False
        if end <= first:
            return found, from_recording_id, True
        return found, (self._ids[end - 1] if end - first > 1 else from_recording_id) + 1, True


cdef class EntryScan:
    """The result of one walk over a catalog.

    Attributes:
        index: the VALID entries.
        end_offset: offset after the last entry.
        last_id: recording id of the last entry in any state, -1 when there is none.
        last_offset: offset of the last entry in any state, -1 when there is none.
        bad_offset: offset of the invalid value that ended the walk, -1 when there is none.
        bad_value: the value at that offset.
        problem: what is wrong with that value.
    """

    cdef readonly CatalogIndex index
    cdef readonly int64_t end_offset
    cdef readonly int64_t last_id
    cdef readonly int64_t last_offset
    cdef readonly int64_t bad_offset
    cdef readonly int64_t bad_value
    cdef readonly str problem

    def __cinit__(self):
        self.index = CatalogIndex()
        self.last_id = -1
        self.last_offset = -1
        self.bad_offset = -1
        self.bad_value = 0
        self.problem = ""

    cdef void reject(self, str problem, int64_t offset, int64_t value):
        self.problem = problem
        self.bad_offset = offset
        self.bad_value = value


def scan_entries(MappedFile catalog not None, int64_t start, int64_t alignment):
    """Walk the entries from offset ``start`` to the first one whose length is not above 0."""
    if start % 4 != 0 or alignment < ENTRY_HEADER_LENGTH or alignment & (alignment - 1) != 0:
        raise ValueError(f"entries at {start} aligned to {alignment} cannot be walked")
    found = _scan(catalog.section(0, catalog.length), catalog.length, start, alignment)
    catalog.check_whole()
    return found


cdef EntryScan _scan(uint8_t* base, int64_t capacity, int64_t start, int64_t alignment):
    cdef EntryScan found = EntryScan()
    cdef int64_t offset = start
    cdef int64_t last_indexed = -1
    cdef int64_t released = 0
    cdef int64_t frame_length
    cdef int64_t recording_id
    cdef int32_t length
    while offset + ENTRY_HEADER_LENGTH <= capacity:
        length = load_acquire_i32(base + offset)
        if length <= 0:
            break
        frame_length = (<int64_t> length + ENTRY_HEADER_LENGTH + alignment - 1) & -alignment
        if frame_length > capacity - offset:
            found.reject("catalog entry passes the end of the file, length", offset, length)
            break
        if length < DESCRIPTOR_BLOCK_LENGTH:
            found.reject("catalog entry too short for a descriptor, length", offset, length)
            break
        recording_id = get_i64(base + offset + ENTRY_RECORDING_ID_OFFSET)
        if load_acquire_i32(base + offset + ENTRY_STATE_OFFSET) == ENTRY_VALID:
            if recording_id <= last_indexed:
                found.reject(
                    f"recordingId {recording_id} is less than or equal to the last recordingId"
                    f" {last_indexed}", offset + ENTRY_RECORDING_ID_OFFSET, recording_id
                )
                break
            found.index.push(
                recording_id,
                offset,
                get_i32(base + offset + ENTRY_SESSION_ID_OFFSET),
                get_i32(base + offset + ENTRY_STREAM_ID_OFFSET),
            )
            last_indexed = recording_id
        found.last_id = recording_id
        found.last_offset = offset
        offset += frame_length
        released = release_walked(base, released, offset)
    found.end_offset = offset
    return found


def ids_in_state(
    MappedFile catalog not None, int64_t start, int64_t end, int64_t alignment, int32_t state
):
    """Return the ids of entries in a state, between two offsets that a walk has checked."""
    cdef uint8_t* base = catalog.section(0, catalog.length)
    cdef int64_t offset = start, released = 0
    cdef int32_t length
    found = []
    end = min(end, catalog.length - ENTRY_HEADER_LENGTH - DESCRIPTOR_BLOCK_LENGTH)
    while offset < end:
        length = load_acquire_i32(base + offset)
        if length <= 0:
            break
        if load_acquire_i32(base + offset + ENTRY_STATE_OFFSET) == state:
            found.append(get_i64(base + offset + ENTRY_RECORDING_ID_OFFSET))
        offset += (<int64_t> length + ENTRY_HEADER_LENGTH + alignment - 1) & -alignment
        released = release_walked(base, released, offset)
    catalog.check_whole()
    return found
