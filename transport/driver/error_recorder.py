"""Records the driver's errors in a counter and the distinct error log, or on stderr when full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.memory.error_text import exception_identity, format_exception
from aerolog.transport.text_output import write_text

if TYPE_CHECKING:
    from collections.abc import Hashable

    from aerolog.transport.memory.counters import CountersReader
    from aerolog.transport.memory.error_log import DistinctErrorLog


class ErrorRecorder:
    """Counts errors and records them; each thread of the driver may have a recorder of its own.

    Args:
        log: the distinct error log of cnc.dat.
        counters: the counters of the driver, with the system counter of errors.
    """

    def __init__(self, log: DistinctErrorLog, counters: CountersReader) -> None:
        self._log = log
        self._counters = counters

    def record(self, error: BaseException) -> None:
        """Count an error and record it with its stack trace."""
        self._count()
        text = format_exception(error, is_driver=True)
        if not self._log.record(text, exception_identity(error)):
            _say(text)

    def take(self, error: BaseException, identity: Hashable | None = None) -> None:
        """Count and record an error of an archive in this process, which logs it as well.

        Args:
            error: what happened, worded as the archive words it.
            identity: what makes two of them one in the log, in place of their texts.
        """
        self._count()
        self._log.record_exception(error, identity)

    def record_event(self, text: str, identity: Hashable) -> None:
        """Count and record an event that is not an exception.

        Args:
            text: the text to record.
            identity: events of equal identity are one entry of the distinct error log.
        """
        self._count()
        if not self._log.record(text, identity):
            _say(text)

    def _count(self) -> None:
        self._counters.get_and_add(SystemCounter.ERRORS, 1)


def _say(text: str) -> None:
    write_text(f"error log is full, consider increasing length of error buffer\n{text.rstrip()}\n")
