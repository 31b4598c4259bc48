"""The merge of sources of messages by time (docs/archive/merged-replay.md).

A source looks ahead: it keeps up to HEADS_MAX messages where they lie, in a log or in a window on
a segment. A tournament tree knows whose next message is the earliest, and the message is copied
once, into the columns of a batch. Nothing here allocates or needs the GIL; a source that cannot go
on by itself blocks the merge with a status, and Python acts.

The order is by time, then by place among the sources, then by position. A source's own order is
never changed: where its clock stepped back, its messages count as recorded at the latest time that
it has shown (their own times stay what they are).
"""

from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from aerolog.archive.client.replay.merged_batch cimport MergedBatch
from aerolog.archive.format.scan_columns cimport batch_columns_t
from aerolog.archive.time_index.search cimport TimeCursor
from aerolog.transport.concurrent.atomic cimport get_i32, get_i64
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    RESERVED_VALUE_OFFSET,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
)

READY = SOURCE_READY
WAITING = SOURCE_WAITING
CONTROL = SOURCE_CONTROL
ENDED = SOURCE_ENDED
DAMAGED = SOURCE_DAMAGED
FULL = MERGE_FULL
BLOCKED = MERGE_BLOCKED
END = MERGE_END
TOO_LONG = MERGE_TOO_LONG


cdef class MergeInput:
    """Messages of one recording that wait for their turn.

    Args:
        recording_id: the recording's id, which each row names.
        session_id: the recording's session id.
        stream_id: the recording's stream id.
        times: a cursor that tells the time of each position.
        floor_ns: a time before which no message was recorded; nothing is read before the merge
            reaches it.

    Attributes:
        status: READY, WAITING, CONTROL, ENDED or DAMAGED.
        position: the position up to which messages have been given out.
    """

    def __cinit__(
        self,
        *_,
        int64_t recording_id,
        int32_t session_id,
        int32_t stream_id,
        TimeCursor times not None,
        int64_t floor_ns=INT64_MIN,
        **__,
    ):
        self.recording_id = recording_id
        self.session_id = session_id
        self.stream_id = stream_id
        self.times = times
        self.floor_ns = floor_ns
        self.from_ns = INT64_MIN
        self.until_ns = INT64_MAX
        self.stop = INT64_MAX
        self.status = SOURCE_CONTROL

    cdef int refill(self) noexcept nogil:
        self.status = SOURCE_ENDED
        return self.status

    cdef void settle(self) noexcept nogil:
        pass

    cdef bint put(
        self, const uint8_t* frame, int64_t length, int64_t first, int64_t behind
    ) noexcept nogil:
        """Take note of a message that begins at a position; False when there is no room for more.

        One outside the range of times is left out.
        """
        cdef int64_t time_ns = self.times.time_at(first)
        cdef head_t* head
        if (time_ns < self.from_ns or time_ns >= self.until_ns) and first < self.sure:
            # For a range without an end position, only the time tells that it is over.
            if time_ns >= self.until_ns and self.stop == INT64_MAX:
                self.is_past = True
            return not self.is_past
        if first >= self.stop:
            return True
        head = &self.heads[self.count]
        head.time_ns = time_ns
        head.position = behind
        head.frame = frame
        head.length = <int32_t> length
        head.is_apart = 0
        self.count += 1
        return self.count < HEADS_MAX

    def choose(self, int64_t from_ns, int64_t until_ns, int64_t sure, int64_t stop):
        """Leave messages out.

        Args:
            from_ns: messages before this time are left out.
            until_ns: messages at this time or later are left out.
            sure: position up to which times are certain; a message that begins there or later is
                kept whatever its time.
            stop: messages that begin at this position or later are left out.
        """
        self.from_ns = from_ns
        self.until_ns = until_ns
        self.sure = sure
        self.stop = stop

    def finish(self):
        """End the source: only the messages that it has looked ahead to are still given out."""
        self.status = SOURCE_ENDED


