"""Log files of publications and images: checks of disk space, creation and deletion.

Spec log-buffers 1, spec cnc-and-commands 21. The conductor calls a store. Files are made and
deleted by its tasks, which run on a thread of their own, or in the calls when a driver has no
threads.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from aerolog.transport.concurrent.tasks import InlineTasks, ThreadTasks
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import properties
from aerolog.transport.errors import StorageSpaceError
from aerolog.transport.logbuffer.descriptor import LOG_META_LENGTH, LogBuffers, log_file_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.concurrent.tasks import Tasks
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.driver.error_recorder import ErrorRecorder
    from aerolog.transport.driver.logs.term_allocation import TermAllocation
    from aerolog.transport.logbuffer.metadata import LogMetadata
    from aerolog.transport.memory.counters import CountersReader
    from aerolog.transport.memory.filesystem import FileSystem
    from aerolog.transport.memory.mapped_file import MappedFile

PUBLICATIONS = "publications"
IMAGES = "images"
# The time that deletion by the caller may take before commands are read again.
FREEING_NS = 300_000
# The name of the thread that makes and deletes logs.
THREAD_NAME: Final = "aeron-logs"
# How long a driver that closes waits for a log that is being made or deleted.
CLOSE_TIMEOUT_S: Final = 5.0
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


@dataclass(slots=True, eq=False)
class _LogMaking:
    """A log that somebody waits for.

    Attributes:
        path: the path of its file.
        metadata: its initial metadata.
        then: called with the log.
        failed: called with the error when it cannot be made, or with that of ``then``.
        log: the log, once it is made and until ``then`` has it.
    """

    path: str
    metadata: LogMetadata
    then: Callable[[LogFile], None]
    failed: Callable[[Exception], None]
    log: LogFile | None = None


class LogStore:
    """Makes and deletes the driver's log files.

    Args:
        directory: the driver's Aeron directory.
        settings: page size, storage checks, low storage threshold, free limit.
        file_system: the file system that holds the directory.
        counters: the counters of the driver, with the system counters.
        errors: records a warning when disk space is low.
        clock: measures how long deletion takes.
        has_thread: whether a thread of its own makes and deletes the logs.

    Attributes:
        ring: called on that thread when `poll` has an outcome to report; the conductor sets it.
        tasks: makes and deletes the files.
        has_thread: whether a thread of its own makes and deletes the logs.
        is_closed: whether the store makes no further logs.
    """

    def __init__(
        self,
        directory: str,
        settings: Settings,
        file_system: FileSystem,
        counters: CountersReader,
        errors: ErrorRecorder,
        clock: Clock,
        *,
        has_thread: bool,
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
        self.has_thread = has_thread
        self.ring: Callable[[], object] | None = None
        self.tasks: Tasks = (
            ThreadTasks(
                self._report_ready, limit=0, name=THREAD_NAME, close_timeout_s=CLOSE_TIMEOUT_S
            )
            if has_thread
            else InlineTasks()
        )
        self.is_closed = False
        self._makings: list[_LogMaking] = []
        self._short: list[_LogMaking] = []
        self._deleting: LogFile | None = None
        self._to_free: deque[LogFile] = deque()
        self._refused: deque[LogFile] = deque()

    @property
    def page_size(self) -> int:
        """The alignment of log files in bytes."""
        return self._page_size

    @property
    def waiting(self) -> int:
        """The number of logs that `free_some` can delete now."""
        return 0 if self._deleting else len(self._to_free)

    @property
    def refused(self) -> int:
        """The number of logs whose deletion failed and is tried again at the next call."""
        return len(self._refused)

    @property
    def making(self) -> int:
        """The number of logs that are being made."""
        return len(self._makings)

    def make_publication_log(
        self,
        registration_id: int,
        metadata: LogMetadata,
        then: Callable[[LogFile], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Have the log of a publication made; see `make_image_log`."""
        path = str(self._directory / PUBLICATIONS / f"{registration_id}.logbuffer")
        self._submit(_LogMaking(path, metadata, then, failed))

    def make_image_log(
        self,
        correlation_id: int,
        metadata: LogMetadata,
        then: Callable[[LogFile], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Have the log of an image made.

        The outcome is reported by a later `poll`, or in this call by a store without a thread. A
        log that is reported belongs to the caller, who has to `free` it. A store that
        closes meanwhile reports nothing and leaves no file.

        Args:
            correlation_id: the id of the image.
            metadata: the log's initial metadata.
            then: called with the log.
            failed: called with the error, or with the one that ``then`` has raised: a
                StorageSpaceError if the disk has no room for the log.
        """
        path = str(self._directory / IMAGES / f"{correlation_id}.logbuffer")
        self._submit(_LogMaking(path, metadata, then, failed))

    def allocate(self, term: TermAllocation, then: Callable[[int], None]) -> None:
        """Have the term of a sparse log allocated that is wanted.

        Args:
            term: what allocates it.
            then: called with 0 or a negative errno, by a later `poll`.
        """
        self.tasks.submit(term.allocate_term, then, self._errors.record)

    def poll(self) -> int:
        """Report what was made, allocated or deleted since the last call; return a count."""
        return self.tasks.poll()

    def free(self, log: LogFile) -> None:
        """Close a log and delete its file soon."""
        self._to_free.append(log)

    def free_some(self) -> int:
        """Delete some of the logs that wait; return how many were begun.

        The thread gets one at a time, so that a log that is to be made waits for one at most. A
        store without a thread stops at the free limit, or earlier once deletion has taken
        `FREEING_NS`, because clients wait meanwhile.
        """
        if self._deleting:
            return 0
        if not self._to_free:
            self._to_free, self._refused = self._refused, self._to_free
        begun = 0
        end_ns = self._clock.now_ns() + FREEING_NS
        for _ in range(min(len(self._to_free), max(1, self._free_limit))):
            self._deleting = log = self._to_free.popleft()
            self.tasks.submit(
                partial(self._remove, log), self._on_removed, partial(self._on_not_removed, log)
            )
            begun += 1
            if self._deleting or self._clock.now_ns() - end_ns >= 0:
                break
        return begun

    def close(self) -> None:
        """Delete all logs that wait, trying each once, as the driver closes.

        A log in the making is waited for and deleted.
        """
        self.is_closed = True
        self.tasks.close()
        made = [making.log for making in self._makings if making.log]
        for log in made:
            self._count_mapped(log.length)
        deleting = [self._deleting] if self._deleting else []
        for log in (*deleting, *self._to_free, *self._refused, *made):
            try:
                self._remove(log)
            except OSError as error:
                self._errors.record(error)
            else:
                self._count_mapped(-log.length)
        self._makings.clear()
        self._short.clear()
        self._deleting = None
        self._to_free.clear()
        self._refused.clear()

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

    # ---- making -----------------------------------------------------------------------------

    def _submit(self, making: _LogMaking) -> None:
        self._makings.append(making)
        self.tasks.submit(
            partial(self._make, making),
            partial(self._on_made, making),
            partial(self._on_not_made, making),
        )

    def _make(self, making: _LogMaking) -> LogFile:
        """Make a log; on the thread, if there is one."""
        making.log = log = self._create(making.path, making.metadata)
        if self.is_closed:
            # The driver waited, and gave up waiting.
            self._remove(log)
        return log

    def _on_made(self, making: _LogMaking, log: LogFile) -> None:
        self._makings.remove(making)
        making.log = None
        self._count_mapped(log.length)
        making.then(log)

    def _on_not_made(self, making: _LogMaking, error: Exception) -> None:
        if making not in self._makings:  # `then` has raised it
            making.failed(error)
        elif isinstance(error, StorageSpaceError) and (self._deleting or self._to_free):
            self._short.append(making)
        else:
            self._makings.remove(making)
            making.failed(error)

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
        return LogFile(path, length, logs)

    # ---- deleting ---------------------------------------------------------------------------

    def _remove(self, log: LogFile) -> LogFile:
        """Unmap a log and delete its file; on the thread, if there is one."""
        log.logs = None
        with suppress(FileNotFoundError):  # another process has deleted it: gone all the same
            self._files.remove(log.path)
        return log

    def _on_removed(self, log: LogFile) -> None:
        self._deleting = None
        self._count_mapped(-log.length)
        self._retry_makings()

    def _on_not_removed(self, log: LogFile, error: Exception) -> None:
        self._deleting = None
        self._errors.record(error)
        self._counters.get_and_add(SystemCounter.FREE_FAILS, 1)
        self._refused.append(log)
        self._retry_makings()

    def _retry_makings(self) -> None:
        """Try again the logs for which there was no room while others waited for deletion."""
        short, self._short = self._short, []
        for making in short:
            self._makings.remove(making)
            self._submit(making)

    def _count_mapped(self, length: int) -> None:
        self._counters.get_and_add(SystemCounter.BYTES_CURRENTLY_MAPPED, length)

    def _report_ready(self) -> None:
        if self.ring is not None:
            self.ring()

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
