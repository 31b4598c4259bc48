"""The rows of a merge in columns, whose memory may be filled again or kept."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t

from aerolog.archive.client.replay.timed_message cimport TimedMessage
from aerolog.archive.format.scan_columns cimport BatchColumns

cdef enum:
    ROWS_MAX = 1 << 24

cdef tuple NAMES = (
    "recording_id",
    "source",
    "time_ns",
    "position",
    "session_id",
    "stream_id",
    "term_id",
    "term_offset",
    "flags",
    "reserved_value",
    "payload_offset",
    "payload",
)


cdef class MergedBatch(BatchColumns):
    """Messages of a merge in columns, in their order.

    Args:
        rows_max: how many rows there is room for.
        payload_capacity: how many bytes the payload column has room for.

    The columns have one number per row, but for the last two: ``recording_id``, ``source`` (the
    recording's place among them), ``time_ns`` (epoch nanoseconds), ``position`` (after the message,
    in the stream of its recording), ``session_id`` and ``stream_id`` (of the recording),
    ``term_id``, ``term_offset``, ``flags``, ``reserved_value`` (of the first frame),
    ``payload_offset`` (a row more than the others: message i is payload[offset[i]:offset[i + 1]]),
    ``payload`` (bytes).
    """

    def __cinit__(self, int64_t rows_max, int64_t payload_capacity):
        if not 1 <= rows_max <= ROWS_MAX:
            raise ValueError(f"a batch has room for 1 to {ROWS_MAX} rows, not {rows_max}")
        self.allocate_columns(NAMES, rows_max, payload_capacity, None)

    def __len__(self):
        return self.c.rows

    def clear(self):
        """Empty the batch to fill it again; views of its columns will show the new rows."""
        self.c.rows = 0
        self.c.payload_length = 0

    def column(self, str name not None):
        """The filled part of a column, without a copy: typed, read-only.

        Raises:
            ValueError: there is no such column.
        """
        if name not in NAMES:
            raise ValueError(f"no such column: {name}; there are {', '.join(NAMES)}")
        return self.filled(name).toreadonly()

    def messages(self):
        """The rows as a list of messages that do not refer to this memory."""
        cdef list found = []
        cdef TimedMessage made
        cdef int64_t row, begin
        for row in range(self.c.rows):
            begin = self.c.payload_offset[row]
            made = TimedMessage.__new__(TimedMessage)
            made.time_ns = self.c.time_ns[row]
            made.recording_id = self.c.recording_id[row]
            made.position = self.c.position[row]
            made.reserved_value = self.c.reserved_value[row]
            made.session_id = self.c.session_id[row]
            made.stream_id = self.c.stream_id[row]
            made.term_id = self.c.term_id[row]
            made.term_offset = self.c.term_offset[row]
            made.flags = <uint8_t> self.c.flags[row]
            made.payload = PyBytes_FromStringAndSize(
                <const char*> self.c.payload + begin, self.c.payload_offset[row + 1] - begin
            )
            found.append(made)
        return found

    def __repr__(self):
        return f"<MergedBatch of {self.c.rows} messages>"
