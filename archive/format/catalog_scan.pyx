"""The walk over a catalog's entries, natively: a catalog may hold a million of them.

Layout: spec archive-files 3.2 and 5.3. The bytes may change under the walk when an archive is
running, so each length is read once and checked before it is used.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.format.catalog_index cimport CatalogIndex, release_walked
from aerolog.transport.concurrent.atomic cimport get_i32, get_i64, load_acquire_i32
from aerolog.transport.memory.mapped_file cimport MappedFile

cdef enum:
    ENTRY_HEADER_LENGTH = 32
    STATE_OFFSET = 4
    RECORDING_ID_OFFSET = ENTRY_HEADER_LENGTH + 16
    SESSION_ID_OFFSET = ENTRY_HEADER_LENGTH + 72
    STREAM_ID_OFFSET = ENTRY_HEADER_LENGTH + 76
    DESCRIPTOR_LENGTH_MIN = 80
    STATE_VALID = 1


cdef class EntryScan:
    """What one walk over a catalog found.

    Attributes:
        index: of the VALID entries.
        end_offset: behind the last entry.
        last_id: of the last entry in any state, -1 when there is none.
        last_offset: of the last entry in any state, -1 when there is none.
        bad_offset: where the walk met something impossible, -1 when nowhere.
        bad_value: what stood there.
        problem: what is wrong with it.
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
    """Walk the entries from offset ``start`` to the first one without a length."""
    if start % 4 != 0 or alignment < ENTRY_HEADER_LENGTH or alignment & (alignment - 1) != 0:
        raise ValueError(f"entries at {start} aligned to {alignment} cannot be walked")
    return _scan(catalog.section(0, catalog.length), catalog.length, start, alignment)


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
        if length < DESCRIPTOR_LENGTH_MIN:
            found.reject("catalog entry too short for a descriptor, length", offset, length)
            break
        recording_id = get_i64(base + offset + RECORDING_ID_OFFSET)
        if load_acquire_i32(base + offset + STATE_OFFSET) == STATE_VALID:
            if recording_id <= last_indexed:
                found.reject(
                    f"recordingId {recording_id} is less than or equal to the last recordingId"
                    f" {last_indexed}", offset + RECORDING_ID_OFFSET, recording_id
                )
                break
            found.index.push(
                recording_id,
                offset,
                get_i32(base + offset + SESSION_ID_OFFSET),
                get_i32(base + offset + STREAM_ID_OFFSET),
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
    """Ids of the entries between two offsets that have a state; a walk has gone over them."""
    cdef uint8_t* base = catalog.section(0, catalog.length)
    cdef int64_t offset = start, released = 0
    cdef int32_t length
    found = []
    end = min(end, catalog.length - ENTRY_HEADER_LENGTH - DESCRIPTOR_LENGTH_MIN)
    while offset < end:
        length = load_acquire_i32(base + offset)
        if length <= 0:
            break
        if load_acquire_i32(base + offset + STATE_OFFSET) == state:
            found.append(get_i64(base + offset + RECORDING_ID_OFFSET))
        offset += (<int64_t> length + ENTRY_HEADER_LENGTH + alignment - 1) & -alignment
        released = release_walked(base, released, offset)
    return found
