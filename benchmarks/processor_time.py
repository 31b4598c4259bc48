"""What processes take of the processors."""

from __future__ import annotations

import os
import time
from pathlib import Path


def processor_seconds(pid: int) -> float:
    """Processor time of a process since its start, in the kernel as well, seconds."""
    text = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    user, system = text.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def processor_share(pid: int, seconds: float) -> float:
    """Percent of a processor that a process takes over a time."""
    before, began = processor_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (processor_seconds(pid) - before) / (time.monotonic() - began)
