"""A recording of a folder as a source of a merge.

Frames are looked at and left in a window on the segment until their messages have been given out;
only a fragmented message is put together in memory of its own. Files are hostile: a header is
compared with what its place demands, and nothing outside the window is read. What is wrong with a
frame is not diagnosed here: the source is damaged, and a read of the recording tells the fault.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.client.replay.merge cimport (
    SOURCE_CONTROL,
    SOURCE_DAMAGED,
    SOURCE_ENDED,
    SOURCE_READY,
    MergeInput,
)
from aerolog.archive.format.segment_window cimport SegmentWindow
from aerolog.transport.concurrent.atomic cimport get_i32, get_u16, load_acquire_i32
from aerolog.transport.logbuffer.assembler cimport (
    ASSEMBLE_MESSAGE,
    ASSEMBLE_NO_MEMORY,
    Assembler,
)
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.memory.data_file cimport DataFile
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FLAGS_UNFRAGMENTED,
    FLAG_BEGIN,
    FRAME_ALIGNMENT,
    FRAME_LENGTH_MAX,
    FRAME_PAD,
    FRAME_SOUND,
    TYPE_OFFSET,
    align_frame,
    check_header,
    frame_fits,
)

cdef enum:
    # Results of _check other than lengths.
    RANGE_END = 0
    UNSOUND = -1
    # Results of _take.
    FULL = 0
    TAKEN = 1
    NO_MEMORY = 2

# Small enough for the windows of many sources to stay in the cache together.
WINDOW_LENGTH = 128 * 1024


cdef class SegmentInput(MergeInput):
    """The messages of a recording in a folder; see ``MergeInput`` for the other arguments.

    Args:
        start: position of the first frame.
        end: where the range ends; a frame that ends behind it is not looked at.
        segment_length: bytes of a segment file.
        term_length: bytes of a term.
        initial_term_id: the term id at position 0.
        window_length: bytes of a segment that are looked at together.

    Attributes:
        io_error: the system's error number when a read failed, else 0.
    """

    def __cinit__(
        self,
        *,
        int64_t start,
        int64_t end,
        int64_t segment_length,
        int64_t term_length,
        int32_t initial_term_id,
        int64_t window_length=WINDOW_LENGTH,
        **__,
    ):
        if term_length < 1024 or term_length & (term_length - 1) or term_length > 1 << 30:
            raise ValueError(f"not a term length: {term_length}")
        if segment_length < term_length or segment_length % term_length:
            raise ValueError(f"not a segment length with terms of {term_length}: {segment_length}")
        if start < 0 or start % FRAME_ALIGNMENT or end < start or end > term_length << 31:
            raise ValueError(f"not a range of frames: {start} to {end}")
        self._window = SegmentWindow(
            max(window_length, <int64_t> FRAME_LENGTH_MAX + DATA_HEADER_LENGTH)
        )
        self._assembler = Assembler(term_length)
        self._segment_length = segment_length
        self._term_length = term_length
        self._initial_term_id = initial_term_id
        self._end = end
        self._at = start
        self.position = start

    @property
    def next_position(self):
        """Position of the next frame to look at: what blocks the source lies there."""
        return self._at

    def open(self, DataFile file not None, int64_t segment_base):
        """Go on with this segment; its file is the caller's, and open until the next one is."""
        offset = self._at - segment_base
        if not 0 <= offset < self._segment_length or segment_base % FRAME_ALIGNMENT:
            raise ValueError(f"position {self._at} is not in the segment at {segment_base}")
        self._window.open(file)
        self._segment_base = segment_base
        self._is_open = True
        self.status = SOURCE_CONTROL

    cdef int _stand(self, int status) noexcept nogil:
        self.status = SOURCE_READY if self.count > 0 else status
        return self.status

    cdef int refill(self) noexcept nogil:
        cdef const uint8_t* frame
        cdef int64_t aligned
        cdef int taken
        self.next = self.count = 0
        while True:
            if self._at >= self._end:
                return self._stand(SOURCE_ENDED)
            if not self._is_open or self._at - self._segment_base >= self._segment_length:
                return self._stand(SOURCE_CONTROL)
            frame = self._show(DATA_HEADER_LENGTH)
            if frame == NULL:
                return self._stand(SOURCE_DAMAGED)
            aligned = self._check(frame)
            if aligned == RANGE_END:
                return self._stand(SOURCE_ENDED)
            if aligned == UNSOUND:
                return self._stand(SOURCE_DAMAGED)
            if get_u16(frame + TYPE_OFFSET) == FRAME_PAD:
                self._assembler.reset()
                self._at += aligned
                continue
            frame = self._show(aligned)
            if frame == NULL:
                return self._stand(SOURCE_DAMAGED)
            taken = self._take(frame, get_i32(frame))
            if taken == FULL:
                return self._stand(SOURCE_READY)
            if taken == NO_MEMORY:
                return self._stand(SOURCE_DAMAGED)

    cdef int _take(self, const uint8_t* frame, int64_t length) noexcept nogil:
        """Look ahead to the message of a sound frame; FULL when there is no room for another."""
        cdef int64_t first = self._at
        cdef int64_t behind = first + align_frame(length)
        cdef fragment_t fragment, message
        cdef int taken
        if frame[FLAGS_OFFSET] & FLAGS_UNFRAGMENTED == FLAGS_UNFRAGMENTED:
            self._at = behind
            self._assembler.reset()
            return TAKEN if self.put(frame, length, first, behind) else FULL
        if frame[FLAGS_OFFSET] & FLAG_BEGIN:
            if self.count > 0:
                return FULL  # the memory of a message that was put together may be in use
            self._begun = first
        fragment.frame = frame
        fragment.position = behind
        fragment.length = <int32_t> length
        fragment.flags = frame[FLAGS_OFFSET]
        fragment.is_assembled = 0
        taken = self._assembler.add(&fragment, &message)
        self._at = behind
        if taken == ASSEMBLE_NO_MEMORY:
            self._at = first
            self.io_error = ENOMEM
            return NO_MEMORY
        if taken == ASSEMBLE_MESSAGE:
            self.put(message.frame, message.length, self._begun, behind)
            return FULL if self.count > 0 else TAKEN
        return TAKEN

    cdef const uint8_t* _show(self, int64_t length) noexcept nogil:
        """The next bytes of the segment; NULL when they are not there.

        It is NULL also while the window cannot move because messages still wait in it.
        """
        cdef int64_t offset = self._at - self._segment_base
        cdef int64_t until = min(self._end - self._segment_base, self._segment_length)
        cdef int result
        if (
            offset >= self._window.begin
            and offset + length <= self._window.begin + self._window.length
        ):
            return self._window.data + (offset - self._window.begin)
        if self.count > 0:
            return NULL
        result = self._window.fill(offset, length, until)
        if result < 0:
            self.io_error = -result
            return NULL
        return self._window.data if self._window.length >= length else NULL

    cdef int64_t _check(self, const uint8_t* frame) noexcept nogil:
        """The aligned length of a frame whose header is sound, or RANGE_END or UNSOUND."""
        cdef int64_t term_offset = self._at & (self._term_length - 1)
        cdef int32_t length = load_acquire_i32(frame)
        cdef int64_t aligned = align_frame(length)
        cdef int32_t term_id = <int32_t> (self._initial_term_id + self._at // self._term_length)
        if not frame_fits(length, self._term_length - term_offset):
            return UNSOUND
        if aligned > self._end - self._at:
            return RANGE_END
        if check_header(
            frame, length, term_offset, term_id, self.stream_id, FRAME_LENGTH_MAX
        ) != FRAME_SOUND:
            return UNSOUND
        return aligned
