"""The data path of replay, from segment files to a log.

Spec archive-files 11, spec archive-protocol 12.

A reader reads whole frames of a segment directly to their place in the log, where the zero length
of the first frame hides them. It replaces session and stream id of each data frame, and then stores
the first frame's length, which makes the block visible. Padding is appended as padding. The bytes
of a file are not trusted: no length is accepted beyond the bytes read. Work that needs Python is a
state in which the reader waits for the agent's control().
"""

from libc.errno cimport EINTR, errno
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset
from posix.uio cimport iovec, preadv

from aerolog.archive.format.checksum cimport Checksum
from aerolog.archive.service.io_agent cimport IoAgent, add_io, io_totals_t
from aerolog.transport.client.publication cimport ExclusivePublication
from aerolog.transport.concurrent.atomic cimport (
    get_i32,
    get_i64,
    get_u16,
    load_acquire_i32,
    load_acquire_i64,
    put_i32,
    store_plain_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.logbuffer.appender cimport (
    ADMIN_ACTION,
    BACK_PRESSURED,
    BAD_BLOCK,
    CLOSED,
    NOT_CONNECTED,
)
from aerolog.transport.logbuffer.descriptor cimport (
    PARTITION_COUNT,
    log_buffer_t,
    log_is_connected,
    pack_tail,
    tail_address,
    term_id_by_position,
)
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FRAME_BAD_LENGTH,
    FRAME_BAD_TYPE,
    FRAME_PAD,
    FRAME_SOUND,
    RESERVED_VALUE_OFFSET,
    SESSION_ID_OFFSET,
    STREAM_ID_OFFSET,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    TYPE_OFFSET,
    align_frame,
    check_frame,
    frame_fault,
)
from aerolog.transport.memory.counter cimport (
    counter_is_held,
    counter_is_live,
    counter_of,
    no_counter,
)
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.data_file cimport DataFile

cdef extern from "aerolog_populate.h" nogil:
    void aerolog_populate(void* address, int64_t length) noexcept

INIT = READER_INIT
CONNECTING = READER_CONNECTING
REPLAYING = READER_REPLAYING
SEGMENT_END = READER_SEGMENT_END
COMPLETE = READER_COMPLETE
ENDED = READER_ENDED
FAILED = READER_FAILED
RELEASED = READER_RELEASED

_FAULTS = {
    "FAULT_NONE": FAULT_NONE,
    "FAULT_NO_CONNECTION": FAULT_NO_CONNECTION,
    "FAULT_UNEXPECTED_END": FAULT_UNEXPECTED_END,
    "FAULT_CHECKSUM": FAULT_CHECKSUM,
    "FAULT_READ": FAULT_READ,
    "FAULT_REFUSED": FAULT_REFUSED,
    "FAULT_CONTROL": FAULT_CONTROL,
    "FAULT_HEADER": FAULT_HEADER,
    "FAULT_TYPE": FAULT_TYPE,
}
globals().update(_FAULTS)

cdef enum:
    # A read that stays in the cache until its headers are changed is faster than a longer one.
    READ_LENGTH_MAX = 256 * 1024


cdef inline int32_t _fault_of(frame_fault found) noexcept nogil:
    """Return the reader's fault for an invalid frame."""
    if found == FRAME_BAD_LENGTH:
        return FAULT_UNEXPECTED_END
    return FAULT_TYPE if found == FRAME_BAD_TYPE else FAULT_HEADER


