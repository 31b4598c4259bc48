"""Processes of this machine by their ids; those of another container are not visible."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_STATE_FIELD = 0  # of /proc/PID/stat, counted behind the name
_START_TIME_FIELD = 19


class ProcessStatus(NamedTuple):
    """State and start time of a process, as the kernel reports them.

    Attributes:
        state: one letter, such as R for running or Z for a zombie.
        start_ticks: start of the process, in ticks of the kernel's clock since the boot.
    """

    state: str
    start_ticks: int


def process_exists(pid: int) -> bool:
    """Whether a process with that id is visible to this one."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except OverflowError:
        return False
    return True


def process_status(pid: int) -> ProcessStatus | None:
    """Return the status of a process; None if there is none or the kernel does not report it."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        # The name of the process stands in brackets and may contain any character.
        fields = text.rpartition(")")[2].split()
        return ProcessStatus(fields[_STATE_FIELD], int(fields[_START_TIME_FIELD]))
    except (OSError, ValueError, IndexError):
        return None
