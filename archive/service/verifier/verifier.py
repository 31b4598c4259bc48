"""Continuous verification, which reads closed segments repeatedly at a bounded rate.

The verifier is an agent with its own thread, so that no other agent waits for its disk reads. It
examines the folder at intervals. A segment that is new, missing or changed since its verification
is due at once, the others when their last verification is old enough. Findings go to the error log,
to counters and to the health file of the recording.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.live_position import positions_of
from aerolog.archive.service import properties as p
from aerolog.archive.service.reporter import ArchiveEvent
from aerolog.archive.service.verifier.timed_agent import TimedAgent
from aerolog.archive.verification.closed_spans import closed_spans
from aerolog.archive.verification.findings import Kind
from aerolog.archive.verification.fingerprint import new_hash
from aerolog.archive.verification.health_file import HealthWriter, remove_health
from aerolog.archive.verification.layout import HEALTH_FOLDER, HEALTH_SUFFIX, SegmentState
from aerolog.archive.verification.recording_check import RecordingChecker
from aerolog.archive.verification.segment_check import PIECE_LENGTH, PIECE_LENGTH_MIN
from aerolog.transport.errors import (
    AerologError,
    ArchiveError,
    FileFormatError,
    RecordingDamagedError,
)
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.reporter import ArchiveReporter
    from aerolog.archive.verification.closed_spans import Span
    from aerolog.archive.verification.findings import Finding
    from aerolog.archive.verification.layout import SegmentRecord
    from aerolog.archive.verification.recording_check import SpanResult
    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.filesystem import FileSystem

ROLE_NAME: Final = "archive-verifier"
_SLICE: Final = 32  # files examined without a break
_DUE_MAX: Final = 4096  # most segments that one examination finds due; the next finds the others
_RETRY_MS: Final = 60_000  # a file that could not be read is tried again after that, at the latest
_CATCH_UP_NS: Final = 20 * NS_PER_MS  # most time of overlong sleeps that later reads make up for


@dataclass(frozen=True, slots=True)
class VerifierOptions:
    """Rate and intervals of verification.

    Attributes:
        rate: bytes per second, more than 0.
        interval_ms: age at which a verification is repeated, milliseconds.
        look_interval_ns: time between examinations of the folder, nanoseconds.
        piece_length: bytes read without a break.
    """

    rate: int
    interval_ms: int
    look_interval_ns: int
    piece_length: int = PIECE_LENGTH


def verifier_of(context: ArchiveContext) -> Verifier | None:
    """Return the verifier of an archive, None when none is configured.

    Raises:
        MissingExtraError: one is configured, but xxhash is not installed.
    """
    config = context.config
    rate: int = config[p.VERIFY_RATE]
    if rate == 0:
        return None
    new_hash("continuous verification")
    is_alone = config[p.THREADING_MODE] != "INVOKER"
    return Verifier(
        VerifierOptions(
            rate=rate,
            interval_ms=config[p.VERIFY_INTERVAL] // NS_PER_MS,
            look_interval_ns=config[p.VERIFY_LOOK_INTERVAL],
            piece_length=PIECE_LENGTH if is_alone else PIECE_LENGTH_MIN,
        ),
        folder=config.archive_dir,
        files=context.files,
        clock=context.clock,
        positions=partial(positions_of, context.aeron.conductor.counters, context.archive_id),
        reporter=context.reporter,
        counters=context.counters.add_verification(),
    )


class DueSegments:
    """The segments to read, starting with the one that was verified longest ago.

    Attributes:
        count: number of due segments, including those for which there is no room.
    """

    def __init__(self) -> None:
        self.count = 0
        self._heap: list[tuple[int, int, RecordingDescriptor, Span]] = []

    def add(self, descriptor: RecordingDescriptor, span: Span, verified_ms: int) -> None:
        """Add a segment; a new or changed one has the time 0 and comes first."""
        self.count += 1
        entry = (-verified_ms, -self.count, descriptor, span)
        if len(self._heap) < _DUE_MAX:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)

    def take(self) -> list[tuple[RecordingDescriptor, Span]]:
        """Return all segments and remove them."""
        found, self._heap = sorted(self._heap, reverse=True), []
        return [(descriptor, span) for _, _, descriptor, span in found]


class Verifier(TimedAgent):
    """Reads closed segments and reports damage.

    Args:
        options: rate and intervals.
        folder: the archive's folder.
        files: the file system to use.
        clock: source of wall-clock and monotonic time.
        positions: returns positions of active recordings by recording id and session id.
        reporter: receives each finding once.
        counters: counters of bytes, segments, damaged segments and due segments.
    """

    def __init__(
        self,
        options: VerifierOptions,
        *,
        folder: str,
        files: FileSystem,
        clock: Clock,
        positions: Callable[[], dict[tuple[int, int], int]],
        reporter: ArchiveReporter,
        counters: tuple[Counter, Counter, Counter, Counter],
    ) -> None:
        super().__init__(ROLE_NAME)
        self._options = options
        self._folder = folder
        self._files = files
        self._clock = clock
        self._positions = positions
        self._reporter = reporter
        self._bytes, self._segments, self._bad, self._waiting = counters
        self._writers: dict[int, HealthWriter] = {}
        self._told: dict[tuple[int, int], tuple[object, int]] = {}
        self._has_looked = False
        self._work = self._rounds()

    def control(self) -> int:
        """Do the next piece of work: read some bytes, or examine some files."""
        try:
            length = next(self._work)
        except Exception as error:  # noqa: BLE001 - verification goes on with the next look
            self._reporter.error(error)
            self._work = self._rounds()
            self.due_ns = self._clock.now_ns() + self._options.look_interval_ns
            return 1
        if length:
            self._count(self._bytes, length)
            earliest = self._clock.now_ns() - _CATCH_UP_NS
            self.due_ns = max(self.due_ns, earliest) + length * NS_PER_S // self._options.rate
        return 1

    def _rounds(self) -> Iterator[int]:
        """Yield the number of bytes read after each piece of all the work."""
        while True:
            next_look_ns = self._clock.now_ns() + self._options.look_interval_ns
            due = DueSegments()
            yield from self._look(due)
            yield from self._verify(due, next_look_ns)
            self._count_waiting(0)
            self.due_ns = max(self.due_ns, next_look_ns)
            yield 0

    # -- due segments -----------------------------------------------------------------------------

    def _look(self, due: DueSegments) -> Iterator[int]:
        """Find the segments that are due, without reading them."""
        positions = self._positions()
        with CatalogReader.open(self._folder, self._files) as catalog:
            known = catalog.ids()
            self._forget(set(known))
            for recording_id in known:
                try:
                    descriptor = catalog.checked_entry(recording_id).descriptor
                except ArchiveError:
                    continue  # purged since the listing
                except FileFormatError as error:
                    self._tell((recording_id, -1), error, str(error), -1)
                    continue
                if descriptor.is_active:
                    key = (recording_id, descriptor.session_id)
                    end = positions.get(key, descriptor.start_position)
                else:
                    end = descriptor.stop_position
                yield from self._look_at(descriptor, end, due)
        self._has_looked = True
        self._count_waiting(due.count)
        self._count_bad()

    def _look_at(
        self,
        descriptor: RecordingDescriptor,
        end: int,
        due: DueSegments,
    ) -> Iterator[int]:
        writer = self._writer(descriptor)
        now_ms = self._clock.now_epoch_ms()
        bases = set()
        for number, span in enumerate(closed_spans(descriptor, end), 1):
            bases.add(span.base)
            record = writer.records.by_base.get(span.base)
            since = self._due_since(span, record, now_ms)
            if since is not None:
                due.add(descriptor, span, since)
            if number % _SLICE == 0:
                yield 0
        if descriptor.is_active:  # its position may not be known yet
            first = descriptor.segment_base(descriptor.start_position)
            bases.update(base for base in writer.records.by_base if base >= first)
        self._keep(writer, bases)
        yield 0

    def _due_since(self, span: Span, record: SegmentRecord | None, now_ms: int) -> int | None:
        """Return when a due segment was verified, 0 to read it at once, None when it is not due."""
        if record is None or record.length != span.length:
            return 0
        if not self._has_looked and record.state != SegmentState.SOUND:
            return 0  # a finding of an earlier run is reported again, with its text
        try:
            stamp = self._files.stamp(f"{self._folder}/{span.name}")
        except OSError:
            if record.state not in {SegmentState.MISSING, SegmentState.UNREADABLE}:
                return 0
        else:
            if (record.size, record.mtime_ns, record.inode) != stamp:
                return 0
        interval_ms = self._options.interval_ms
        if record.state == SegmentState.UNREADABLE:
            interval_ms = min(interval_ms, _RETRY_MS)
        is_recent = 0 <= now_ms - record.verified_ms < interval_ms
        return None if is_recent else record.verified_ms

    def _writer(self, descriptor: RecordingDescriptor) -> HealthWriter:
        writer = self._writers.get(descriptor.recording_id)
        if writer is None:
            writer = HealthWriter(self._files, self._folder, descriptor)
            self._writers[descriptor.recording_id] = writer
            for problem in writer.records.problems:
                self._reporter.event(f"recording {descriptor.recording_id}: {problem}")
        return writer

    def _forget(self, known: set[int]) -> None:
        """Remove what is kept about recordings that no longer exist."""
        gone = [recording_id for recording_id in self._writers if recording_id not in known]
        if not self._has_looked:
            gone += [one for one in self._kept() if one not in known]
        for recording_id in gone:
            self._writers.pop(recording_id, None)
            remove_health(self._files, self._folder, recording_id)
        self._told = {key: value for key, value in self._told.items() if key[0] in known}

    def _kept(self) -> list[int]:
        """Return the ids of recordings that have a health file."""
        folder = f"{self._folder}/{HEALTH_FOLDER}"
        if not self._files.is_dir(folder):
            return []
        stems = [name.removesuffix(HEALTH_SUFFIX) for name in self._files.list_dir(folder)]
        return [int(stem) for stem in stems if stem.isascii() and stem.isdigit()]

    def _keep(self, writer: HealthWriter, bases: set[int]) -> None:
        try:
            writer.keep(bases)
        except OSError as error:
            self._reporter.error(error)

    # -- reads ------------------------------------------------------------------------------------

    def _verify(self, due: DueSegments, until_ns: int) -> Iterator[int]:
        """Read segments until all are done or the folder has to be examined again."""
        checker: RecordingChecker | None = None
        for number, (descriptor, span) in enumerate(due.take(), 1):
            if checker is None or checker.descriptor is not descriptor:
                checker = RecordingChecker(
                    self._files,
                    self._folder,
                    descriptor,
                    piece_length=self._options.piece_length,
                )
            writer = self._writer(descriptor)
            before = writer.records.by_base.get(span.base)
            now_ms = self._clock.now_epoch_ms()
            result = yield from checker.verify(span, before, now_ms)
            self._take(writer, span, result)
            self._count_waiting(due.count - number)
            if self._clock.now_ns() >= until_ns:
                return
            yield 0

    def _take(self, writer: HealthWriter, span: Span, result: SpanResult) -> None:
        """Store and report the result of a verification."""
        if result.is_explained:
            return
        self._count(self._segments, 1)
        try:
            writer.note(result.record)
        except OSError as error:
            self._reporter.error(error)
        key = (span.recording_id, span.base)
        if result.finding is None:
            self._told.pop(key, None)
        else:
            self._tell_finding(key, result.finding)
        self._count_bad()

    def _tell_finding(self, key: tuple[int, int], finding: Finding) -> None:
        text = f"{finding.text}: {finding.remedy}"
        error: AerologError = ArchiveEvent(text)
        if finding.is_damage:
            error = RecordingDamagedError(text, finding.recording_id, finding.position)
        self._tell(key, error, finding.kind, finding.position)

    def _tell(self, key: tuple[int, int], error: Exception, kind: object, position: int) -> None:
        """Report what is wrong with a segment once, and again when the finding changes."""
        if self._told.get(key) != (kind, position):
            self._told[key] = (kind, position)
            self._reporter.error(error)

    # -- the counters -----------------------------------------------------------------------------

    def _count(self, counter: Counter, more: int) -> None:
        if not counter.closed:  # it is closed after the loss of the driver
            counter.add(more)

    def _count_waiting(self, count: int) -> None:
        if not self._waiting.closed:
            self._waiting.value = count

    def _count_bad(self) -> None:
        """Show the number of segments with a reported finding as damaged."""
        if not self._bad.closed:
            bad = [one for (_, base), (one, _) in self._told.items() if base >= 0]
            self._bad.value = len(bad) - bad.count(Kind.UNREADABLE)
