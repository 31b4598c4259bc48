"""Notes of time and position: the recorder takes them, another thread writes them to the index.

The recorder tells of every block that it has written. Most blocks need no note. For one that does,
the epoch clock is read and the note goes into a ring, which never makes the recorder wait. When the
ring is full the note is lost, and times around it are interpolated between its neighbours.
"""

from libc.errno cimport EBADF, EIO
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t

from aerolog.archive.time_index.blocks cimport (
    BLOCK_LENGTH,
    TimeBlocks,
    block_t,
    filling_add,
    filling_begin,
    filling_next,
    filling_resume,
    filling_seal,
    frame_sample,
    is_next_segment,
)
from aerolog.transport.concurrent.atomic cimport (
    cas_i32,
    get_i32,
    get_i64,
    get_u16,
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.data_file cimport DataFile
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FLAG_BEGIN,
    FRAME_DATA,
    RESERVED_VALUE_OFFSET,
    TYPE_OFFSET,
)

cdef extern from "sched.h" nogil:
    int sched_yield() noexcept

cdef extern from "aerolog_segments.h" nogil:
    int aerolog_release_range(int fd, int64_t offset, int64_t length) noexcept

cdef enum:
    # A note is due a millisecond and 4 KiB after the last one, or 10 ms after it.
    NOTE_NS = 1_000_000
    NOTE_BYTES = 4096
    QUIET_NS = 10_000_000
    # A larger change between the clocks means that the epoch clock was set, not slewed.
    STEP_NS = 1_000_000
    OF_CLOCK = -1
    OF_RESERVED = -8      # relative to the payload, as in channel parameters

TIME_OF_CLOCK = OF_CLOCK
TIME_OF_RESERVED = OF_RESERVED


