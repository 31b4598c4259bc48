"""Commands measured as whole processes."""

from __future__ import annotations

import statistics
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WARM_UP = 2


def wall_ms(command: Sequence[str], rounds: int) -> float:
    """The median wall time of some runs after the first two, output discarded."""
    times = []
    for _ in range(WARM_UP + rounds):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times[WARM_UP:])
