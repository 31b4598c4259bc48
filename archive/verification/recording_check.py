"""Verification of a recording's segments, one by one: frames, checksums and earlier records."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.read_errors import is_unreadable
from aerolog.archive.verification.findings import (
    Finding,
    Kind,
    finding_of,
    finding_of_check,
    odd_session_of_check,
)
from aerolog.archive.verification.fingerprint import fingerprint_text, new_hash
from aerolog.archive.verification.layout import SegmentRecord, SegmentState, run_of
from aerolog.archive.verification.segment_check import (
    CHECK_END,
    CHECK_GOES_ON,
    PIECE_LENGTH,
    SegmentCheck,
)
from aerolog.transport.errors import ArchiveError, FileFormatError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from aerolog.archive.format.checksum import Checksum
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.verification.closed_spans import Span
    from aerolog.archive.verification.fingerprint import Hash
    from aerolog.transport.memory.data_file import DataFile
    from aerolog.transport.memory.filesystem import FileStamp, FileSystem

_NO_FILE: Final = (0, 0, 0)
_STATES: Final = {
    Kind.MISSING: SegmentState.MISSING,
    Kind.UNREADABLE: SegmentState.UNREADABLE,
}


@dataclass(frozen=True, slots=True)
class SpanResult:
    """The outcome of verifying a segment.

    Attributes:
        record: the record to keep in the health file.
        finding: the fault, None when the segment is sound.
        is_explained: whether the archive has purged, truncated or extended the recording meanwhile,
            so that record and finding mean nothing.
        note: an oddity of the segment that is no damage, None when there is none.
    """

    record: SegmentRecord
    finding: Finding | None
    is_explained: bool = False
    note: Finding | None = None


class RecordingChecker:
    """Verifies the segments of one recording.

    Args:
        files: the file system to use.
        folder: the archive's folder.
        descriptor: the recording's descriptor, checked.
        checksum: the checksum that all frames have; None detects whether they have one.
        fingerprints: whether to compute fingerprints.
        piece_length: bytes read at a time.
    """

    def __init__(
        self,
        files: FileSystem,
        folder: str,
        descriptor: RecordingDescriptor,
        *,
        checksum: Checksum | None = None,
        fingerprints: bool = True,
        piece_length: int = PIECE_LENGTH,
    ) -> None:
        self._files = files
        self._folder = folder
        self.descriptor = descriptor
        self._fingerprints = fingerprints
        self._piece_length = piece_length
        self._check = SegmentCheck(
            term_length=descriptor.term_buffer_length,
            initial_term_id=descriptor.initial_term_id,
            stream_id=descriptor.stream_id,
            session_id=descriptor.session_id,
            mtu_length=descriptor.mtu_length,
            checksum=checksum,
            piece_length=piece_length,
        )

    def path_of(self, span: Span) -> str:
        """Return the path of a segment file."""
        return f"{self._folder}/{span.name}"

    def verify(
        self, span: Span, before: SegmentRecord | None, now_ms: int
    ) -> Generator[int, None, SpanResult]:
        """Verify a segment; yields the bytes of each piece that was read, returns the result.

        Args:
            span: the segment.
            before: the last record of the segment, None without one.
            now_ms: the present time, epoch milliseconds.

        Raises:
            MissingExtraError: xxhash is not installed, and there are fingerprints to compute.
        """
        stamp: FileStamp | tuple[int, int, int] = _NO_FILE
        hashed = new_hash() if self._fingerprints else None
        finding: Finding | None
        try:
            stamp = self._files.stamp(self.path_of(span))
            finding = self._odd_file(span)
            if finding is None:
                with self._files.open_data_file(self.path_of(span)) as file:
                    yield from self._prefix(file, span, hashed)
                    finding = yield from self._frames(file, span, hashed)
        except OSError as error:
            finding = self._unread(span, error)
        value = None if hashed is None or finding is not None else hashed.intdigest()
        result = self._result(span, before, now_ms, stamp, finding, value)
        if finding is not None:
            return result
        return replace(result, note=odd_session_of_check(span, self._check))

    def _unread(self, span: Span, error: OSError) -> Finding:
        """Make the finding for a segment that was not read."""
        if not isinstance(error, FileNotFoundError):
            text = f"the segment cannot be read: {error.strerror or error}"
            return finding_of(span, Kind.UNREADABLE, text)
        if is_unreadable(error, self.path_of(span), self._files):
            text = "the segment cannot be read: it is a link to a file that is not there or not"
            return finding_of(span, Kind.UNREADABLE, f"{text} mounted")
        return finding_of(span, Kind.MISSING, "the segment file is not there")

    def _odd_file(self, span: Span) -> Finding | None:
        """Make a finding when the segment is not a regular file; None when it is."""
        if self._files.is_regular(self.path_of(span)):
            return None
        return finding_of(span, Kind.UNREADABLE, "what is there is a link or a folder")

    def _prefix(self, file: DataFile, span: Span, hashed: Hash | None) -> Iterator[int]:
        """Hash the bytes before the first frame, which matter to the fingerprint only."""
        at = 0
        while hashed is not None and at < span.start:
            block = file.read_at(min(self._piece_length, span.start - at), at)
            if not block:
                return  # the frames are missing as well
            hashed.update(block)
            at += len(block)
            yield len(block)

    def _frames(
        self, file: DataFile, span: Span, hashed: Hash | None
    ) -> Generator[int, None, Finding | None]:
        check = self._check
        check.begin(file, span.base, span.start, span.length, is_last=span.is_last)
        status = check.status
        while status == CHECK_GOES_ON:
            status = check.step()
            with check.passed() as passed:  # of memory that is used again
                if hashed is not None:
                    hashed.update(passed)
                length = len(passed)
            yield length
        return None if status == CHECK_END else finding_of_check(span, check)

    def _result(
        self,
        span: Span,
        before: SegmentRecord | None,
        now_ms: int,
        stamp: FileStamp | tuple[int, int, int],
        finding: Finding | None,
        fingerprint: int | None,
    ) -> SpanResult:
        run = run_of(self.descriptor)
        same = before if before is not None and before.length == span.length else None
        known = None if same is None else same.fingerprint
        state = SegmentState.SOUND
        if finding is not None:
            state = _STATES.get(finding.kind, SegmentState.DAMAGED)
        elif same and known is not None and fingerprint is not None and fingerprint != known:
            if same.run != run and (same.mtime_ns, same.inode) != stamp[1:]:
                known = None  # truncated and extended since: these are the newer data
            else:
                state = SegmentState.CHANGED
                finding = finding_of(
                    span,
                    Kind.CHANGED,
                    "the segment is not what it was: fingerprint"
                    f" {fingerprint_text(fingerprint)}, {fingerprint_text(known)} before",
                )
        record = SegmentRecord(
            base=span.base,
            length=span.length,
            size=stamp[0],
            mtime_ns=stamp[1],
            inode=stamp[2],
            fingerprint=fingerprint if known is None else known,
            verified_ms=now_ms,
            position=-1 if finding is None else finding.position,
            run=run,
            state=state,
            kind=None if finding is None else finding.kind,
        )
        return SpanResult(record, finding, finding is not None and self._is_explained(span))

    def _is_explained(self, span: Span) -> bool:
        """Whether the archive itself has changed the recording since it was looked at."""
        try:
            with closing(CatalogReader.open(self._folder, self._files)) as catalog:
                now = catalog.checked_entry(span.recording_id).descriptor
        except (ArchiveError, FileNotFoundError):
            return True  # purged or invalidated, or gone with its archive
        except (FileFormatError, OSError):
            return False  # a catalog that is damaged or unreadable explains nothing
        if now.start_position > span.base + span.start:
            return True
        if not now.is_active and now.stop_position < span.end:
            return True
        return run_of(now) != run_of(self.descriptor)
