"""Messages of recordings with their time: values, made natively a batch at a time."""

from array import array
from datetime import datetime, timedelta, timezone

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from aerolog.archive.format.scan_columns cimport ScanColumns, scan_columns_t
from aerolog.transport.client.message cimport Message

cdef object _EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


cdef class TimedMessage:
    """A message of a recording with its time; values only, so it may be kept and pickled.

    Attributes:
        time_ns: nanoseconds since the Unix epoch, of its first frame.
        recording_id: that it is of.
        position: in the recording's stream, after the message.
        payload: a copy.
        session_id: of the recording.
        stream_id: of the recording.
        term_id: of its first frame, as all fields below.
        term_offset: of its first frame.
        flags: 0xC0 for a whole message.
        reserved_value: as the publisher set it.
    """

    def __init__(
        self, time_ns, recording_id, position, bytes payload not None, *, session_id=0,
        stream_id=0, term_id=0, term_offset=0, flags=0xC0, reserved_value=0,
    ):
        self.time_ns = time_ns
        self.recording_id = recording_id
        self.position = position
        self.payload = payload
        self.session_id = session_id
        self.stream_id = stream_id
        self.term_id = term_id
        self.term_offset = term_offset
        self.flags = flags
        self.reserved_value = reserved_value

    @property
    def time(self):
        """The time in UTC, to the microsecond."""
        return _EPOCH + timedelta(microseconds=self.time_ns // 1000)

    @property
    def data(self):
        """The payload, under the name that transport messages have for it."""
        return self.payload

    def __bytes__(self):
        return self.payload

    def __len__(self):
        return len(self.payload)

    def _values(self) -> tuple:
        return (
            self.time_ns, self.recording_id, self.position, self.payload, self.session_id,
            self.stream_id, self.term_id, self.term_offset, self.flags, self.reserved_value,
        )

    def __reduce__(self):
        return _restore, self._values()

    def __eq__(self, other):
        return (
            isinstance(other, TimedMessage) and self._values() == (<TimedMessage> other)._values()
        )

    def __hash__(self):
        return hash(self._values())

    def __repr__(self):
        shown = repr(self.payload) if len(self.payload) <= 32 else f"{self.payload[:32]!r}..."
        return (
            f"TimedMessage({self.time.isoformat()}, recording_id={self.recording_id}, "
            f"position={self.position}, {shown}, length={len(self.payload)})"
        )


def _restore(time_ns, recording_id, position, payload, *rest):
    names = ("session_id", "stream_id", "term_id", "term_offset", "flags", "reserved_value")
    return TimedMessage(time_ns, recording_id, position, payload, **dict(zip(names, rest)))


cdef int64_t _first_position(
    int32_t term_id, int32_t term_offset, int32_t initial_term_id, int64_t term_length
) noexcept nogil:
    # Term ids wrap around: their distance is one of 32 bits without a sign.
    cdef uint32_t terms = <uint32_t> term_id - <uint32_t> initial_term_id
    return <int64_t> terms * term_length + term_offset


def first_positions(list rows not None, int32_t initial_term_id, int64_t term_length):
    """Where the first frame of each message begins, as 64-bit integers.

    Args:
        rows: messages of a subscription or of a folder, with ``term_id`` and ``term_offset``.
        initial_term_id: of the recording.
        term_length: of the recording, a power of two.
    """
    cdef Py_ssize_t count = len(rows)
    found = array("q", bytes(8 * count))
    if count == 0:
        return found
    cdef int64_t[::1] out = found
    cdef Py_ssize_t i
    cdef Message message
    for i in range(count):
        row = rows[i]
        if isinstance(row, Message):
            message = <Message> row
            out[i] = _first_position(
                message.term_id, message.term_offset, initial_term_id, term_length
            )
        else:
            out[i] = _first_position(row.term_id, row.term_offset, initial_term_id, term_length)
    return found


def timed(
    list rows not None, times_ns, int64_t recording_id, session_id=None, stream_id=None
):
    """Messages with their times.

    Args:
        rows: messages of a subscription (``data``) or of a folder (``payload``).
        times_ns: of each of them, at least as many: 64-bit integers in a buffer.
        recording_id: of all.
        session_id: of all; their own when None.
        stream_id: of all; their own when None.
    """
    cdef Py_ssize_t count = len(rows)
    cdef list found = []
    if count == 0:
        return found
    cdef const int64_t[::1] times = times_ns
    if times.shape[0] < count:
        raise ValueError(f"{count} messages have only {times.shape[0]} times")
    cdef bint own_session = session_id is None
    cdef bint own_stream = stream_id is None
    cdef int32_t session = 0 if own_session else session_id
    cdef int32_t stream = 0 if own_stream else stream_id
    cdef Py_ssize_t i
    cdef TimedMessage made
    for i in range(count):
        made = TimedMessage.__new__(TimedMessage)
        made.time_ns = times[i]
        made.recording_id = recording_id
        _fill(made, rows[i])
        if not own_session:
            made.session_id = session
        if not own_stream:
            made.stream_id = stream
        found.append(made)
    return found


cdef int _fill(TimedMessage made, object row) except -1:
    cdef Message message
    if isinstance(row, Message):
        message = <Message> row
        made.payload = message.data
        made.position = message.position
        made.session_id = message.session_id
        made.stream_id = message.stream_id
        made.term_id = message.term_id
        made.term_offset = message.term_offset
        made.flags = message.flags
        made.reserved_value = message.reserved_value
        return 0
    made.payload = row.payload
    made.position = row.position
    made.session_id = row.session_id
    made.stream_id = row.stream_id
    made.term_id = row.term_id
    made.term_offset = row.term_offset
    made.flags = <uint8_t> (<int> row.flags & 0xFF)
    made.reserved_value = row.reserved_value
    return 0


def column_positions(ScanColumns columns not None, int32_t initial_term_id, int64_t term_length):
    """Where the first frame of each message of a folder's batch begins."""
    cdef Py_ssize_t count = columns.c.rows
    found = array("q", bytes(8 * count))
    if count == 0:
        return found
    if columns.c.term_id == NULL or columns.c.term_offset == NULL:
        raise ValueError("a batch without its terms: term_id and term_offset are wanted")
    cdef int64_t[::1] out = found
    cdef Py_ssize_t i
    for i in range(count):
        out[i] = _first_position(
            columns.c.term_id[i], columns.c.term_offset[i], initial_term_id, term_length
        )
    return found


def timed_columns(
    ScanColumns columns not None, times_ns, int64_t recording_id, Py_ssize_t first,
    Py_ssize_t limit,
):
    """Messages of a folder's batch with their times: up to ``limit`` rows from ``first`` on."""
    cdef const scan_columns_t* c = &columns.c
    cdef list found = []
    cdef Py_ssize_t end
    cdef Py_ssize_t i
    cdef TimedMessage made
    if first < 0 or limit < 0:
        raise ValueError(f"first and limit are not negative: first={first}, limit={limit}")
    end = min(<Py_ssize_t> c.rows, first + min(limit, <Py_ssize_t> c.rows))
    if first >= end:
        return found
    cdef const int64_t[::1] times = times_ns
    if times.shape[0] < end:
        raise ValueError(f"{end} messages have only {times.shape[0]} times")
    if (
        c.position == NULL or c.term_id == NULL or c.term_offset == NULL or c.session_id == NULL
        or c.stream_id == NULL or c.flags == NULL or c.reserved_value == NULL
        or c.payload_offset == NULL or c.payload == NULL
    ):
        raise ValueError("messages are made of all columns of a batch")
    for i in range(first, end):
        made = TimedMessage.__new__(TimedMessage)
        made.time_ns = times[i]
        made.recording_id = recording_id
        made.position = c.position[i]
        made.term_id = c.term_id[i]
        made.term_offset = c.term_offset[i]
        made.session_id = c.session_id[i]
        made.stream_id = c.stream_id[i]
        made.flags = <uint8_t> (c.flags[i] & 0xFF)
        made.reserved_value = c.reserved_value[i]
        made.payload = PyBytes_FromStringAndSize(
            <const char*> c.payload + c.payload_offset[i],
            c.payload_offset[i + 1] - c.payload_offset[i],
        )
        found.append(made)
    return found
