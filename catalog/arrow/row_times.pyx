"""Times of scanned rows, column by column: where their first frames are, and what they carry."""

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
    """Positions where rows' first frames begin.

    Args:
        term_ids: int32, of the first frames.
        term_offsets: int32, of the first frames.
        out: int64, filled from its beginning.
        initial_term_id: of the recording.
        term_length: of the recording, bytes.

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
    """What messages carry at an offset, little-endian int64; 0 where they are too short.

    Args:
        payload: of all rows, bytes.
        payload_offsets: int32, where each begins, and where the last one ends.
        at: offset in each message.
        out: int64, filled from its beginning.

    Raises:
        ValueError: ``out`` is too short, or the offset negative.
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
    """Replace the times of what lies behind the last entry of an index that counts.

    Args:
        positions: int64, of the rows' first frames.
        times: int64, epoch nanoseconds; those at or behind ``position`` are replaced.
        position: of that entry.
        time_ns: of that entry.
        end_position: of the recording.
        end_time_ns: of the recording, linear up to it; negative: nobody knows, and rows get 0.

    Raises:
        ValueError: fewer times than positions.
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
                times[row] = 0
            elif positions[row] >= end_position or length <= 0 or lasted <= 0:
                times[row] = end_time_ns if positions[row] >= end_position else time_ns
            else:
                behind = positions[row] - position
                times[row] = time_ns + <int64_t> (lasted * (<double> behind / length))


def to_microseconds(int64_t[::1] times, uint8_t[::1] validity):
    """Turn epoch nanoseconds to microseconds, in place; what is not above zero becomes null.

    Args:
        times: int64.
        validity: gets a bit a row, 1 where there is a time.

    Returns:
        How many are null.
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
