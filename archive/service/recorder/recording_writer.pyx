"""The data path of recording (spec archive-files 9): blocks of images to segment files.

In each duty cycle a writer writes one block of whole frames, directly from the term to the file.
Then it advances the position counter with a release store, so that readers of the counter find the
bytes in the file. A block counts only if the counters of image and recording are still the
archive's after it was written: a process that was paused for long has lost both, and what it read
may have been overwritten (decision 0023). Work that needs Python (opening and closing files,
events at start and end) is a state in which the writer waits for the agent's control().
"""

from libc.errno cimport EIO, EOPNOTSUPP
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from posix.unistd cimport close as _close

import os

from aerolog.archive.format.segment import segment_file_name

from aerolog.archive.format.checksum cimport Checksum
from aerolog.archive.protocol.offsets cimport (
    BLOCK_LENGTH_OFFSET,
    PROGRESS_BLOCK_LENGTH,
    PROGRESS_LENGTH,
    PROGRESS_POSITION_OFFSET,
    PROGRESS_RECORDING_ID_OFFSET,
    PROGRESS_START_POSITION_OFFSET,
    PROGRESS_TEMPLATE_ID,
    SCHEMA_ID,
    SCHEMA_ID_OFFSET,
    SCHEMA_VERSION,
    SCHEMA_VERSION_OFFSET,
    TEMPLATE_ID_OFFSET,
)
from aerolog.archive.service.io_agent cimport IoAgent, add_io, io_totals_t
from aerolog.archive.service.recorder.segment_files cimport SegmentFiles, release_room
from aerolog.transport.client.image cimport Image
from aerolog.transport.concurrent.atomic cimport (
    load_acquire_i32,
    load_acquire_i64,
    put_i64,
    put_u16,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.logbuffer.descriptor cimport end_of_stream_position
from aerolog.transport.logbuffer.log_reader cimport block_t
from aerolog.transport.memory.counter cimport counter_is_live, counter_of, store_counter
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.data_file cimport DataFile
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH

INIT = WRITER_INIT
OPEN = WRITER_OPEN
SEGMENT_FULL = WRITER_SEGMENT_FULL
ENDED = WRITER_ENDED
FAILED = WRITER_FAILED
RELEASED = WRITER_RELEASED

cdef enum:
    # Part of a segment after which the next segment file is requested.
    ASK_FRACTION = 8


cdef class RecordingWriter:
    """Writes one image into the segments of one recording.

    Args:
        recording_id: id in the names of the segments.
        image: the recorded image, from its join position on.
        segment_base: stream position at the start of the first file.
        segment_length: bytes of each file, a power of two.
        block_limit: most bytes in a block, at most a term length.
        sync_level: what is synced after each block: 0 nothing, 1 data, 2 data and metadata.
        checksum: checksum that replaces the session id of each data frame, None to keep it.
        counters: the driver's counters, which keep the position counter mapped.
        counter_id: id of the recording's position counter.
        registration_id: the registration that the counter was given to.
    """

    def __cinit__(
        self,
        int64_t recording_id,
        Image image not None,
        *,
        int64_t segment_base,
        int64_t segment_length,
        int32_t block_limit,
        int32_t sync_level,
        Checksum checksum,
        CountersReader counters not None,
        int32_t counter_id,
        int64_t registration_id,
    ):
        self._position = counter_of(counters, counter_id, registration_id)
        if self._position.value == NULL:
            raise ValueError(f"no counter {counter_id}")
        if not 0 <= image.join_position - segment_base < segment_length:
            raise ValueError(
                f"join position {image.join_position} is not in the segment at {segment_base}"
            )
        self.recording_id = recording_id
        self.image = image
        self._reader = image.reader
        self.join_position = image.join_position
        self.segment_base = segment_base
        self.segment_offset = image.join_position - segment_base
        self.segment_length = segment_length
        self._block_limit = block_limit
        self._sync_level = sync_level
        self._checksum = checksum
        self._counters = counters
        self._recorded = image.join_position
        self._last_progress = image.join_position
        self._end_limit = -1
        self._ask_offset = segment_length // ASK_FRACTION

    cdef int32_t state_of(self) noexcept nogil:
        return load_acquire_i32(&self._state)

    cdef int32_t _fail(self, int32_t error, int64_t length) noexcept nogil:
        self.failed_errno = error
        self.failed_length = length
        store_release_i32(&self._state, WRITER_FAILED)
        return 1

    cdef int32_t _lose(self) noexcept nogil:
        """End, since the image or the recording has lost its counter; the last block is unsound."""
        if counter_is_live(&self._position):
            store_release_i32(&self._state, WRITER_ENDED)  # the image alone is gone
        else:
            self.counter_lost = True
            store_release_i32(&self._state, WRITER_FAILED)
        return 1

    cdef void _store_position(self, int64_t position) noexcept nogil:
        # Pairs with the acquire load of replays and of others that wait for this position.
        store_release_i64(&self._recorded, position)
        store_counter(&self._position, position)

    cdef int32_t step(
        self, Clock clock, uint8_t* scratch, io_totals_t* totals
    ) noexcept nogil:
        """Write the next block; returns the stream bytes that it took, 0 when there was none."""
        cdef block_t block
        cdef int32_t length
        cdef int64_t behind, to_write, result
        cdef const uint8_t* source
        cdef bint is_stopped = load_acquire_i32(&self._abort) != 0
        length = self._reader.block(self._block_limit, &block)
        if (is_stopped or length <= 0) and self._is_over(is_stopped, length):
            store_release_i32(&self._state, WRITER_ENDED)
            return 1
        if length <= 0:
            return 0 if counter_is_live(&self._position) else self._lose()
        source = block.address
        behind = self._reader.position() + length
        to_write = DATA_HEADER_LENGTH if block.is_padding else length
        if self._checksum is not None and not block.is_padding:
            memcpy(scratch, source, length)
            self._checksum.stamp_block(scratch, length)
            source = scratch
        result = self._write(source, to_write, clock, totals)
        if not self._reader.holds() or not counter_is_live(&self._position):
            self.has_unsound_end = True
            return self._lose()
        if result == 0 and self.notes is not None:
            self.notes.written(
                clock,
                self._write_begin_ns,
                self._write_end_ns,
                self.segment_base + self.segment_offset,
                source,  # as it is in the file, by which its sample is compared
                length,
            )
        self._reader.advance(behind)
        if result < 0:
            return self._fail(<int32_t> -result, to_write)
        self.segment_offset += length
        if self.segment_offset >= self.segment_length:
            # As in the reference, the position advances only once the next file exists.
            if self._segments is None or not self._roll_over():
                store_release_i32(&self._state, WRITER_SEGMENT_FULL)
                return length
        elif self.segment_offset >= self._ask_offset and self._segments is not None:
            self._segments.want()
            self._ask_offset = self.segment_length
        self._store_position(self.segment_base + self.segment_offset)
        return length

    cdef bint _is_over(self, bint is_stopped, int32_t available) noexcept nogil:
        """Return whether nothing more is to be recorded.

        A stopped recording gets what was published before the stop was seen. That is over at the
        first time that the log has nothing more, and after a term at the latest, since no log holds
        more and a publisher may go on for ever.
        """
        cdef int64_t position = self._reader.position()
        if available <= 0:
            return (
                is_stopped
                or self._reader.is_closed()
                or position >= end_of_stream_position(self._reader.log)
            )
        if self._end_limit < 0:
            self._end_limit = position + self._reader.log.term_length
        return position >= self._end_limit

    cdef int64_t _write(
        self, const uint8_t* source, int64_t length, Clock clock, io_totals_t* totals
    ) noexcept nogil:
        """Write a block after the bytes written so far, and sync it; returns 0 or -errno."""
        cdef int64_t begin = clock.nano_time()
        cdef int64_t written = 0
        cdef int64_t result
        while written < length:
            result = self._file.pwrite(
                source + written, length - written, self.segment_offset + written)
            if result <= 0:
                return result if result < 0 else -EIO
            written += result
        if self._sync_level > 0:
            result = self._file.sync(self._sync_level)
            if result < 0:
                return result
        self._write_begin_ns = begin
        self._write_end_ns = clock.nano_time()
        add_io(totals, length, self._write_end_ns - begin)
        return 0

    cdef int32_t _roll_over(self) noexcept nogil:
        """Continue in the next segment; returns False when control() has to report a failure."""
        cdef bint has_room = False
        cdef int fd = self._segments.take(
            self.recording_id,
            self.segment_base + self.segment_length,
            self.segment_length,
            &has_room,
        )
        if fd < 0:
            return False
        # Errors of writes were reported, and the data was synced where configured.
        _close(self._file.fd)
        self._file.fd = fd
        self._has_room = has_room
        self._begin_segment()
        return True

    cdef void _begin_segment(self) noexcept nogil:
        self.segment_base += self.segment_length
        self.segment_offset = 0
        self._ask_offset = self.segment_length // ASK_FRACTION

    @property
    def state(self) -> int:
        """One of INIT, OPEN, SEGMENT_FULL, ENDED, FAILED, RELEASED."""
        return self.state_of()

    @property
    def position(self) -> int:
        """Position after the last block, for the recorder's thread; others read the counter."""
        return self.segment_base + self.segment_offset

    @property
    def recorded_position(self) -> int:
        """Position up to which everything is recorded, as the position counter shows it."""
        return load_acquire_i64(&self._recorded)

    def abort(self) -> None:
        """Request the end from any thread, after what the log holds now."""
        store_release_i32(&self._abort, 1)

    def open_with(
        self, DataFile file not None, SegmentFiles segments=None, bint has_room=False
    ) -> None:
        """Start writing to the join position's file; ``segments`` provides later files."""
        self._file = file
        self._segments = segments
        self._has_room = has_room
        store_release_i32(&self._state, WRITER_OPEN)

    def roll_over(self, DataFile file not None, bint has_room=False) -> None:
        """Continue in the next segment and advance the position counter to its start."""
        self._file = file
        self._has_room = has_room
        self._begin_segment()
        self._store_position(self.segment_base)
        store_release_i32(&self._state, WRITER_OPEN)

    def fail(self, failure) -> None:
        """End with an error that control code encountered."""
        self.failure = failure
        store_release_i32(&self._state, WRITER_FAILED)

    def take_file(self):
        """Return the open file, which the caller closes; None when there is none."""
        cdef DataFile file = self._file
        self._file = None
        return file

    def give_back_room(self) -> None:
        """Release disk space that was allocated after the last byte of the recording."""
        cdef int result
        if self._file is None or self._segments is None or self._segments.preallocate:
            return
        if self._has_room:
            self._has_room = False
            result = release_room(self._file.fd, self.segment_offset, self.segment_length)
            if result < 0 and result != -EOPNOTSUPP:
                raise OSError(
                    -result,
                    os.strerror(-result),
                    segment_file_name(self.recording_id, self.segment_base),
                )

    def finish_notes(self) -> None:
        """Write the notes collected for the time index."""
        if self.notes is not None:
            self.notes.finish(self.segment_base + self.segment_offset)

    def mark_released(self) -> None:
        """Mark this object as released by the recorder, so that the conductor may drop it."""
        store_release_i32(&self._state, WRITER_RELEASED)


cdef class RecorderAgent(IoAgent):
    """Runs all writers; work that needs Python is left to ``control`` of the subclass.

    The doorbell is rung when a writer has been released. The buffer holds a block with checksums.
    """

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        cdef int32_t index, work = 0
        cdef int64_t before = self.totals.bytes
        cdef void* pointer
        for index in range(self.table.limit()):
            pointer = self.table.at(index)
            if pointer == NULL:
                continue
            if (<RecordingWriter> pointer).state_of() == WRITER_OPEN:
                if (<RecordingWriter> pointer).step(self.clock, self.buffer, &self.totals) > 0:
                    work += 1
                self._progress(<RecordingWriter> pointer)
            if (<RecordingWriter> pointer).state_of() != WRITER_OPEN:
                self.control_due = True
        if self.totals.bytes != before:
            self.publish_totals()
        return work

    cdef void _progress(self, RecordingWriter writer) noexcept nogil:
        """Offer a new position to the events stream; under back pressure a later one is offered."""
        cdef uint8_t message[PROGRESS_LENGTH]
        cdef int64_t position
        if self.events is None:
            return
        position = load_acquire_i64(&writer._recorded)
        if position <= writer._last_progress:
            return
        put_u16(message + BLOCK_LENGTH_OFFSET, PROGRESS_BLOCK_LENGTH)
        put_u16(message + TEMPLATE_ID_OFFSET, PROGRESS_TEMPLATE_ID)
        put_u16(message + SCHEMA_ID_OFFSET, SCHEMA_ID)
        put_u16(message + SCHEMA_VERSION_OFFSET, SCHEMA_VERSION)
        put_i64(message + PROGRESS_RECORDING_ID_OFFSET, writer.recording_id)
        put_i64(message + PROGRESS_START_POSITION_OFFSET, writer.join_position)
        put_i64(message + PROGRESS_POSITION_OFFSET, position)
        if self.events.appender.append(message, PROGRESS_LENGTH, NULL) > 0:
            writer._last_progress = position

    def pending(self) -> list:
        """Return slots and writers that wait for control()."""
        return [
            (index, writer)
            for index, writer in self.table.sessions()
            if (<RecordingWriter> writer).state_of() != WRITER_OPEN
        ]
