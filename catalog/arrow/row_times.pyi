from typing_extensions import Buffer

def first_positions(
    term_ids: Buffer,
    term_offsets: Buffer,
    out: Buffer,
    initial_term_id: int,
    term_length: int,
) -> None: ...
def carried_times(payload: Buffer, payload_offsets: Buffer, at: int, out: Buffer) -> None: ...
def settle(
    positions: Buffer,
    times: Buffer,
    position: int,
    time_ns: int,
    end_position: int,
    end_time_ns: int,
) -> None: ...
def to_microseconds(times: Buffer, validity: Buffer) -> int: ...