cdef class TimeNotes:
    """Notes of one recording, from the recorder's thread to the index file.

    Args:
        file: the index file, writable; ``finish`` closes it.
        blocks: the blocks of the file; entries after ``position`` are cut off.
        position: the position from which on is recorded.
        time_offset: offset of the time (int64, epoch ns) in a message's payload, or one of the two
            constants above.
        segment_length: length of the recording's segments; 0 leaves them out of account.
        origin: a position at which a segment begins.
    """

    def __init__(
        self,
        DataFile file not None,
        TimeBlocks blocks not None,
        int64_t position,
        *,
        int32_t time_offset=OF_CLOCK,
        int64_t segment_length=0,
        int64_t origin=0,
    ):
        self.recording_id = blocks.recording_id
        self._time_offset = time_offset
        self._file = file
        self._segment_length = segment_length
        self._origin = origin
        self._last_time = self._last_position = INT64_MIN
        self._due_position = INT64_MIN
        self._due_ns = INT64_MIN
        self._quiet_ns = INT64_MIN
        self._go_on(blocks, position)

    cdef int _go_on(self, TimeBlocks blocks, int64_t position) except -1:
        """Keep the entries up to a position and cut off those after it."""
        cdef block_t block
        cdef int64_t number = blocks.limit - 1, keep = 0
        cdef int32_t count = 0
        while number >= blocks.first:
            count = blocks.read(number, &block)
            if count > 0 and block.words[1] <= position:
                break
            number -= 1
        filling_begin(&self._filling, blocks.recording_id, blocks.identity, blocks.first)
        if number >= blocks.first:
            while keep < count and block.words[2 * keep + 1] <= position:
                keep += 1
            self._last_time = block.words[2 * keep - 2]
            self._last_position = block.words[2 * keep - 1]
            if filling_resume(&self._filling, &block, keep):
                filling_next(&self._filling)
            elif keep < count:
                self._is_dirty = True
        # Readers use pread, so a file that becomes shorter does them no harm.
        blocks_with_header = self._filling.block.number + (2 if self._filling.block.count else 1)
        self._file.set_length(blocks_with_header * BLOCK_LENGTH)
        if self._is_dirty and self._write_block() < 0:
            raise OSError(self.failed_errno, "the index cannot be written")
        return 0

    # -- the recorder -----------------------------------------------------------------------------

    cdef void written(
        self,
        Clock clock,
        int64_t begin_ns,
        int64_t end_ns,
        int64_t position,
        const uint8_t* frames,
        int64_t length,
    ) noexcept nogil:
        """Tell of a block that has been written.

        Args:
            clock: gives the epoch time.
            begin_ns: monotonic time at which the write began.
            end_ns: monotonic time at which the write ended, just now.
            position: position of the block's first frame.
            frames: the block.
            length: bytes of the block.
        """
        if begin_ns >= self._quiet_ns or (
            begin_ns >= self._due_ns and position >= self._due_position
        ):
            self._note(clock, begin_ns, end_ns, position, frames, length)
        self._written_ns = end_ns
        self._has_written = True

    cdef void _note(
        self,
        Clock clock,
        int64_t begin_ns,
        int64_t end_ns,
        int64_t position,
        const uint8_t* frames,
        int64_t length,
    ) noexcept nogil:
        cdef int64_t time_ns, before_ns, difference
        cdef int32_t sample = frame_sample(frames, length)
        cdef bint has_stepped
        if self._time_offset == OF_CLOCK:
            time_ns = clock.epoch_ns() - (end_ns - begin_ns)
            difference = time_ns - begin_ns
            has_stepped = not (
                self._difference - STEP_NS <= difference <= self._difference + STEP_NS)
        else:
            time_ns = frame_time(frames, length, self._time_offset)
            if time_ns <= 0:
                return
            difference = time_ns - begin_ns
            has_stepped = time_ns < self._last_time
        if self._has_noted and (has_stepped or begin_ns - self._written_ns >= QUIET_NS):
            # Nothing was recorded in between: what is before the position ends here, by the clock
            # as it was then.
            before_ns = self._written_ns + self._difference
            if before_ns > self._last_time and (has_stepped or before_ns < time_ns):
                self._put(before_ns, position, sample)
        self._put(time_ns, position, sample)
        self._has_noted = True
        self._difference = difference
        self._last_time = time_ns
        self._due_ns = begin_ns + NOTE_NS
        self._due_position = position + NOTE_BYTES
        self._quiet_ns = begin_ns + QUIET_NS

    cdef void _put(self, int64_t time_ns, int64_t position, int32_t sample) noexcept nogil:
        cdef note_t* note
        if self._tail - load_acquire_i64(&self._head_shared) >= NOTES_CAPACITY:
            self.dropped += 1
            return
        note = &self._ring[self._tail & (NOTES_CAPACITY - 1)]
        note.time_ns = time_ns
        note.position = position
        note.sample = sample
        self._tail += 1
        store_release_i64(&self._tail_shared, self._tail)

    # -- the file ---------------------------------------------------------------------------------

    cdef int32_t waiting(self) noexcept nogil:
        """Return the number of notes in the ring."""
        return <int32_t> (
            load_acquire_i64(&self._tail_shared) - load_acquire_i64(&self._head_shared))

    cdef bint is_closed(self) noexcept nogil:
        return load_acquire_i32(&self._closed) != 0

    cdef int32_t drain(self) noexcept nogil:
        """Write the notes in the ring; returns the entries written, -1 after a failed write."""
        cdef int32_t count = 0
        if not cas_i32(&self._lock, 0, 1):
            return 0
        if not self.is_closed():
            count = self._drain()
        store_release_i32(&self._lock, 0)
        return count

    cdef int32_t _drain(self) noexcept nogil:
        cdef int64_t head = load_acquire_i64(&self._head_shared)
        cdef int64_t tail = load_acquire_i64(&self._tail_shared)
        cdef note_t* note
        cdef int32_t count = 0
        if self.failed_errno != 0:
            return -1
        while head < tail:
            note = &self._ring[head & (NOTES_CAPACITY - 1)]
            if self._filling.block.count > 0 and is_next_segment(
                self._filling.block.words[1], note.position, self._segment_length, self._origin
            ):
                if self._is_dirty and self._write_block() < 0:
                    return -1
                filling_next(&self._filling)
            self._is_dirty = True
            if filling_add(&self._filling, note.time_ns, note.position, note.sample):
                if self._write_block() < 0:
                    return -1
                filling_next(&self._filling)
            head += 1
            count += 1
        store_release_i64(&self._head_shared, head)
        if self._is_dirty and self._write_block() < 0:
            return -1
        self.entries += count
        return count

    cdef int32_t _write_block(self) noexcept nogil:
        """Write the block that is being filled, with the entries that it has."""
        cdef int64_t written
        if self._file is None:  # __init__ did not run
            self.failed_errno = EBADF
            return -1
        filling_seal(&self._filling)
        written = self._file.pwrite(
            &self._filling.block, BLOCK_LENGTH, (self._filling.block.number + 1) * BLOCK_LENGTH)
        if written != BLOCK_LENGTH:
            self.failed_errno = <int32_t> -written if written < 0 else EIO
            return -1
        self._is_dirty = False
        return 0

    # -- for Python -------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether the file is closed, after which nothing more is written."""
        return self.is_closed()

    @property
    def in_ring(self) -> int:
        """Notes that are not in the file yet."""
        return self.waiting()

    def note(
        self,
        Clock clock not None,
        int64_t begin_ns,
        int64_t end_ns,
        int64_t position,
        const uint8_t[::1] frames=None,
    ) -> None:
        """Tell of a block, as the recorder does.

        Args:
            clock: gives the epoch time.
            begin_ns: monotonic time at which the write began.
            end_ns: monotonic time at which the write ended.
            position: position of the block's first frame.
            frames: the block, for times in messages.
        """
        if frames is None:
            self.written(clock, begin_ns, end_ns, position, NULL, 0)
        else:
            self.written(clock, begin_ns, end_ns, position, &frames[0], frames.shape[0])

    def write_out(self) -> int:
        """Write the notes in the ring; returns the entries written, -1 after a failed write."""
        return self.drain()

    def finish(self, int64_t position) -> None:
        """Note where the recording ends, write all notes and close the file."""
        cdef int64_t before_ns = self._written_ns + self._difference
        if self.is_closed():
            return
        with nogil:
            while not cas_i32(&self._lock, 0, 1):
                sched_yield()
            if self._has_noted and self._has_written:
                if self.waiting() == NOTES_CAPACITY:
                    self._drain()
                self._put(max(before_ns, self._last_time), position, 0)
            self._drain()
            store_release_i32(&self._closed, 1)
            store_release_i32(&self._lock, 0)
        self._file.close()

    def end_at(self, int64_t time_ns, int64_t position) -> None:
        """Note a time at which nothing was recorded behind a position, in place of the recorder.

        Times that are noted do not go back: a time before that of the last entry is raised to it.
        Where the index ends at the position already, nothing is noted.
        """
        if position != self._last_position:
            self._last_time = max(time_ns, self._last_time)
            self._last_position = position
            self._put(self._last_time, position, 0)

    def repeat_last(self) -> None:
        """Note that from the last entry on times are known by their bounds alone, up to the next.

        Without an entry nothing is noted.
        """
        if self._last_position != INT64_MIN:
            self._put(self._last_time, self._last_position, 0)

    def unknown_from(self, int64_t position) -> None:
        """Note that times are not known from a position on, until the next entry."""
        self._put(INT64_MAX, position, 0)
        self._put(INT64_MIN, position, 0)

    def move_to(self, DataFile file not None, TimeBlocks blocks not None) -> None:
        """Go on behind the last entry of another file; the one so far is closed.

        The caller holds the notes.
        """
        before, self._file = self._file, file
        self._is_dirty = False
        last_time = self._last_time
        self._go_on(blocks, INT64_MAX)
        self._last_time = last_time
        before.close()

    def hold(self) -> bool:
        """Keep notes in the ring until ``release``, after those before were written to the file.

        Returns:
            Whether they are held: False when the file is closed already.
        """
        with nogil:
            while not cas_i32(&self._lock, 0, 1):
                sched_yield()
            if not self.is_closed():
                self._drain()
        if self.is_closed():
            self.release()
            return False
        return True

    def release(self) -> None:
        """Let notes be written to the file again, after ``hold``."""
        store_release_i32(&self._lock, 0)

    def give_up(self) -> None:
        """Close the file without writing the notes that are in the ring."""
        with nogil:
            while not cas_i32(&self._lock, 0, 1):
                sched_yield()
            store_release_i32(&self._closed, 1)
            store_release_i32(&self._lock, 0)
        self._file.close()


