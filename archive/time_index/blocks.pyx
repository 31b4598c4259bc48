"""Native code that fills and reads the blocks of a time index (docs/archive/time-index.md).

A block is valid when its checksum is right and it names this index and its own number. Any other
block is skipped, and the times that it held are known less precisely.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from aerolog.archive.format.checksum cimport CHECKSUM_CRC32C, crc_of
from aerolog.transport.concurrent.atomic cimport cpu_pause, get_i32, get_u16
from aerolog.transport.memory.data_file cimport DataFile
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH, FRAME_DATA, TYPE_OFFSET

cdef enum:
    CHECKSUM_AT = BLOCK_LENGTH - 4
    COUNT_AT = BLOCK_LENGTH - 64
    # Bytes of a frame that its sample covers, at most.
    SAMPLED_LENGTH = 96
    # Attempts to read the last block, which the recorder may be writing at the same time.
    ATTEMPTS = 64


cdef int32_t checksum_of(const block_t* block) noexcept nogil:
    return crc_of(CHECKSUM_CRC32C, <const uint8_t*> block, CHECKSUM_AT)


cdef int32_t frame_sample(const uint8_t* frame, int64_t length) noexcept nogil:
    """Return a checksum of a frame's beginning by which it is recognized, 0 when there is none."""
    cdef int32_t covered, found
    if length < DATA_HEADER_LENGTH:
        return 0
    covered = get_i32(frame)
    if covered < DATA_HEADER_LENGTH:
        return 0
    if get_u16(frame + TYPE_OFFSET) != FRAME_DATA:
        covered = DATA_HEADER_LENGTH  # the body of padding is not written
    covered = <int32_t> min(min(covered, SAMPLED_LENGTH), length)
    found = crc_of(CHECKSUM_CRC32C, frame, covered)
    return found if found != 0 else 1


cdef bint is_next_segment(
    int64_t before, int64_t position, int64_t segment_length, int64_t origin
) noexcept nogil:
    """Whether a segment begins between two positions; 0 as length leaves segments out of account.

    A block has the entries of one segment, so that each segment has a sample of its own.
    """
    if segment_length <= 0 or before < origin:
        return False
    return (position - origin) // segment_length != (before - origin) // segment_length


def sample_of(const uint8_t[::1] frame not None) -> int:
    """Return a checksum of a frame's beginning by which it is recognized, 0 when there is none.

    Args:
        frame: the frame, its header included; at most SAMPLE_LENGTH bytes are used.
    """
    return frame_sample(&frame[0], frame.shape[0]) if frame.shape[0] else 0


SAMPLE_LENGTH = SAMPLED_LENGTH
#: The times of two entries at one position, from which on times are not known: whatever is asked
#: for may lie there. They end with the next entry.
UNKNOWN_TIMES = (INT64_MAX, INT64_MIN)


# -- filling --------------------------------------------------------------------------------------

cdef void filling_begin(
    filling_t* filling, int64_t recording_id, int32_t identity, int64_t number
) noexcept nogil:
    """Begin to fill a block; nothing of the blocks before it is taken into account."""
    memset(filling, 0, sizeof(filling_t))
    filling.block.recording_id = recording_id
    filling.block.identity = identity
    filling.block.number = number
    filling.block.prior_max = INT64_MIN
    filling.block.min = INT64_MAX
    filling.block.max = INT64_MIN
    filling.last_time = INT64_MIN


cdef bint filling_add(
    filling_t* filling, int64_t time_ns, int64_t position, int32_t sample
) noexcept nogil:
    """Add an entry to a block that has room; returns whether the block is full now."""
    cdef block_t* block = &filling.block
    if block.count == 0 or (block.sample == 0 and position == block.words[1]):
        block.sample = sample
    block.words[2 * block.count] = time_ns
    block.words[2 * block.count + 1] = position
    if time_ns < filling.last_time:
        block.runs_after += 1
    filling.last_time = time_ns
    if time_ns < block.min:
        block.min = time_ns
    if time_ns > block.max:
        block.max = time_ns
    block.count += 1
    return block.count == ENTRIES_PER_BLOCK


cdef void filling_seal(filling_t* filling) noexcept nogil:
    """Write the checksum; further entries may be added, after which it is written again."""
    filling.block.checksum = checksum_of(&filling.block)


