from typing_extensions import Buffer

from aerolog.transport.logbuffer.descriptor import LogBuffers

PACKET_ACCEPTED: int
PACKET_OVER_RUN: int
PACKET_UNDER_RUN: int
PACKET_UNDER_RUN_LAGGING: int
INSERT_REFUSED: int
INSERT_PRESENT: int
INSERT_DONE: int

def judge(
    last_status_position: int,
    max_window: int,
    term_length: int,
    position: int,
    length: int,
    heartbeat: bool = False,
) -> int: ...
def insert(logs: LogBuffers, position: int, datagram: Buffer) -> int: ...
def clean(logs: LogBuffers, clean_position: int, min_subscriber_position: int) -> int: ...
