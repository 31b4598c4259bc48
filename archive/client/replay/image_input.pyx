"""A replay from a running archive as a source of a merge.

Messages stay in the replay's log until they have been given out. Then the image's position is
stored, so that the archive goes on. Only a fragmented message is copied into separate memory, since
it may be longer than the part of the log that is in view.
"""

from libc.stdint cimport INT64_MAX, int64_t

from aerolog.archive.client.replay.merge cimport (
    SOURCE_ENDED,
    SOURCE_READY,
    SOURCE_WAITING,
    MergeInput,
)
from aerolog.archive.time_index.search cimport TimeCursor
from aerolog.transport.client.image cimport Image
from aerolog.transport.logbuffer.assembler cimport ASSEMBLE_MESSAGE, ASSEMBLE_NO_MEMORY
from aerolog.transport.logbuffer.cursor cimport (
    cursor_position,
    cursor_t,
    next_fragment,
    open_cursor,
    step_back,
)
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.protocol.frames cimport FLAGS_UNFRAGMENTED, FLAG_BEGIN, align_frame

cdef enum:
    # Terms looked at in one call: a log full of padding would otherwise keep it going for ever.
    TERMS_MAX = 3


cdef class ImageInput(MergeInput):
    """The messages of a replay from a running archive; see ``MergeInput`` for the other arguments.

    Args:
        start: position of the first frame.
        end: position at which the range ends, None for a replay that goes on.

    Attributes:
        image: the image of the replay, None before it has come.
        covered: the position up to which times are known; later messages wait.
    """

    def __cinit__(self, *, int64_t start, end=None, **__):
        self._end = INT64_MAX if end is None else end
        if start < 0 or self._end < start:
            raise ValueError(f"not a range: {start} to {end}")
        self._at = start
        self.position = start
        self.covered = INT64_MAX

    @property
    def next_position(self):
        """Position of the next frame to look at."""
        return self._at

    def attach(self, Image image not None):
        """Read the replay's image from now on. Nothing else may poll this image."""
        self.image = image
        self._reader = image.reader
        self._at = self._reader.position()
        self.status = SOURCE_WAITING

    def use_times(self, TimeCursor times not None):
        """Take the times of further messages from this cursor."""
        self.times = times

    def cover(self, int64_t position):
        """Set the position up to which times are known; messages that begin later wait."""
        self.covered = position

    def end_at(self, int64_t position):
        """End a replay without an end at a position: later messages are not wanted."""
        self._end = position

    cdef int _stand(self) noexcept nogil:
        if self.count > 0:
            self.status = SOURCE_READY
        elif self._at >= self._end or self.is_past:
            self.status = SOURCE_ENDED
        else:
            self.status = SOURCE_WAITING
        return self.status

    cdef void settle(self) noexcept nogil:
        """The position of a message that waits, or of what is looked at next."""
        if self._reader is None:
            return
        if self.next == self.count or self.heads[self.next].is_apart:
            self._reader.advance(self._at)
            return
        self._reader.advance(
            self.heads[self.next].position - align_frame(self.heads[self.next].length)
        )

    cdef int refill(self) noexcept nogil:
        cdef cursor_t cursor
        cdef fragment_t fragment, message
        cdef int64_t first
        cdef int taken
        self.next = self.count = 0
        if self._reader is None or self._reader.is_closed() or self.is_past:
            return self._stand()
        self._reader.advance(self._at)
        for _ in range(TERMS_MAX):
            if self.count > 0 or self.is_past or not open_cursor(
                self._reader.log, self._at, min(self._end, self.covered), &cursor
            ):
                break
            while next_fragment(&cursor, &fragment):
                first = fragment.position - align_frame(fragment.length)
                if fragment.flags & FLAGS_UNFRAGMENTED == FLAGS_UNFRAGMENTED:
                    if not self.put(fragment.frame, fragment.length, first, fragment.position):
                        break
                    continue
                if fragment.flags & FLAG_BEGIN:
                    if self.count > 0:
                        step_back(&cursor, &fragment)
                        break  # the memory of a message put together may be in use
                    self._begun = first
                taken = self._reader.assembler.add(&fragment, &message)
                if taken == ASSEMBLE_NO_MEMORY:
                    step_back(&cursor, &fragment)
                    break
                if taken == ASSEMBLE_MESSAGE:
                    self.put(message.frame, message.length, self._begun, fragment.position)
                    if self.count > 0:
                        self.heads[0].is_apart = True
                        break
            if cursor_position(&cursor) == self._at:
                break
            self._at = cursor_position(&cursor)
            if self.count == 0:
                self._reader.advance(self._at)
        if not self._reader.holds_log():
            # The client has ended; whoever began the replay finds that, and goes on elsewhere.
            self.count = 0
        return self._stand()
