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
) -> int:
    """What becomes of a packet at `position`: one of PACKET_*.

    Args:
        last_status_position: of the last status message sent, in bytes.
        max_window: the largest receiver window, in bytes.
        term_length: in bytes.
        position: of the packet's first frame; below 0 for a term before the first.
        length: of the datagram, in bytes.
        heartbeat: a header alone with frame length 0.
    """

def insert(logs: LogBuffers, position: int, datagram: Buffer) -> int:
    """Put a datagram's frames at a position of an image; one of INSERT_*."""

def clean(logs: LogBuffers, clean_position: int, min_subscriber_position: int) -> int:
    """Zero what all subscribers passed a term ago; returns the new clean position."""
