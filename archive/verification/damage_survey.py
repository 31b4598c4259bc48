"""What can be read of a damaged recording, and which of its bytes nobody reads.

The reader is that of ``--skip-damage``: what it passes over is damage, everything else is kept. The
verifier adds single frames that the reader gives out and whose checksum is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.recording_read import Gap, ScanTotals
from aerolog.archive.verification.closed_spans import closed_spans
from aerolog.archive.verification.findings import Kind, finding_of_check
from aerolog.archive.verification.segment_check import CHECK_GOES_ON, SegmentCheck
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.checksum import Checksum
    from aerolog.archive.verification.closed_spans import Span
    from aerolog.archive.verification.findings import Finding

#: Faults within a frame whose length is right, so that the next one is found.
_WITHIN: Final = frozenset({Kind.CHECKSUM, Kind.PADDING})


@dataclass(frozen=True, slots=True)
class Survey:
    """A damaged recording, read from its start to its end.

    Attributes:
        gaps: the damage, in order; it does not overlap.
        messages: how many messages can be read.
        doubtful: how many frames of them have a wrong checksum.
    """

    gaps: tuple[Gap, ...]
    messages: int
    doubtful: int

    def readable(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """The positions between the gaps."""
        found, at = [], start
        for gap in self.gaps:
            if at < gap.from_position:
                found.append((at, gap.from_position))
            at = gap.until_position
        if at < end:
            found.append((at, end))
        return tuple(found)


def survey(
    recording: Recording, findings: Collection[Finding], checksum: Checksum | None = None
) -> Survey:
    """Read a recording as ``--skip-damage`` does, and look for wrong frames in what is read.

    Args:
        recording: the recording.
        findings: what a verification has found; only its segments are looked at once more.
        checksum: the checksum that all frames have; None detects whether they have one.

    Raises:
        RecordingDamagedError: something cannot be read for another reason than damage.
        OSError: a segment cannot be read.
    """
    totals = ScanTotals(recording.start_position)
    for _ in recording.batches(columns=("position",), totals=totals, skip_damage=True):
        pass
    gaps = list(totals.gaps)
    within = {f.base for f in findings if f.is_damage and f.kind != Kind.MISSING}
    doubtful = 0
    for span in closed_spans(recording.descriptor, recording.end_position):
        if span.base in within:
            for kind, gap in _wrong_frames(recording, span, totals.gaps, checksum):
                gaps.append(gap)
                doubtful += kind == Kind.CHECKSUM
    gaps.sort(key=lambda gap: gap.from_position)
    return Survey(tuple(gaps), totals.rows, doubtful)


def _wrong_frames(
    recording: Recording, span: Span, gaps: list[Gap], checksum: Checksum | None
) -> Iterator[tuple[Kind, Gap]]:
    """The frames of a segment that are wrong and lie in no gap."""
    descriptor = recording.descriptor
    check = SegmentCheck(
        term_length=descriptor.term_buffer_length,
        initial_term_id=descriptor.initial_term_id,
        stream_id=descriptor.stream_id,
        session_id=descriptor.session_id,
        mtu_length=descriptor.mtu_length,
        checksum=checksum,
    )
    path = str(Path(recording.folder.path) / span.name)
    try:
        file = recording.files.open_data_file(path)
    except FileNotFoundError:
        return
    with file:
        at = span.start
        while at < span.length:
            check.begin(file, span.base, at, span.length, is_last=span.is_last)
            while check.status == CHECK_GOES_ON:
                check.step()
            if check.offset >= span.length:
                return
            finding = finding_of_check(span, check)
            at = finding.position - span.base
            around = [g for g in gaps if g.from_position <= finding.position < g.until_position]
            if around:
                at = around[0].until_position - span.base
                continue
            if finding.kind not in _WITHIN:
                return  # odd, but everybody reads it
            length = int.from_bytes(file.read_at(4, at), "little", signed=True)
            until = at + align(max(length, 1), FRAME_ALIGNMENT)
            yield finding.kind, Gap(finding.position, span.base + until, finding.text)
            at = until