cdef class ReplayReader:
    """Sends one recording's frames through one publication.

    Args:
        recording_id: id in the names of the segments.
        publication: starts at ``start_position`` and has the recording's terms.
        start_position: position of the first frame to send.
        replay_limit: position at which the replay is complete.
        stop_position: position up to which frames can be read; grows with the limit counter.
        segment_base: start position of the segment that holds ``start_position``.
        segment_length: bytes of each segment.
        term_length: bytes of each term.
        read_length: most bytes in a read, at least the recording's mtu.
        deadline_ns: monotonic time by which a subscriber must be connected.
        checksum: the checksum in the frames' session ids, None when they hold session ids.
        counters: the driver's counters.
        limit_counter_id: id of the counter of the readable position, -1 for none.
        limit_registration_id: the registration that the counter had when the replay was granted.
        is_bounded: whether that counter is a client's, which may stand inside a frame.
        stream_id: stream id of the recorded frames.
        frame_length_max: most bytes in a recorded frame, its header included.
    """

    def __cinit__(
        self,
        int64_t recording_id,
        ExclusivePublication publication not None,
        *,
        int64_t start_position,
        int64_t replay_limit,
        int64_t stop_position,
        int64_t segment_base,
        int64_t segment_length,
        int32_t term_length,
        int32_t read_length,
        int64_t deadline_ns,
        Checksum checksum,
        CountersReader counters not None,
        int32_t limit_counter_id,
        int64_t limit_registration_id,
        bint is_bounded,
        int32_t stream_id,
        int32_t frame_length_max,
    ):
        if not 0 <= start_position - segment_base < segment_length:
            raise ValueError(f"position {start_position} is not in the segment at {segment_base}")
        self.recording_id = recording_id
        self.publication = publication
        self._appender = publication.exclusive
        self.start_position = start_position
        self.replay_position = start_position
        self.replay_limit = replay_limit
        self.stop_position = stop_position
        self.segment_base = segment_base
        self.segment_length = segment_length
        self.term_length = term_length
        self.term_offset = <int32_t> (start_position & (term_length - 1))
        self.deadline_ns = deadline_ns
        self._read_length = min(read_length, READ_LENGTH_MAX)
        # Before this position every page of the log is written for the first time.
        self._new_pages_end = start_position + PARTITION_COUNT * <int64_t> term_length
        self._checksum = checksum
        self._counters = counters
        self._limit = no_counter()
        self._recording_end = -1
        self._is_bounded = is_bounded
        self.damaged_read = -1
        self._stream_id = stream_id
        self._frame_length_max = frame_length_max
        if limit_counter_id >= 0:
            self._limit = counter_of(counters, limit_counter_id, limit_registration_id)
            if self._limit.value == NULL:
                raise ValueError(f"no counter {limit_counter_id}")

    cdef int32_t state_of(self) noexcept nogil:
        return load_acquire_i32(&self._state)

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        cdef int32_t state = self.state_of()
        if state == READER_INIT:
            return now_ns >= self._retry_ns or load_acquire_i32(&self._abort) != 0
        return state != READER_CONNECTING and state != READER_REPLAYING

    cdef int32_t _end(self, int32_t ending) noexcept nogil:
        self.ending = ending
        store_release_i32(&self._state, ending)
        return 1

    cdef int32_t _fault(self, int32_t fault, int64_t position, int64_t detail) noexcept nogil:
        self.fault = fault
        self.fault_position = position
        self.fault_detail = detail
        return self._end(READER_FAILED)

    cdef int32_t step(
        self, int64_t now_ns, Clock clock, uint8_t* buffer, int64_t capacity,
        io_totals_t* totals
    ) noexcept nogil:
        """Send the next block; returns 0 when there was nothing to do."""
        cdef int64_t length, available, batch, begun
        cdef int64_t padding = 0
        if load_acquire_i32(&self._abort):
            return self._end(READER_ENDED)
        if not log_is_connected(self._appender.log):
            if self.state_of() == READER_REPLAYING:
                return self._end(READER_ENDED)
            if now_ns > self.deadline_ns:
                return self._fault(FAULT_NO_CONNECTION, self.replay_position, 0)
            return 0
        if self.state_of() == READER_CONNECTING:
            store_release_i32(&self._state, READER_REPLAYING)
        if self.start_position == self.stop_position and self.replay_limit == 0:
            return self._end(READER_COMPLETE)
        if self._limit.value != NULL and self.replay_position >= self.stop_position:
            if not self._extend_limit():
                return 1 if self.state_of() != READER_REPLAYING else 0
        if self.replay_position >= self.replay_limit:
            # A replay of length 0 stays open until it is stopped (spec archive-protocol 23.8).
            return 0
        if self.term_offset == self.term_length:
            self.term_offset = 0
            if self.replay_position - self.segment_base >= self.segment_length:
                store_release_i32(&self._state, READER_SEGMENT_END)
                return 1
        begun = self._appender.position_limit()
        if begun == CLOSED:
            return self._end(READER_ENDED)
        if self._appender.position() >= begun:
            return 0
        length = min(self.stop_position - self.replay_position, self.term_length - self.term_offset)
        length = min(length, self._read_length, capacity)
        if length <= 0:
            return 0
        if self._appender.term_offset < self.term_length:
            return self._replay_in_place(length, clock, totals)
        # The log has to rotate to its next term first, which an ordinary append causes.
        available = self._read(buffer, length, clock, totals)
        if available < 0:
            return 1
        batch = self._collect(buffer, buffer, available, &padding)
        if batch < 0:
            return 1
        if batch == 0 and padding == 0:
            return self._stuck(length, available)
        if batch > 0:
            begun = self._appender.append_block(buffer, batch)
            if begun < 0:
                return self._refused(begun)
        return self._sent(batch, padding)

    cdef int64_t _read(
        self, uint8_t* target, int64_t length, Clock clock, io_totals_t* totals
    ) noexcept nogil:
        """Read bytes of the segment from the replay position on; returns -1 after a failure."""
        cdef int64_t begin = clock.nano_time()
        cdef int64_t available = self._file.pread(
            target, length, self.replay_position - self.segment_base)
        return self._note_read(available, length, clock.nano_time() - begin, totals)

    cdef int64_t _read_apart(
        self, uint8_t* header, uint8_t* frame, int64_t length, Clock clock, io_totals_t* totals
    ) noexcept nogil:
        """Read as ``_read`` does, but put the first header in a place of its own."""
        cdef iovec[2] parts
        cdef int64_t begin = clock.nano_time()
        cdef int64_t offset = self.replay_position - self.segment_base
        cdef int64_t available = -1
        parts[0].iov_base = header
        parts[0].iov_len = min(length, <int64_t> DATA_HEADER_LENGTH)
        parts[1].iov_base = frame + DATA_HEADER_LENGTH
        parts[1].iov_len = length - parts[0].iov_len
        while available < 0:
            available = preadv(self._file.fd, parts, 2, offset)
            if available < 0 and errno != EINTR:
                available = -errno
                break
        return self._note_read(available, length, clock.nano_time() - begin, totals)

    cdef int64_t _note_read(
        self, int64_t available, int64_t length, int64_t took, io_totals_t* totals
    ) noexcept nogil:
        """Count a read; returns its length, or fails with its error and returns -1."""
        if available < 0:
            self._fault(FAULT_READ, self.replay_position, -available)
            return -1
        add_io(totals, length, took)
        return available

    cdef int32_t _replay_in_place(
        self, int64_t length, Clock clock, io_totals_t* totals
    ) noexcept nogil:
        """Read frames to their place in the log, then make them visible.

        Subscribers stop at the first frame's length, which stays 0 until all bytes after it have
        their final values. There is room: the position is below the limit, so the driver has the
        whole term ready. Bytes that were read but are not sent are zeroed again.
        """
        cdef const log_buffer_t* log = self._appender.log
        cdef uint8_t header[DATA_HEADER_LENGTH]
        cdef uint8_t* frame
        cdef int64_t available, behind, batch, padding = 0
        if self._appender.is_closed():
            return self._end(READER_ENDED)
        frame = log.terms[self._appender.active_index] + self._appender.term_offset
        if self.replay_position < self._new_pages_end:
            aerolog_populate(frame, length)
        available = self._read_apart(header, frame, length, clock, totals)
        if available < 0:
            memset(frame + DATA_HEADER_LENGTH, 0, max(<int64_t> 0, length - DATA_HEADER_LENGTH))
            return 1
        batch = self._collect(header, frame, available, &padding)
        if batch > 0 and (
            get_i32(header + TERM_OFFSET_OFFSET) != self._appender.term_offset
            or get_i32(header + TERM_ID_OFFSET) != self._appender.term_id
        ):
            self._refused(BAD_BLOCK)
            batch = -1
        behind = max(batch, <int64_t> DATA_HEADER_LENGTH)
        if available > behind:
            memset(frame + behind, 0, available - behind)
        if batch < 0:
            return 1
        if batch > 0:
            store_release_i64(
                tail_address(log, self._appender.active_index),
                pack_tail(self._appender.term_id, self._appender.term_offset + <int32_t> batch),
            )
            store_plain_i64(
                frame + RESERVED_VALUE_OFFSET, get_i64(header + RESERVED_VALUE_OFFSET))
            store_plain_i64(frame + STREAM_ID_OFFSET, get_i64(header + STREAM_ID_OFFSET))
            store_plain_i64(frame + TERM_OFFSET_OFFSET, get_i64(header + TERM_OFFSET_OFFSET))
            # Pairs with the acquire load of subscribers, which then see the whole block.
            store_release_i64(frame, get_i64(header))
            self._appender.term_offset += <int32_t> batch
        elif padding == 0:
            return self._stuck(length, available)
        return self._sent(batch, padding)

    cdef int32_t _stuck(self, int64_t length, int64_t available) noexcept nogil:
        """Handle a read without a whole frame: a client's limit stands inside it, or it is damaged.

        A recording's own position and every stop position stand between frames.
        """
        if (
            self._is_bounded
            and available == length
            and length == self.stop_position - self.replay_position
        ):
            if self._limit.value == NULL:
                return self._end(READER_COMPLETE)
            return 1 if self._extend_limit() or self.state_of() != READER_REPLAYING else 0
        return self._fault(FAULT_UNEXPECTED_END, self.replay_position, available)

    cdef bint _extend_limit(self) noexcept nogil:
        """Read the limit counter again; returns True when there is more to send."""
        cdef int64_t old_stop = self.stop_position
        cdef bint is_live = counter_is_live(&self._limit)
        cdef int64_t value = load_acquire_i64(self._limit.value)
        cdef bint is_held = counter_is_held(&self._limit)
        if is_live and is_held:
            if value > old_stop:
                self.stop_position = value
        else:
            # The counter is freed. Its last value is where the recording ended, which the conductor
            # has said too: a slow replay may find the counter to be another's.
            if not is_held:
                value = load_acquire_i64(&self._recording_end)
            self.stop_position = max(old_stop, value)
            self.replay_limit = min(self.replay_limit, self.stop_position)
            self._limit = no_counter()
        if self.replay_position >= self.replay_limit:
            self._end(READER_COMPLETE)
            return False
        return self.stop_position > old_stop

    cdef int64_t _collect(
        self, uint8_t* first, uint8_t* buffer, int64_t available, int64_t* padding
    ) noexcept nogil:
        """Prepare the whole frames at the start of a read for sending.

        The first frame's header may be apart from its body. The result is the length of the frames,
        or -1 when the replay cannot go on; *padding becomes the length of a padding frame after
        them. Valid frames before damage are sent first.
        """
        cdef int64_t offset = 0
        cdef int64_t wanted = self.replay_limit - self.replay_position
        cdef int64_t aligned
        cdef int64_t detail
        cdef int32_t computed
        cdef frame_fault found
        cdef bint is_type
        cdef int32_t term_id = term_id_by_position(self._appender.log, self.replay_position)
        cdef uint8_t* header
        while available - offset >= DATA_HEADER_LENGTH and offset < wanted:
            header = first if offset == 0 else buffer + offset
            found = check_frame(
                header,
                get_i32(header),
                self.term_length,
                self.term_offset + offset,
                term_id,
                self._stream_id,
                self._frame_length_max,
            )
            if found != FRAME_SOUND:
                if offset == 0:
                    is_type = found == FRAME_BAD_TYPE
                    detail = get_u16(header + TYPE_OFFSET) if is_type else get_i32(header)
                    self._fault(_fault_of(found), self.replay_position, detail)
                return self._before_damage(offset)
            if get_u16(header + TYPE_OFFSET) == FRAME_PAD:
                padding[0] = get_i32(header)
                break
            aligned = align_frame(get_i32(header))
            if aligned > available - offset:
                break
            if self._checksum is not None:
                computed = self._checksum.compute_native(
                    buffer + offset + DATA_HEADER_LENGTH, aligned - DATA_HEADER_LENGTH)
                if get_i32(header + SESSION_ID_OFFSET) != computed:
                    if offset == 0:
                        self.fault_computed = computed
                        self._fault(
                            FAULT_CHECKSUM,
                            self.replay_position,
                            get_i32(header + SESSION_ID_OFFSET),
                        )
                    return self._before_damage(offset)
            put_i32(header + SESSION_ID_OFFSET, self._appender.log.session_id)
            put_i32(header + STREAM_ID_OFFSET, self._appender.log.stream_id)
            offset += aligned
        self.damaged_read = -1
        return offset

    cdef int64_t _before_damage(self, int64_t offset) noexcept nogil:
        """Return what can be sent of a read in which an offset is damaged."""
        if offset == 0:
            return -1
        self.damaged_read = self.replay_position
        return offset

    cdef int32_t _sent(self, int64_t batch, int64_t padding) noexcept nogil:
        """Advance past an appended block, and append the padding that follows it."""
        cdef int64_t result
        self.replay_position += batch
        self.term_offset += <int32_t> batch
        if padding > 0:
            result = self._appender.append_padding(padding - DATA_HEADER_LENGTH)
            if result < 0:
                return (batch > 0) + self._refused(result)
            self.replay_position += align_frame(padding)
            self.term_offset += <int32_t> align_frame(padding)
        if batch == 0 and padding == 0:
            return 0
        if self.replay_position >= self.replay_limit:
            self._end(READER_COMPLETE)
        return 1

    cdef int32_t _refused(self, int64_t result) noexcept nogil:
        if result == BACK_PRESSURED or result == ADMIN_ACTION:
            return 0
        if result == NOT_CONNECTED or result == CLOSED:
            return self._end(READER_ENDED)
        return self._fault(FAULT_REFUSED, self.replay_position, result)

    @property
    def state(self) -> int:
        """One of INIT, CONNECTING, REPLAYING, SEGMENT_END, COMPLETE, ENDED, FAILED, RELEASED."""
        return self.state_of()

    @property
    def aborted(self) -> bool:
        """Whether the conductor requested the end."""
        return load_acquire_i32(&self._abort) != 0

    def recording_ended(self, position: int) -> None:
        """Say where the recording has ended, before its position counter is freed."""
        cdef int64_t end = position
        if not self._is_bounded and self._recording_end < 0:
            store_release_i64(&self._recording_end, end)

    def abort(self) -> None:
        """Request the end; callable from any thread."""
        store_release_i32(&self._abort, 1)

    def open_with(self, DataFile file not None) -> None:
        """Set the start position's segment, which is sent once a subscriber is connected."""
        self._file = file
        store_release_i32(&self._state, READER_CONNECTING)

    def next_segment(self, DataFile file not None) -> None:
        """Continue with the next segment."""
        self._file = file
        self.segment_base += self.segment_length
        store_release_i32(&self._state, READER_REPLAYING)

    def wait_until(self, time_ns: int) -> None:
        """Delay control() until a monotonic time in nanoseconds, in state INIT."""
        self._retry_ns = time_ns

    def fail(self, failure, code: int = 0) -> None:
        """End with an error that control code encountered, and the error code of the answer."""
        self.failure = failure
        self.failure_code = code
        self._fault(FAULT_CONTROL, self.replay_position, 0)

    def end(self) -> None:
        """End as an aborted replay does."""
        self._end(READER_ENDED)

    def take_file(self):
        """Return the open file, which the caller closes; None when there is none."""
        file, self._file = self._file, None
        return file

    def mark_released(self) -> None:
        """Mark this object as released by the replayer, so that the conductor may drop it."""
        store_release_i32(&self._state, READER_RELEASED)


cdef class ReplayerAgent(IoAgent):
    """Runs all readers; work that needs Python is left to ``control`` of the subclass.

    The doorbell is rung when a reader has been released or has an answer to send. A read has at
    most ``buffer_length`` bytes.
    """

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        cdef int32_t index, state, work = 0
        cdef int64_t before = self.totals.bytes
        cdef void* pointer
        for index in range(self.table.limit()):
            pointer = self.table.at(index)
            if pointer == NULL:
                continue
            state = (<ReplayReader> pointer).state_of()
            if state == READER_CONNECTING or state == READER_REPLAYING:
                if (<ReplayReader> pointer).step(
                    now_ns, self.clock, self.buffer, self.buffer_length, &self.totals
                ) > 0:
                    work += 1
            if (<ReplayReader> pointer).needs_control(now_ns):
                self.control_due = True
        if self.totals.bytes != before:
            self.publish_totals()
        return work

    def pending(self, int64_t now_ns) -> list:
        """Return slots and readers that wait for control()."""
        return [
            (index, reader)
            for index, reader in self.table.sessions()
            if (<ReplayReader> reader).needs_control(now_ns)
        ]