cdef class Merge:
    """The merge of sources by time, then by place among them, then by position.

    Attributes:
        needed: bytes of payload that the next message needs, after TOO_LONG.
    """

    def __cinit__(self, sources):
        cdef MergeInput source
        cdef Py_ssize_t index
        self._sources = list(sources)
        self._count = <int32_t> len(self._sources)
        self._leaves = 1
        while self._leaves < self._count:
            self._leaves *= 2
        self._at = <void**> calloc(self._leaves, sizeof(void*))
        self._keys = <int64_t*> calloc(self._leaves, sizeof(int64_t))
        self._over = <uint8_t*> calloc(self._leaves, 1)
        self._losers = <int32_t*> calloc(self._leaves, sizeof(int32_t))
        if self._at == NULL or self._keys == NULL or self._over == NULL or self._losers == NULL:
            raise MemoryError
        for index in range(self._leaves):
            if index < self._count:
                source = self._sources[index]
                self._at[index] = <void*> source
                self._keys[index] = source.floor_ns
            else:
                self._over[index] = 1
        self._order()

    def __dealloc__(self):
        free(self._at)
        free(self._keys)
        free(self._over)
        free(self._losers)

    cdef int _order(self) except -1:
        """Play the whole tournament."""
        self._losers[0] = self._play(1) if self._leaves > 1 else 0
        return 0

    cdef int32_t _play(self, int32_t node) noexcept nogil:
        """The winner below a node; the losers stay at their nodes."""
        cdef int32_t left, right
        if node >= self._leaves:
            return node - self._leaves
        left = self._play(2 * node)
        right = self._play(2 * node + 1)
        if self._is_before(left, right):
            self._losers[node] = right
            return left
        self._losers[node] = left
        return right

    cdef inline bint _is_before(self, int32_t one, int32_t other) noexcept nogil:
        if self._over[one] != self._over[other]:
            return self._over[one] < self._over[other]
        if self._keys[one] != self._keys[other]:
            return self._keys[one] < self._keys[other]
        return one < other

    cdef inline void _replay(self, int32_t leaf) noexcept nogil:
        """Find the winner anew after the key of the last one has changed."""
        cdef int32_t winner = leaf
        cdef int32_t node = (leaf + self._leaves) >> 1
        cdef int32_t loser
        while node > 0:
            loser = self._losers[node]
            if self._is_before(loser, winner):
                self._losers[node] = winner
                winner = loser
            node >>= 1
        self._losers[0] = winner

    cdef int run_native(self, batch_columns_t* columns) noexcept nogil:
        """Append messages until the columns are full or a source blocks."""
        cdef int32_t winner
        cdef int status = MERGE_GOES_ON
        while status == MERGE_GOES_ON:
            winner = self._losers[0]
            if self._over[winner]:
                return MERGE_END
            status = self._take(columns, winner, <MergeInput> self._at[winner])
        return status

    cdef inline int _take(
        self, batch_columns_t* columns, int32_t winner, MergeInput source
    ) noexcept nogil:
        """Append the next message of the source that comes first."""
        cdef int64_t payload_length
        cdef head_t* head
        cdef int status
        if source.next == source.count:
            status = self._look_ahead(winner, source)
            if status == SOURCE_READY or status == SOURCE_ENDED:
                return MERGE_GOES_ON
            return MERGE_BLOCKED
        if columns.rows >= columns.rows_max:
            return MERGE_FULL
        head = &source.heads[source.next]
        payload_length = head.length - DATA_HEADER_LENGTH
        if payload_length > columns.payload_capacity - columns.payload_length:
            self.needed = payload_length
            return MERGE_TOO_LONG if columns.rows == 0 else MERGE_FULL
        _emit(columns, winner, source, head, payload_length)
        source.next += 1
        source.position = head.position
        if source.next < source.count:
            self._set_key(winner, source.heads[source.next].time_ns)
        elif source.status == SOURCE_READY:
            self._look_ahead(winner, source)
        return MERGE_GOES_ON

    cdef inline void _set_key(self, int32_t index, int64_t time_ns) noexcept nogil:
        if time_ns > self._keys[index]:
            self._keys[index] = time_ns
            self._replay(index)

    cdef int _look_ahead(self, int32_t index, MergeInput source) noexcept nogil:
        """Have a source look ahead, and place it by what it has found."""
        cdef int status
        source.next = 0
        source.count = 0
        if source.status == SOURCE_ENDED:
            status = SOURCE_ENDED
        else:
            status = source.refill()
        if status == SOURCE_READY:
            self._set_key(index, source.heads[0].time_ns)
        elif status == SOURCE_ENDED:
            source.settle()
            self._over[index] = 1
            self._over_count += 1
            self._replay(index)
        return status

    def run(self, MergedBatch batch not None):
        """Append messages to a batch, without the GIL.

        Returns:
            FULL: the batch is, or the next message does not fit behind the others. TOO_LONG: it
            does not fit into the empty batch, see ``needed``. BLOCKED: the source ``blocked`` has
            to go on first. END: all sources have ended.
        """
        cdef int status
        with nogil:
            status = self.run_native(&batch.c)
        return status

    def settle(self):
        """Let the sources go on behind what has been given out."""
        cdef int32_t index
        with nogil:
            for index in range(self._count):
                if not self._over[index]:
                    (<MergeInput> self._at[index]).settle()

    @property
    def blocked(self):
        """Place of the source that comes next: after BLOCKED the one that has to go on first."""
        return self._losers[0]

    def raise_floor(self, int32_t index, int64_t floor_ns):
        """Take the next message of a source that has none now to be no earlier than a time.

        Returns:
            Whether that changes anything.
        """
        cdef MergeInput source
        if not 0 <= index < self._count:
            raise IndexError(f"there are {self._count} sources, none at {index}")
        source = <MergeInput> self._at[index]
        if source.next < source.count or self._over[index] or floor_ns <= self._keys[index]:
            return False
        self._keys[index] = floor_ns
        if index == self._losers[0]:
            self._replay(index)
        else:
            self._order()
        return True

    @property
    def over(self):
        """How many sources have ended."""
        return self._over_count

    def is_over(self, int32_t index):
        """Whether a source has ended, and all of it was given out."""
        if not 0 <= index < self._count:
            raise IndexError(f"there are {self._count} sources, none at {index}")
        return self._over[index] != 0


cdef inline void _emit(
    batch_columns_t* columns,
    int32_t index,
    MergeInput source,
    const head_t* head,
    int64_t payload_length,
) noexcept nogil:
    """Write the next row; there is room for it."""
    cdef int64_t row = columns.rows
    columns.recording_id[row] = source.recording_id
    columns.source[row] = index
    columns.time_ns[row] = head.time_ns
    columns.position[row] = head.position
    columns.session_id[row] = source.session_id
    columns.stream_id[row] = source.stream_id
    columns.term_id[row] = get_i32(head.frame + TERM_ID_OFFSET)
    columns.term_offset[row] = get_i32(head.frame + TERM_OFFSET_OFFSET)
    columns.flags[row] = head.frame[FLAGS_OFFSET]
    columns.reserved_value[row] = get_i64(head.frame + RESERVED_VALUE_OFFSET)
    memcpy(
        columns.payload + columns.payload_length, head.frame + DATA_HEADER_LENGTH, payload_length
    )
    columns.payload_length += payload_length
    columns.payload_offset[row + 1] = <int32_t> columns.payload_length
    columns.rows = row + 1
