"""Native code that fills and reads the blocks of a time index (docs/archive/time-index.md).

A block is valid when its checksum is right and it names this index and its own number. Any other
block is skipped, and the times that it held are known less precisely.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from aerolog.archive.format.checksum cimport CHECKSUM_CRC32C, crc_of
from aerolog.transport.concurrent.atomic cimport cpu_pause
from aerolog.transport.memory.data_file cimport DataFile

cdef enum:
    COUNT_AT = 4032
    RUNS_BEFORE_AT = 4036
    RUNS_AFTER_AT = 4040
    IDENTITY_AT = 4044
    NUMBER_WORD = 506         # 4048
    RECORDING_WORD = 507
    PRIOR_MAX_WORD = 508
    MIN_WORD = 509
    MAX_WORD = 510
    CHECKSUM_AT = 4092
    # Attempts to read the last block, which the recorder may be writing at the same time.
    ATTEMPTS = 64


cdef inline void _put(block_t* block, int at, int32_t value) noexcept nogil:
    memcpy(<uint8_t*> block + at, &value, sizeof(value))


cdef inline int32_t _get(const block_t* block, int at) noexcept nogil:
    cdef int32_t value
    memcpy(&value, <const uint8_t*> block + at, sizeof(value))
    return value


# -- filling --------------------------------------------------------------------------------------

cdef void filling_begin(
    filling_t* filling, int64_t recording_id, int32_t identity, int64_t number
) noexcept nogil:
    """Begin to fill a block; nothing of the blocks before it is taken into account."""
    memset(filling, 0, sizeof(filling_t))
    filling.recording_id = recording_id
    filling.identity = identity
    filling.number = number
    filling.prior_max = INT64_MIN
    filling.last_time = INT64_MIN
    filling.min = INT64_MAX
    filling.max = INT64_MIN


cdef bint filling_add(filling_t* filling, int64_t time_ns, int64_t position) noexcept nogil:
    """Add an entry to a block that has room; returns whether the block is full now."""
    filling.block.words[2 * filling.count] = time_ns
    filling.block.words[2 * filling.count + 1] = position
    if time_ns < filling.last_time:
        filling.runs += 1
    filling.last_time = time_ns
    if time_ns < filling.min:
        filling.min = time_ns
    if time_ns > filling.max:
        filling.max = time_ns
    filling.count += 1
    return filling.count == ENTRIES_PER_BLOCK


cdef void filling_seal(filling_t* filling) noexcept nogil:
    """Write the trailer; further entries may be added, after which it is written again."""
    cdef block_t* block = &filling.block
    _put(block, COUNT_AT, filling.count)
    _put(block, RUNS_BEFORE_AT, filling.runs_before)
    _put(block, RUNS_AFTER_AT, filling.runs)
    _put(block, IDENTITY_AT, filling.identity)
    block.words[NUMBER_WORD] = filling.number
    block.words[RECORDING_WORD] = filling.recording_id
    block.words[PRIOR_MAX_WORD] = filling.prior_max
    block.words[MIN_WORD] = filling.min
    block.words[MAX_WORD] = filling.max
    _put(block, CHECKSUM_AT, crc_of(CHECKSUM_CRC32C, <const uint8_t*> block, CHECKSUM_AT))


cdef void filling_next(filling_t* filling) noexcept nogil:
    """Begin the next block."""
    memset(&filling.block, 0, sizeof(block_t))
    filling.number += 1
    if filling.max > filling.prior_max:
        filling.prior_max = filling.max
    filling.min = INT64_MAX
    filling.max = INT64_MIN
    filling.count = 0
    filling.runs_before = filling.runs


cdef bint filling_resume(filling_t* filling, const block_t* block, int64_t keep) noexcept nogil:
    """Continue a valid block after its first ``keep`` entries; returns whether it is full."""
    cdef int64_t index, recording_id = filling.recording_id
    cdef int32_t identity = filling.identity
    filling_begin(filling, recording_id, identity, block.words[NUMBER_WORD])
    filling.prior_max = block_prior_max(block)
    filling.runs_before = block_runs_before(block)
    filling.runs = filling.runs_before
    for index in range(keep):
        filling_add(filling, block.words[2 * index], block.words[2 * index + 1])
    # The count of the block includes a step back at its first entry; a step that was cut off
    # does no harm.
    filling.runs = block_runs_after(block)
    return filling.count == ENTRIES_PER_BLOCK


# -- reading --------------------------------------------------------------------------------------

cdef int32_t block_count(const block_t* block) noexcept nogil:
    return _get(block, COUNT_AT)


cdef int32_t block_runs_before(const block_t* block) noexcept nogil:
    return _get(block, RUNS_BEFORE_AT)


cdef int32_t block_runs_after(const block_t* block) noexcept nogil:
    return _get(block, RUNS_AFTER_AT)


cdef int64_t block_prior_max(const block_t* block) noexcept nogil:
    return block.words[PRIOR_MAX_WORD]


cdef int64_t block_min(const block_t* block) noexcept nogil:
    return block.words[MIN_WORD]


cdef int64_t block_max(const block_t* block) noexcept nogil:
    return block.words[MAX_WORD]


cdef bint block_is_valid(
    const block_t* block, int64_t number, int64_t recording_id, int32_t identity
) noexcept nogil:
    cdef int32_t count = _get(block, COUNT_AT)
    return (
        0 < count <= ENTRIES_PER_BLOCK
        and block.words[NUMBER_WORD] == number
        and block.words[RECORDING_WORD] == recording_id
        and _get(block, IDENTITY_AT) == identity
        and _get(block, CHECKSUM_AT)
        == crc_of(CHECKSUM_CRC32C, <const uint8_t*> block, CHECKSUM_AT)
    )


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
            if block_is_valid(block, number, self.recording_id, self.identity):
                return block_count(block)
            if self._file is None:
                return 0
            cpu_pause()
        return 0

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

    def entries_of(self, int64_t number) -> bytes:
        """The entries of a block as stored in the file, empty for a damaged block."""
        cdef block_t block
        cdef int32_t count = self.read(number, &block)
        return (<const uint8_t*> &block)[: 16 * count]


def encode_blocks(times, positions, int64_t recording_id, int32_t identity):
    """Encode entries as blocks, as a file has them after its header.

    Args:
        times: the times of the entries, int64 epoch nanoseconds.
        positions: the positions of the entries, int64, as many as times and never descending.
        recording_id: the recording that each block names.
        identity: the identity in the header, which each block repeats.

    Raises:
        ValueError: there are not as many positions as times, or the positions descend.
    """
    cdef const int64_t[::1] all_times = memoryview(times).cast("B").cast("q")
    cdef const int64_t[::1] all_positions = memoryview(positions).cast("B").cast("q")
    cdef int64_t count = all_times.shape[0], index
    cdef filling_t filling
    if count != all_positions.shape[0]:
        raise ValueError(f"{count} times for {all_positions.shape[0]} positions")
    image = bytearray((count + ENTRIES_PER_BLOCK - 1) // ENTRIES_PER_BLOCK * BLOCK_LENGTH)
    cdef uint8_t[::1] target = image
    with nogil:
        filling_begin(&filling, recording_id, identity, 0)
        for index in range(count):
            if index > 0 and all_positions[index] < all_positions[index - 1]:
                with gil:
                    raise ValueError(
                        f"entry {index}: position {all_positions[index]} is before"
                        f" {all_positions[index - 1]}"
                    )
            if filling_add(&filling, all_times[index], all_positions[index]) or index == count - 1:
                filling_seal(&filling)
                memcpy(&target[filling.number * BLOCK_LENGTH], &filling.block, BLOCK_LENGTH)
                filling_next(&filling)
    return image
