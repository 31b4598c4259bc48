"""Log files of publications and images: checks of disk space, creation and deletion.

Spec log-buffers 1, spec cnc-and-commands 21. Conductor only.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import properties
from aerolog.transport.errors import StorageSpaceError
from aerolog.transport.logbuffer.descriptor import LOG_META_LENGTH, LogBuffers, log_file_length

if TYPE_CHECKING:
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.driver.error_recorder import ErrorRecorder
    from aerolog.transport.logbuffer.metadata import LogMetadata
    from aerolog.transport.memory.counters import CountersReader
    from aerolog.transport.memory.filesystem import FileSystem
    from aerolog.transport.memory.mapped_file import MappedFile

PUBLICATIONS = "publications"
IMAGES = "images"
# The time that deletion may take before commands are read again.
FREEING_NS = 300_000
# A disk with room for this many logs more is not full when one log has its first space.
PLENTY_OF_LOGS = 4


@dataclass(slots=True)
class LogFile:
    """A log and its file.

    Attributes:
        path: the absolute path, which clients are told.
        length: the length of the file in bytes.
        logs: the mapped log; None once the driver has closed it.
    """

    path: str
    length: int
    logs: LogBuffers | None


class LogStore:
    """Creates and deletes the driver's log files.

    Args:
        directory: the driver's Aeron directory.
        settings: page size, storage checks, low storage threshold, free limit.
        file_system: the file system that holds the directory.
        counters: the counters of the driver, with the system counters.
        errors: records a warning when disk space is low.
        clock: measures how long deletion takes.
    """

    def __init__(
        self,
        directory: str,
        settings: Settings,
        file_system: FileSystem,
        counters: CountersReader,
        errors: ErrorRecorder,
        clock: Clock,
    ) -> None:
        self._directory = PurePath(directory)
        self._page_size = settings[properties.FILE_PAGE_SIZE]
        self._checked = settings[properties.PERFORM_STORAGE_CHECKS]
        self._low_threshold = settings[properties.LOW_FILE_STORE_WARNING_THRESHOLD]
        self._free_limit = settings[properties.DRIVER_RESOURCE_FREE_LIMIT]
        self._files = file_system
        self._counters = counters
        self._errors = errors
        self._clock = clock
        self._to_free: deque[LogFile] = deque()
        self._refused: deque[LogFile] = deque()

    @property
    def page_size(self) -> int:
        """The alignment of log files in bytes."""
        return self._page_size

    @property
    def waiting(self) -> int:
        """The number of logs that wait for deletion."""
        return len(self._to_free)

    @property
    def refused(self) -> int:
        """The number of logs whose deletion failed and is tried again at the next call."""
        return len(self._refused)

    def create_publication_log(self, registration_id: int, metadata: LogMetadata) -> LogFile:
        """Create the log of a publication.

        Raises:
            StorageSpaceError: the disk has no room for it.
        """
        path = str(self._directory / PUBLICATIONS / f"{registration_id}.logbuffer")
        return self._create(path, metadata)

    def create_image_log(self, correlation_id: int, metadata: LogMetadata) -> LogFile:
        """Create the log of an image.

        Raises:
            StorageSpaceError: the disk has no room for it.
        """
        path = str(self._directory / IMAGES / f"{correlation_id}.logbuffer")
        return self._create(path, metadata)

    def free(self, log: LogFile) -> None:
        """Close a log and delete its file soon."""
        self._to_free.append(log)

    def free_some(self) -> int:
        """Delete some of the logs that wait; return how many were deleted.

        Clients wait while a log with much data is deleted. A call stops at the free limit, or
        earlier once deletion has taken `FREEING_NS`.
        """
        if not self._to_free:
            self._to_free, self._refused = self._refused, self._to_free
        gone = 0
        end_ns = self._clock.now_ns() + FREEING_NS
        for _ in range(min(len(self._to_free), max(1, self._free_limit))):
            log = self._to_free.popleft()
            if self._remove(log):
                gone += 1
            else:
                self._counters.get_and_add(SystemCounter.FREE_FAILS, 1)
                self._refused.append(log)
            if self._clock.now_ns() - end_ns >= 0:
                break
        return gone

    def free_all(self) -> None:
        """Delete all logs that wait, trying each once, as the driver closes."""
        for log in (*self._to_free, *self._refused):
            self._remove(log)
        self._to_free.clear()
        self._refused.clear()

    def discard(self, log: LogFile) -> None:
        """Delete a log that no client has been told about."""
        log.logs = None
        self._files.remove(log.path)
        self._forget(log)

    def report_refused_term(self, log: LogFile, owner_id: int, code: int, withheld: str) -> None:
        """Record that the disk had no space for the next term of a log.

        Args:
            log: the log.
            owner_id: the id of its publication or image.
            code: the errno; nothing is recorded for 0.
            withheld: the limit that does not move until there is space.
        """
        if code:
            self._errors.record_event(
                f"{StorageSpaceError.__module__}.{StorageSpaceError.__qualname__}: ERROR - "
                f"no room for the next term of {log.path} ({os.strerror(code)}): "
                f"its {withheld} is withheld until there is\n",
                ("no room for a term", owner_id),
            )

    def _remove(self, log: LogFile) -> bool:
        log.logs = None
        try:
            self._files.remove(log.path)
        except FileNotFoundError:
            pass  # somebody else has deleted it: the log is gone all the same
        except OSError as error:
            self._errors.record(error)
            return False
        self._forget(log)
        return True

    def _forget(self, log: LogFile) -> None:
        self._counters.get_and_add(SystemCounter.BYTES_CURRENTLY_MAPPED, -log.length)

    def _create(self, path: str, metadata: LogMetadata) -> LogFile:
        length = log_file_length(metadata.term_length, self._page_size)
        if self._checked:
            self._check_room(length)
        mapped = self._files.create_mapped(
            path, length, preallocate=not metadata.sparse, check_space=False
        )
        try:
            if metadata.sparse:
                _allocate_first_pages(mapped, metadata)
            logs = LogBuffers.create(mapped, metadata)
        except BaseException:
            self._files.remove(path)
            raise
        self._counters.get_and_add(SystemCounter.BYTES_CURRENTLY_MAPPED, length)
        return LogFile(path, length, logs)

    def has_plenty(self, length: int) -> bool:
        """Return whether the disk has so much space that it cannot become full in a moment."""
        usable: int = self._files.usable_space(str(self._directory))
        return usable >= PLENTY_OF_LOGS * length

    def _check_room(self, length: int) -> None:
        directory = str(self._directory)
        usable = self._files.usable_space(directory)
        if usable < length:
            store = self._files.store_name(directory)
            raise StorageSpaceError(
                f"insufficient usable storage for new log of length={length} usable={usable} "
                f"in {store}"
            )
        if usable <= self._low_threshold:
            store = self._files.store_name(directory)
            self._errors.record_event(
                f"io.aeron.exceptions.AeronException: WARN - space is running low: "
                f"threshold={self._low_threshold} usable={usable} in {store}\n",
                ("space is running low", store),
            )


def _allocate_first_pages(mapped: MappedFile, metadata: LogMetadata) -> None:
    """Allocate the pages that are used before a term is.

    These are the metadata, the start of every term, which a subscriber reads when it has
    finished the term before, and the place of the first message. The rest follows with limits.
    """
    page = metadata.page_size
    mapped.allocate_range(mapped.length - LOG_META_LENGTH, LOG_META_LENGTH)
    for index in range(3):
        mapped.allocate_range(index * metadata.term_length, min(page, metadata.term_length))
    start = metadata.term_offset & ~(page - 1)
    if 0 < start < metadata.term_length:
        term_id = metadata.initial_term_id if metadata.term_id is None else metadata.term_id
        index = ((term_id - metadata.initial_term_id) & 0xFFFFFFFF) % 3
        mapped.allocate_range(
            index * metadata.term_length + start, min(page, metadata.term_length - start)
        )
