from aerolog.transport.logbuffer.descriptor import LogBuffers

def clean(logs: LogBuffers, clean_position: int, position: int) -> int:
    """Zero towards `position`, to the end of a term at most; returns the new clean position."""

def unblock(logs: LogBuffers, blocked_position: int) -> int:
    """0 nothing was done, 1 unblocked, 2 unblocked to the end of the term."""
