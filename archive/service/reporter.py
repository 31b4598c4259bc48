"""The reporter of an archive, and what it reports beside errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.service.event_log import NO_EVENTS
from aerolog.transport.agents.reporter import Reporter
from aerolog.transport.errors import AerologError, ErrorCategory

if TYPE_CHECKING:
    from aerolog.archive.service.event_log import ArchiveEvents
    from aerolog.transport.memory.error_log import DistinctErrorLog


class ArchiveEvent(AerologError):  # noqa: N818 - it is none
    """Something that an operator may want to know and that is not a fault of the archive."""

    category = ErrorCategory.WARN


class ArchiveReporter(Reporter):
    """Takes errors from any thread of an archive.

    Args:
        error_log: the error log in the mark file.
        events: the event log.

    Attributes:
        events: the event log, which every part of the archive uses through the reporter.
    """

    def __init__(self, error_log: DistinctErrorLog, events: ArchiveEvents = NO_EVENTS) -> None:
        super().__init__(error_log, "aerolog.archive", ArchiveEvent)
        self.events = events
