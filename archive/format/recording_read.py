"""A read over the segments of a recording that yields batches of rows and reports damage.

A read that skips damage goes on where the next term begins, or the next segment when one is
missing: a frame begins there, and a message too. So it reads everything that
`aerolog.archive.verification` calls readable.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.frame_scan import (
    SCAN_END,
    SCAN_FULL,
    SCAN_IO_ERROR,
    SCAN_NO_DATA,
    SCAN_TOO_LONG,
    SegmentScanner,
)
from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.format.segment_window import SegmentWindow
from aerolog.transport.errors import (
    ArchiveError,
    FileFormatError,
    RecordingChangedError,
    RecordingDamagedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.scan_columns import ScanColumns
    from aerolog.transport.memory.data_file import DataFile


@dataclass(frozen=True, slots=True)
class Gap:
    """A range of a recording that a read skipped because it is damaged.

    Attributes:
        from_position: where the first frame or message that could not be read begins.
        until_position: where reading went on.
        reason: what was found there, the text of the error that the damage is otherwise.
    """

    from_position: int
    until_position: int
    reason: str

    @property
    def text(self) -> str:
        """A line that names the gap and its reason."""
        where = f"positions {self.from_position} to {self.until_position}"
        return f"{where} cannot be read: {self.reason}"


@dataclass(slots=True)
class ScanTotals:
    """The progress of a read.

    Attributes:
        position: stream position that the read has reached.
        rows: rows given out.
        payload_bytes: bytes of payload in those rows.
        frames: DATA frames passed.
        padding_frames: padding frames passed.
        skipped_fragments: fragments of messages that do not begin and end in the range.
        checksum_mismatches: frames in checksummed data whose checksum does not match.
        gaps: ranges that were skipped because they are damaged, in order; they do not touch.
    """

    position: int
    rows: int = 0
    payload_bytes: int = 0
    frames: int = 0
    padding_frames: int = 0
    skipped_fragments: int = 0
    checksum_mismatches: int = 0
    gaps: list[Gap] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RowChoice:
    """Which rows of a range a read gives out; it skips all others.

    Attributes:
        assemble: True for one row per message, False for one row per fragment.
        after_position: rows that end at or before this position are left out.
        session_ids: rows of other sessions are left out; None for all sessions.
        skip_damage: what is damaged or missing becomes a gap; False makes it an error.
    """

    assemble: bool = True
    after_position: int = -1
    session_ids: frozenset[int] | None = None
    skip_damage: bool = False


class RecordingRead:
    """A read from ``totals.position`` to ``until``; it holds one window and one batch at a time."""

    def __init__(
        self, recording: Recording, until: int, choice: RowChoice, totals: ScanTotals
    ) -> None:
        self.recording = recording
        self.until = until
        self.choice = choice
        self.totals = totals
        self._window = SegmentWindow()
        self._batch: ScanColumns

    def batches(
        self, fresh: Callable[[int], ScanColumns], payload_capacity: int
    ) -> Iterator[ScanColumns]:
        """Yield filled batches; a batch may hold rows of several segments.

        Args:
            fresh: returns empty columns with room for the given number of payload bytes.
            payload_capacity: payload bytes in a batch, unless one message alone is longer.

        Raises:
            RecordingDamagedError: a segment is damaged, and damage is not skipped; or it cannot be
                read for another reason than damage. The rows before were yielded.
        """
        self._batch = fresh(payload_capacity)
        try:
            while self.totals.position < self.until:
                try:
                    if (yield from self._segment(fresh, payload_capacity)):
                        break  # the next frame ends after the range
                except RecordingDamagedError as error:
                    self._skip(error)
        except RecordingDamagedError:
            if self._batch.rows:
                yield self._count(self._batch)
            raise
        if self._batch.rows:
            yield self._count(self._batch)

    def _segment(
        self, fresh: Callable[[int], ScanColumns], payload_capacity: int
    ) -> Generator[ScanColumns, None, bool]:
        """Read on in the segment of the position; whether the range ends in it."""
        base = self.recording.descriptor.segment_base(self.totals.position)
        with self._open(base) as file:
            scanner = self._scanner(file, base)
            before = _Counts.of(scanner)
            status = SCAN_FULL
            while status in {SCAN_FULL, SCAN_TOO_LONG}:
                status = scanner.scan(self._batch)
                before = self._add(scanner, before)
                self.totals.position = base + scanner.offset
                if status == SCAN_FULL:
                    yield self._count(self._batch)
                    self._batch = fresh(payload_capacity)
                elif status == SCAN_TOO_LONG:
                    self._batch = fresh(scanner.message_length)
        if status == SCAN_IO_ERROR:
            raise self._damage(scanner, base) from OSError(scanner.bad_value, "")
        if status != SCAN_END:
            raise self._damage(scanner, base)
        return scanner.offset < self.recording.descriptor.segment_file_length

    def _skip(self, error: RecordingDamagedError) -> None:
        """Go on behind damage, when that is asked for and it is damage."""
        cause, at = error.__cause__, error.position
        is_missing = isinstance(cause, FileNotFoundError)
        is_damage = (
            not isinstance(cause, OSError)
            or is_missing
            or (cause.errno == errno.EIO and type(cause) is OSError)
        )
        is_changed = isinstance(error, RecordingChangedError)
        if not self.choice.skip_damage or is_changed or not is_damage:
            raise error
        descriptor = self.recording.descriptor
        length = descriptor.segment_file_length if is_missing else descriptor.term_buffer_length
        until = min((at // length + 1) * length, self.until)
        gaps = self.totals.gaps
        if gaps and gaps[-1].until_position == at:
            gaps[-1] = replace(gaps[-1], until_position=until)
        else:
            gaps.append(Gap(at, until, str(error)))
        self.totals.position = until

    def _path(self, base: int) -> str:
        name = segment_file_name(self.recording.recording_id, base)
        return str(Path(self.recording.folder.path) / name)

    def _open(self, base: int) -> DataFile:
        path = self._path(base)
        try:
            return self.recording.files.open_data_file(path)
        except FileNotFoundError as error:
            raise self._error(
                f"recording segment not found: {path}", self.totals.position
            ) from error
        except OSError as error:
            raise self._error(
                f"recording segment cannot be opened: {path}: {error.strerror}",
                self.totals.position,
            ) from error

    def _scanner(self, file: DataFile, base: int) -> SegmentScanner:
        descriptor = self.recording.descriptor
        self._window.open(file)
        return SegmentScanner(
            self._window,
            base_position=base,
            start_offset=self.totals.position - base,
            end_offset=min(self.until - base, descriptor.segment_file_length),
            initial_term_id=descriptor.initial_term_id,
            term_length=descriptor.term_buffer_length,
            session_id=descriptor.session_id,
            stream_id=descriptor.stream_id,
            assemble=self.choice.assemble,
            after_position=self.choice.after_position,
            session_ids=self.choice.session_ids,
        )

    def _count(self, batch: ScanColumns) -> ScanColumns:
        self.totals.rows += batch.rows
        self.totals.payload_bytes += batch.payload_length
        return batch

    def _add(self, scanner: SegmentScanner, before: _Counts) -> _Counts:
        now = _Counts.of(scanner)
        self.totals.frames += now.frames - before.frames
        self.totals.padding_frames += now.padding_frames - before.padding_frames
        self.totals.skipped_fragments += now.skipped_fragments - before.skipped_fragments
        self.totals.checksum_mismatches += now.checksum_mismatches - before.checksum_mismatches
        return now

    def _damage(self, scanner: SegmentScanner, base: int) -> RecordingDamagedError:
        problem, offset, value = scanner.problem, scanner.bad_offset, str(scanner.bad_value)
        if scanner.status == SCAN_NO_DATA:
            problem, offset = "unexpected end of recording", scanner.offset
            value = f"no frame, though the recording goes on to position {self.until}"
        elif scanner.status == SCAN_IO_ERROR:
            value = os.strerror(scanner.bad_value)
        return self._error(
            f"{problem}: {self._path(base)} at offset {offset}: {value}", base + scanner.offset
        )

    def _error(self, problem: str, position: int) -> RecordingDamagedError:
        """Build the error for a problem at a position, or for the change that caused it."""
        recording_id = self.recording.recording_id
        change = self._change(position)
        where = f"(position {position} of recording {recording_id})"
        if change:
            return RecordingChangedError(f"{change}: {problem} {where}", recording_id, position)
        return RecordingDamagedError(f"{problem} {where}", recording_id, position)

    def _change(self, position: int) -> str:
        """Say how the archive changed the recording during this read, "" when it did not."""
        recording = self.recording
        name = f"recording {recording.recording_id}"
        try:
            with CatalogReader.open(recording.folder.path, recording.files) as catalog:
                now = catalog.checked_entry(recording.recording_id).descriptor
        except FileNotFoundError:
            return f"{name} is gone with its archive's catalog"
        except ArchiveError:
            return f"{name} was purged or invalidated while it was read"
        except FileFormatError:
            return ""  # a damaged catalog does not show any change
        if now.start_position > position:
            return f"{name} was purged up to position {now.start_position} while it was read"
        if not now.is_active and now.stop_position < self.until:
            return f"{name} was truncated to position {now.stop_position} while it was read"
        return ""


@dataclass(frozen=True, slots=True)
class _Counts:
    """The counts of a scanner at one moment."""

    frames: int
    padding_frames: int
    skipped_fragments: int
    checksum_mismatches: int

    @classmethod
    def of(cls, scanner: SegmentScanner) -> _Counts:
        return cls(
            scanner.frames,
            scanner.padding_frames,
            scanner.skipped_fragments,
            scanner.checksum_mismatches,
        )
