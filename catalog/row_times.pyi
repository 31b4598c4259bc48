from typing_extensions import Buffer

def first_positions(
    term_ids: Buffer,
    term_offsets: Buffer,
    out: Buffer,
    initial_term_id: int,
    term_length: int,
) -> None:
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

def carried_times(payload: Buffer, payload_offsets: Buffer, at: int, out: Buffer) -> None:
    """What messages carry at an offset, little-endian int64; 0 where they are too short.

    Args:
        payload: of all rows, bytes.
        payload_offsets: int32, where each begins, and where the last one ends.
        at: offset in each message.
        out: int64, filled from its beginning.

    Raises:
        ValueError: ``out`` is too short, or the offset negative.
    """

def settle(
    positions: Buffer,
    times: Buffer,
    position: int,
    time_ns: int,
    end_position: int,
    end_time_ns: int,
) -> None:
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

def to_microseconds(times: Buffer, validity: Buffer) -> int:
    """Turn epoch nanoseconds to microseconds, in place; what is not above zero becomes null.

    Args:
        times: int64.
        validity: gets a bit a row, 1 where there is a time.

    Returns:
        How many are null.
    """
