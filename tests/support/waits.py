"""The wait of tests: for a condition, never for time."""

import time
from collections.abc import Callable
from typing import Any

WAIT_S = 60.0
PAUSE_S = 0.002


def wait_until(condition: Callable[[], Any], what: Any, timeout: float = WAIT_S) -> Any:
    """The first true answer of a condition; fails when there is none in time, naming ``what``."""
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"not within {timeout:g} s: {what}"
        time.sleep(PAUSE_S)
    return answer