cdef int64_t frame_time(const uint8_t* frame, int64_t length, int32_t offset) noexcept nogil:
    """The time that a channel or publisher put into a message's first frame, 0 for none."""
    cdef int32_t frame_length
    if length < DATA_HEADER_LENGTH:
        return 0
    frame_length = get_i32(frame)
    if frame_length > length or get_u16(frame + TYPE_OFFSET) != FRAME_DATA:
        return 0
    if not frame[FLAGS_OFFSET] & FLAG_BEGIN:
        return 0
    if offset == OF_RESERVED:
        return get_i64(frame + RESERVED_VALUE_OFFSET)
    if offset < 0 or <int64_t> offset + 8 > frame_length - DATA_HEADER_LENGTH:
        return 0
    return get_i64(frame + DATA_HEADER_LENGTH + offset)


def time_in_frame(const uint8_t[::1] frame not None, int32_t offset) -> int:
    """Return the time in a message's first frame, 0 when it has none.

    Args:
        frame: the frame, its header included.
        offset: offset of the time in the payload, or TIME_OF_RESERVED.
    """
    return frame_time(&frame[0], frame.shape[0], offset) if frame.shape[0] else 0


def let_go_of_blocks(DataFile file not None, int64_t first, int64_t limit) -> None:
    """Release the disk space of blocks, where the file system supports that."""
    if type(file) is DataFile and 0 <= first < limit:
        aerolog_release_range(
            file.fd, (first + 1) * BLOCK_LENGTH, (limit - first) * BLOCK_LENGTH)
