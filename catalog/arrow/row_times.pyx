"""Times of scanned rows: the positions of their first frames, and timestamps in messages."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

cdef enum:
    NS_PER_US = 1000


def first_positions(
    const int32_t[::1] term_ids,
    const int32_t[::1] term_offsets,
    int64_t[::1] out,
    int32_t initial_term_id,
    int32_t term_length,
):
    """Compute the positions at which rows' first frames begin.

    Args:
        term_ids: int32, the term ids of the first frames.
        term_offsets: int32, the term offsets of the first frames.
        out: int64, filled from its beginning.
        initial_term_id: the recording's initial term id.
        term_length: the recording's term length in bytes.

    Raises:
        ValueError: a column is shorter than ``term_ids``.
    """
    cdef Py_ssize_t rows = term_ids.shape[0]
    if term_offsets.shape[0] < rows or out.shape[0] < rows:
        raise ValueError(f"columns of {rows} rows have less room than that")
    cdef Py_ssize_t row
    cdef int64_t terms
    with nogil:
        for row in range(rows):
            # Term ids wrap around.
            terms = <int32_t> (<uint32_t> term_ids[row] - <uint32_t> initial_term_id)
            out[row] = terms * term_length + term_offsets[row]


def carried_times(
    const uint8_t[::1] payload,
    const int32_t[::1] payload_offsets,
    int64_t at,
    int64_t[::1] out,
):
    """Read a little-endian int64 at an offset of each message; 0 where the message is too short.

    Args:
        payload: the payloads of all rows, one after the other.
        payload_offsets: int32, the offset of each payload, and the end of the last one.
        at: the offset in each message.
        out: int64, filled from its beginning.

    Raises:
        ValueError: ``out`` is too short, or the offset is negative.
    """
    cdef Py_ssize_t rows = payload_offsets.shape[0] - 1
    if rows < 0 or out.shape[0] < rows or at < 0:
        raise ValueError(f"columns of {rows} rows have less room than that, or offset {at} is none")
    cdef int64_t length = payload.shape[0]
    cdef int64_t begin, end
    cdef Py_ssize_t row
    with nogil:
        for row in range(rows):
            begin, end = payload_offsets[row], payload_offsets[row + 1]
            if begin < 0 or end > length or at > end - begin - 8:
                out[row] = 0
            else:
                memcpy(&out[row], &payload[begin + at], 8)


def settle(
    const int64_t[::1] positions,
    int64_t[::1] times,
    int64_t position,
    int64_t time_ns,
    int64_t end_position,
    int64_t end_time_ns,
):
    """Replace the times of rows at or behind the last entry that is used of a time index.

    Args:
        positions: int64, the positions of the rows' first frames.
        times: int64, epoch nanoseconds; those at or behind ``position`` are replaced.
        position: the position of that entry.
        time_ns: the time of that entry.
        end_position: the end position of the recording.
        end_time_ns: the time of the end position, up to which times grow linearly; when it is
            negative, it is unknown and rows behind the entry get 0.

    Raises:
        ValueError: there are fewer times than positions.
    """
    cdef Py_ssize_t rows = positions.shape[0]
    if times.shape[0] < rows:
        raise ValueError(f"room for {times.shape[0]} times of {rows} rows")
    cdef Py_ssize_t row
    cdef int64_t behind
    cdef double length = <double> end_position - <double> position
    cdef double lasted = <double> end_time_ns - <double> time_ns
    with nogil:
        for row in range(rows):
            if positions[row] < position:
                continue
            if end_time_ns < 0:
                times[row] = time_ns if positions[row] == position else 0
            elif positions[row] >= end_position or length <= 0 or lasted <= 0:
                times[row] = end_time_ns if positions[row] >= end_position else time_ns
            else:
                behind = positions[row] - position
                times[row] = time_ns + <int64_t> (lasted * (<double> behind / length))


def to_microseconds(int64_t[::1] times, uint8_t[::1] validity):
    """Convert epoch nanoseconds to microseconds in place; times that are not above 0 become null.

    Args:
        times: int64, epoch nanoseconds, and microseconds afterwards.
        validity: gets one bit for each row, 1 where there is a time.

    Returns:
        The number of nulls.
    """
    cdef Py_ssize_t rows = times.shape[0]
    if validity.shape[0] < (rows + 7) // 8:
        raise ValueError(f"{rows} rows need {(rows + 7) // 8} bytes of validity")
    cdef Py_ssize_t row, nulls = 0
    if rows == 0:
        return 0
    with nogil:
        memset(&validity[0], 0, (rows + 7) // 8)
        for row in range(rows):
            if times[row] > 0:
                times[row] = times[row] // NS_PER_US
                validity[row >> 3] |= <uint8_t> (1 << (row & 7))
            else:
                times[row] = 0
                nulls += 1
    return nulls
