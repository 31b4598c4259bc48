"""Where the driver's errors go: a counter and the distinct error log; stderr when that is full."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from aerolog.transport.driver.counters.system_counters import SystemCounter
from aerolog.transport.memory.error_text import format_exception

if TYPE_CHECKING:
    from collections.abc import Hashable

    from aerolog.transport.memory.counters import CountersReader
    from aerolog.transport.memory.error_log import DistinctErrorLog


class ErrorRecorder:
    """Counts and records; any thread of the driver may have one at a time.

    Args:
        log: the distinct error log of cnc.dat.
        counters: holds the system counters.
    """

    def __init__(self, log: DistinctErrorLog, counters: CountersReader) -> None:
        self._log = log
        self._counters = counters

    def record(self, error: BaseException) -> None:
        """Count an error and write it down with its frames."""
        self._count()
        if not self._log.record_exception(error):
            _say(format_exception(error))

    def record_event(self, text: str, identity: Hashable) -> None:
        """Count something that is no exception and write it down.

        Args:
            text: what to write.
            identity: what makes two of them the same.
        """
        self._count()
        if not self._log.record(text, identity):
            _say(text)

    def _count(self) -> None:
        self._counters.get_and_add(SystemCounter.ERRORS, 1)


def _say(text: str) -> None:
    sys.stderr.write(
        f"error log is full, consider increasing length of error buffer\n{text.rstrip()}\n"
    )
