"""Processes of this machine, by their ids: another container's cannot be seen from here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_STATE_FIELD = 0  # of /proc/PID/stat, counted behind the name
_START_TIME_FIELD = 19


class ProcessStatus(NamedTuple):
    """What the kernel tells of a process.

    Attributes:
        state: one letter, such as R for running or Z for a zombie.
        start_ticks: when it started, in ticks of the kernel's clock since the boot.
    """

    state: str
    start_ticks: int


def process_exists(pid: int) -> bool:
    """Whether a process of that id is seen from here."""
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
    """The status of a process, None where there is none or the kernel does not tell."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        # The name, in brackets, may hold anything.
        fields = text.rpartition(")")[2].split()
        return ProcessStatus(fields[_STATE_FIELD], int(fields[_START_TIME_FIELD]))
    except (OSError, ValueError, IndexError):
        return None
