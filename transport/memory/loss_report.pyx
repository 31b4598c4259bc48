"""The loss report: the bytes that each stream lost, with times (spec cnc-and-commands 7).

    entry at multiples of 64: i64 observations, i64 bytes lost, i64 first and i64 last observation
    (epoch ms), i32 session id, i32 stream id, i32 length + channel, and at the next multiple of 4
    i32 length + source; US-ASCII

The receiver writes; readers are other processes.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    get_and_add_i64,
    load_acquire_i64,
    load_plain_i32,
    load_plain_i64,
    store_plain_i32,
    store_plain_i64,
    store_release_i64,
)
from aerolog.transport.memory.mapped_file cimport MappedFile

from dataclasses import dataclass

from aerolog.transport.errors import FileFormatError

cdef enum:
    COUNT_AT = 0
    BYTES_AT = 8
    FIRST_AT = 16
    LAST_AT = 24
    SESSION_AT = 32
    STREAM_AT = 36
    CHANNEL_AT = 40
    ENTRY_ALIGNMENT = 64

FILE_NAME = "loss-report.dat"


@dataclass(frozen=True, slots=True)
class LossEntry:
    """The losses of one image; times are epoch milliseconds."""

    observation_count: int
    total_bytes_lost: int
    first_observation_ms: int
    last_observation_ms: int
    session_id: int
    stream_id: int
    channel: str
    source: str


cdef inline int64_t _aligned(int64_t length, int64_t alignment) noexcept nogil:
    return (length + alignment - 1) & ~(alignment - 1)


cdef class LossReport:
    """The writer of a loss report.

    Args:
        mapped: the file that holds the report, which is still all zeros.
        offset: offset of the report in the file, a multiple of 8.
        length: bytes of the report; -1 for the rest of the file.
    """

    def __cinit__(self, MappedFile mapped not None, int64_t offset=0, int64_t length=-1):
        mapped.check_writable()
        self.capacity = _check_section(mapped, offset, length)
        self._data = mapped.address + offset
        self._mapped = mapped
        self.next_offset = 0

    def create_entry(
        self,
        bytes_lost: int,
        epoch_ms: int,
        session_id: int,
        stream_id: int,
        channel: str,
        source: str,
    ) -> int | None:
        """Create the entry for an image's first loss.

        Returns:
            The entry for ``add_loss`` and ``record_loss``; None if the report is full, and then no
            further loss of the image is reported.
        """
        cdef bytes channel_bytes = channel.encode("ascii", "replace")
        cdef bytes source_bytes = source.encode("ascii", "replace")
        cdef int32_t channel_length = <int32_t> len(channel_bytes)
        cdef int32_t source_length = <int32_t> len(source_bytes)
        cdef int64_t lost = bytes_lost, now_ms = epoch_ms
        cdef int32_t session = session_id, stream = stream_id
        cdef int64_t source_at = CHANNEL_AT + _aligned(4 + channel_length, 4)
        cdef int64_t at = self.next_offset
        if at + source_at + 4 + source_length > self.capacity:
            return None
        cdef uint8_t* entry = self._data + at
        store_plain_i64(entry + BYTES_AT, lost)
        store_plain_i64(entry + FIRST_AT, now_ms)
        store_plain_i64(entry + LAST_AT, now_ms)
        store_plain_i32(entry + SESSION_AT, session)
        store_plain_i32(entry + STREAM_AT, stream)
        store_plain_i32(entry + CHANNEL_AT, channel_length)
        memcpy(entry + CHANNEL_AT + 4, <const char*> channel_bytes, channel_length)
        store_plain_i32(entry + source_at, source_length)
        memcpy(entry + source_at + 4, <const char*> source_bytes, source_length)
        store_release_i64(entry + COUNT_AT, 1)
        self.next_offset = _aligned(at + source_at + 4 + source_length, ENTRY_ALIGNMENT)
        return at

    cdef void add_loss(self, int64_t entry, int64_t bytes_lost, int64_t epoch_ms) noexcept nogil:
        """Count a further loss of an entry that ``create_entry`` returned."""
        if entry < 0 or entry >= self.next_offset or entry % ENTRY_ALIGNMENT:
            return
        store_release_i64(self._data + entry + LAST_AT, epoch_ms)
        get_and_add_i64(self._data + entry + BYTES_AT, bytes_lost)
        get_and_add_i64(self._data + entry + COUNT_AT, 1)

    def record_loss(self, entry: int, bytes_lost: int, epoch_ms: int) -> None:
        """Count a further loss of an entry that ``create_entry`` returned."""
        if not 0 <= entry < self.next_offset or entry % ENTRY_ALIGNMENT:
            raise ValueError(f"{entry} is no entry of this loss report")
        self.add_loss(entry, bytes_lost, epoch_ms)

    def entries(self) -> list[LossEntry]:
        """Return the entries of the report."""
        return read_loss_report(self._mapped, self._data - self._mapped.address, self.capacity)


def read_loss_report(MappedFile mapped, offset: int = 0, length: int = -1) -> list[LossEntry]:
    """Read a loss report, which a driver may be writing, up to the first damaged entry.

    Args:
        mapped: the file that holds the report.
        offset: offset of the report in the file, a multiple of 8.
        length: bytes of the report; -1 for the rest of the file.
    """
    cdef int64_t capacity = _check_section(mapped, offset, length)
    cdef int64_t begin = offset, at = 0, count, source_at, end
    cdef int32_t channel_length, source_length
    cdef const uint8_t* entry
    found = []
    while at + CHANNEL_AT + 8 <= capacity:
        entry = mapped.address + begin + at
        count = load_acquire_i64(entry + COUNT_AT)
        if count <= 0:
            break
        channel_length = load_plain_i32(entry + CHANNEL_AT)
        if channel_length < 0 or channel_length > capacity - at - CHANNEL_AT - 8:
            break
        source_at = CHANNEL_AT + _aligned(4 + <int64_t> channel_length, 4)
        if source_at + 4 > capacity - at:
            break
        source_length = load_plain_i32(entry + source_at)
        if source_length < 0 or source_length > capacity - at - source_at - 4:
            break
        end = source_at + 4 + source_length
        found.append(
            LossEntry(
                count,
                load_plain_i64(entry + BYTES_AT),
                load_plain_i64(entry + FIRST_AT),
                load_acquire_i64(entry + LAST_AT),
                load_plain_i32(entry + SESSION_AT),
                load_plain_i32(entry + STREAM_AT),
                entry[CHANNEL_AT + 4:CHANNEL_AT + 4 + channel_length].decode("ascii", "replace"),
                entry[source_at + 4:end].decode("ascii", "replace"),
            )
        )
        at += _aligned(end, ENTRY_ALIGNMENT)
    mapped.check_whole()
    return found


cdef int64_t _check_section(MappedFile mapped, int64_t offset, int64_t length) except -1:
    if offset % 8:
        raise FileFormatError(f"a loss report at offset {offset} of {mapped.path} is not aligned")
    if length < 0:
        length = mapped.length - offset
    mapped.section(offset, length)
    return length
