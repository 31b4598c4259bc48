"""Verification of whole recordings, for commands and for programs."""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.verification.closed_spans import closed_spans
from aerolog.archive.verification.findings import Finding, Kind, remedy_of
from aerolog.archive.verification.fingerprint import new_hash
from aerolog.archive.verification.health_file import HealthWriter, read_health
from aerolog.archive.verification.recording_check import RecordingChecker
from aerolog.transport.concurrent.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path
    from types import TracebackType

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.checksum import Checksum
    from aerolog.archive.verification.closed_spans import Span
    from aerolog.archive.verification.layout import SegmentRecord
    from aerolog.archive.verification.recording_check import SpanResult
    from aerolog.transport.concurrent.clock import Clock

_THREADS_MAX: Final = 4
_AHEAD: Final = 2  # segments in the queue for each thread


def verify_recording(
    folder: ArchiveFolder | str | Path,
    recording_id: int,
    *,
    checksum: Checksum | None = None,
    note: bool = False,
    fingerprints: bool | None = None,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    clock: Clock | None = None,
) -> list[Finding]:
    """Read all closed segments of a recording and say what is wrong with them.

    Args:
        folder: the folder of an archive, running or not; an open ArchiveFolder stays open.
        recording_id: the id of a VALID recording.
        checksum: the checksum that all frames have; None detects whether they have one.
        note: whether to write the results, fingerprints included, to the recording's health file;
            not while an archive that verifies is running, which writes them itself.
        fingerprints: whether to compute them; by default when some are known, or with ``note``.
        threads: number of threads that read a segment each; by default one per processor, up to 4.
        progress: called after each segment with the number of bytes read so far.
        clock: gives the times of verification in the health file, the system's by default.

    Returns:
        The findings by position, those about the health file first; empty when all is sound.

    Raises:
        ArchiveError: UNKNOWN_RECORDING.
        FileFormatError: the catalog is damaged.
        MissingExtraError: fingerprints are wanted, and xxhash is not installed.
    """
    verify = partial(
        verify_opened,
        checksum=checksum,
        note=note,
        fingerprints=fingerprints,
        threads=threads,
        progress=progress,
        clock=clock,
    )
    if isinstance(folder, ArchiveFolder):
        return verify(folder.recording(recording_id))
    with ArchiveFolder(folder) as opened:
        return verify(opened.recording(recording_id))


def verify_opened(
    recording: Recording,
    *,
    checksum: Checksum | None = None,
    note: bool = False,
    fingerprints: bool | None = None,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    clock: Clock | None = None,
) -> list[Finding]:
    """As ``verify_recording``, of a recording that was opened already, salvaged or not.

    Raises:
        MissingExtraError: fingerprints are wanted, and xxhash is not installed.
    """
    files, folder, descriptor = recording.files, recording.folder.path, recording.descriptor
    records = read_health(files, folder, descriptor)
    findings = [health_finding(recording.recording_id, text) for text in records.problems]
    if fingerprints is None:
        known = records.by_base.values()
        fingerprints = note or any(record.fingerprint is not None for record in known)
    if fingerprints:
        new_hash("the verification of segments that have fingerprints")
    writer = HealthWriter(files, folder, descriptor) if note else None
    spans = list(closed_spans(descriptor, recording.end_position))
    if writer is not None:
        writer.keep(span.base for span in spans)

    def checker() -> RecordingChecker:
        return RecordingChecker(
            files, folder, descriptor, checksum=checksum, fingerprints=fingerprints
        )

    done = 0
    count = threads or min(os.cpu_count() or 1, _THREADS_MAX)
    with _Readers(checker, count, clock or SystemClock()) as readers:
        for span, result in readers.results(spans, records.by_base):
            done += span.length
            if progress is not None:
                progress(done)
            if result.is_explained:
                continue
            if writer is not None:
                writer.note(result.record)
            if result.finding is not None:
                findings.append(result.finding)
            if result.note is not None:
                findings.append(result.note)
    return findings


def health_finding(recording_id: int, problem: str) -> Finding:
    """Make a finding about a health file."""
    text = f"recording {recording_id}: {problem}"
    return Finding(recording_id, -1, Kind.HEALTH, text, remedy_of(Kind.HEALTH, recording_id))


class _Readers:
    """Threads that verify a segment each; leaving the ``with`` block ends them after a piece."""

    def __init__(self, checker: Callable[[], RecordingChecker], count: int, clock: Clock) -> None:
        self._checker = checker
        self._clock = clock
        self._count = count
        self._local = threading.local()
        self._ended = False
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="aerolog-verify")

    def results(
        self, spans: list[Span], known: dict[int, SegmentRecord]
    ) -> Iterator[tuple[Span, SpanResult]]:
        """Yield the results in the order of the segments."""
        waiting: deque[tuple[Span, Future[SpanResult]]] = deque()
        for span in spans:
            task = self._pool.submit(self._verify, span, known.get(span.base))
            waiting.append((span, task))
            if len(waiting) > _AHEAD * self._count:
                first, done = waiting.popleft()
                yield first, done.result()
        for span, done in waiting:
            yield span, done.result()

    def _verify(self, span: Span, before: SegmentRecord | None) -> SpanResult:
        checker: RecordingChecker | None = getattr(self._local, "checker", None)
        if checker is None:
            checker = self._local.checker = self._checker()
        pieces = checker.verify(span, before, self._clock.now_epoch_ms())
        while not self._ended:
            try:
                next(pieces)
            except StopIteration as done:
                result: SpanResult = done.value
                return result
        raise KeyboardInterrupt

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended = True
        self._pool.shutdown(cancel_futures=True)