cdef void filling_next(filling_t* filling) noexcept nogil:
    """Begin the next block."""
    cdef block_t* block = &filling.block
    memset(block.words, 0, sizeof(block.words))
    block.number += 1
    if block.max > block.prior_max:
        block.prior_max = block.max
    block.min = INT64_MAX
    block.max = INT64_MIN
    block.count = 0
    block.sample = 0
    block.runs_before = block.runs_after


cdef bint filling_resume(filling_t* filling, const block_t* block, int64_t keep) noexcept nogil:
    """Continue a valid block after its first ``keep`` entries; returns whether it is full."""
    cdef int64_t index
    filling_begin(filling, block.recording_id, block.identity, block.number)
    filling.block.prior_max = block.prior_max
    filling.block.runs_before = block.runs_before
    for index in range(keep):
        filling_add(filling, block.words[2 * index], block.words[2 * index + 1], block.sample)
    # The count of the block includes a step back at its first entry; a step that was cut off
    # does no harm.
    filling.block.runs_after = block.runs_after
    return filling.block.count == ENTRIES_PER_BLOCK


# -- reading --------------------------------------------------------------------------------------

cdef class TimeBlocks:
    """The blocks of a time index, behind its header.

    Args:
        source: the file, or the content of a whole file in memory.
        recording_id: the recording that each block has to name.
        identity: the identity in the header, which each block has to repeat.
        first: number of the first block that is kept.
    """

    def __init__(self, source, int64_t recording_id, int32_t identity, *, int64_t first=0):
        cdef Py_buffer view
        self.recording_id = recording_id
        self.identity = identity
        self.first = max(first, 0)
        if isinstance(source, DataFile):
            self._file = source
        else:
            self._image = memoryview(source).cast("B")
            PyObject_GetBuffer(self._image, &view, PyBUF_SIMPLE)
            self._memory = <const uint8_t*> view.buf
            self._memory_length = view.len
            PyBuffer_Release(&view)
        self.look_again()

    def look_again(self) -> None:
        """Read the file's size again, since the index may have grown."""
        length = self._file.file_size() if self._file is not None else self._memory_length
        self.limit = max(length // BLOCK_LENGTH - 1, self.first)

    cdef int64_t raw_read(self, int64_t number, block_t* block) noexcept nogil:
        """Return the bytes of a block, as many as the file has."""
        cdef int64_t at = (number + 1) * BLOCK_LENGTH
        if not 0 <= number < self.limit:
            return 0
        if self._file is not None:
            return self._file.pread(block, BLOCK_LENGTH, at)
        if at + BLOCK_LENGTH > self._memory_length:
            return 0
        memcpy(block, self._memory + at, BLOCK_LENGTH)
        return BLOCK_LENGTH

    cdef int32_t read(self, int64_t number, block_t* block) noexcept nogil:
        """Read a block; returns the number of its entries, 0 when it is not valid."""
        cdef int _attempt, attempts = ATTEMPTS if number == self.limit - 1 else 1
        for _attempt in range(attempts):
            if self.raw_read(number, block) != BLOCK_LENGTH:
                return 0
            if (
                0 < block.count <= ENTRIES_PER_BLOCK
                and block.number == number
                and block.recording_id == self.recording_id
                and block.identity == self.identity
                and block.checksum == checksum_of(block)
            ):
                return block.count
            if self._file is None:
                return 0
            cpu_pause()
        return 0

    cdef int64_t entries_before(self, int64_t limit) noexcept nogil:
        """Return the entries of the blocks before one, by their trailers, which are not checked."""
        cdef int64_t number, found = 0
        cdef int32_t count
        for number in range(self.first, limit):
            count = self._count(number)
            if 0 < count <= ENTRIES_PER_BLOCK:
                found += count
        return found

    cdef int32_t _count(self, int64_t number) noexcept nogil:
        """Return what the trailer of a block says of its entries; 0 when it cannot be read."""
        cdef int32_t count = 0
        cdef int64_t at = (number + 1) * BLOCK_LENGTH + COUNT_AT
        if not 0 <= number < self.limit:
            return 0
        if self._file is not None:
            return count if self._file.pread(&count, 4, at) == 4 else 0
        return get_i32(self._memory + at) if at + 4 <= self._memory_length else 0

    def damaged(self) -> list:
        """The numbers of all blocks that are not valid; reads the whole file."""
        cdef block_t block
        return [number for number in range(self.first, self.limit) if not self.read(number, &block)]

    def block_of(self, int64_t position) -> int:
        """Number of the last block that begins at or before a position; the first without one."""
        cdef block_t block
        cdef int64_t low = self.first, high = self.limit, middle, number, found = self.first
        while low < high:
            middle = low + (high - low) // 2
            number = middle
            while number < high and not self.read(number, &block):
                number += 1
            if number == high or block.words[1] > position:
                high = middle
            else:
                found = number
                low = number + 1
        return found

    def sample(self, int64_t number) -> tuple[int, int] | None:
        """Position of a block's first entry and the sample of the frame there; None without one."""
        cdef block_t block
        if not self.read(number, &block) or block.sample == 0:
            return None
        return block.words[1], block.sample

    def ends(self) -> tuple[int, int] | None:
        """Positions of the first and the last entry in valid blocks; None without any."""
        cdef block_t block
        cdef int64_t number = self.first, first
        while number < self.limit and not self.read(number, &block):
            number += 1
        if number == self.limit:
            return None
        first = block.words[1]
        number = self.limit - 1
        while not self.read(number, &block):
            number -= 1
        return first, block.words[2 * block.count - 1]

    def gaps(self) -> list[tuple[int, int]]:
        """Positions between which times are not known; the last may have no end, 2^63 - 1.

        The blocks are read only where there are such gaps.
        """
        cdef block_t block
        cdef int64_t number = self.limit - 1
        cdef int32_t index, count
        while number >= self.first and not self.read(number, &block):
            number -= 1
        if number < self.first or max(block.prior_max, block.max) != INT64_MAX:
            return []
        found = []
        begin = None
        for number in range(self.first, self.limit):
            count = self.read(number, &block)
            for index in range(count):
                if begin is not None and block.words[2 * index] not in UNKNOWN_TIMES:
                    found.append((begin, block.words[2 * index + 1]))
                    begin = None
                elif begin is None and block.words[2 * index] == INT64_MAX:
                    begin = block.words[2 * index + 1]
        if begin is not None:
            found.append((begin, INT64_MAX))
        return found

    def steps_back(self, int64_t number) -> tuple[int, int]:
        """How often times went back before a valid block, and up to its end."""
        cdef block_t block
        if not self.read(number, &block):
            raise ValueError(f"block {number} is damaged")
        return block.runs_before, block.runs_after

    def entries_of(self, int64_t number) -> bytes:
        """The entries of a block as stored in the file, empty for a damaged block."""
        cdef block_t block
        cdef int32_t count = self.read(number, &block)
        return (<const uint8_t*> &block)[: 16 * count]


def encode_blocks(
    times,
    positions,
    int64_t recording_id,
    int32_t identity,
    sample_at=None,
    int64_t segment_length=0,
    int64_t origin=0,
):
    """Encode entries as blocks, as a file has them after its header.

    Args:
        times: the times of the entries, int64 epoch nanoseconds.
        positions: the positions of the entries, int64, as many as times and never descending.
        recording_id: the recording that each block names.
        identity: the identity in the header, which each block repeats.
        sample_at: gives the sample of the frame at a position; None for an index without samples.
        segment_length: a block has no more than the entries of one segment; 0 to fill the blocks.
        origin: a position at which a segment begins.

    Raises:
        ValueError: there are not as many positions as times, or the positions descend.
    """
    cdef const int64_t[::1] all_times = memoryview(times).cast("B").cast("q")
    cdef const int64_t[::1] all_positions = memoryview(positions).cast("B").cast("q")
    cdef int64_t count = all_times.shape[0], index
    cdef int32_t sample
    cdef bint is_last
    cdef filling_t filling
    if count != all_positions.shape[0]:
        raise ValueError(f"{count} times for {all_positions.shape[0]} positions")
    image = bytearray()
    with nogil:
        filling_begin(&filling, recording_id, identity, 0)
        for index in range(count):
            if index > 0 and all_positions[index] < all_positions[index - 1]:
                with gil:
                    raise ValueError(
                        f"entry {index}: position {all_positions[index]} is before"
                        f" {all_positions[index - 1]}"
                    )
            sample = 0
            if filling.block.count == 0 and sample_at is not None:
                with gil:
                    sample = sample_at(all_positions[index])
            is_last = filling_add(&filling, all_times[index], all_positions[index], sample)
            is_last = is_last or index == count - 1 or is_next_segment(
                filling.block.words[1], all_positions[index + 1], segment_length, origin)
            if is_last:
                filling_seal(&filling)
                with gil:
                    image += (<const uint8_t*> &filling.block)[:BLOCK_LENGTH]
                filling_next(&filling)
    return image
