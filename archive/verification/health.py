"""``Health``: the results of verifying a recording, for users and commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.verification.closed_spans import closed_spans
from aerolog.archive.verification.fingerprint import fingerprint_text
from aerolog.archive.verification.health_file import read_health
from aerolog.archive.verification.layout import SegmentRecord, SegmentState

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.archive.verification.closed_spans import Span


@dataclass(frozen=True, slots=True)
class SegmentHealth:
    """The results of verifying one closed segment.

    Attributes:
        base: position at which the segment begins.
        length: recorded bytes of the segment.
        state: ``sound``, ``unchecked``, ``unreadable``, ``changed``, ``missing`` or ``damaged``.
        xxh3: its fingerprint, 16 hexadecimal digits, None when there is none.
        verified_ms: when it was verified last, epoch milliseconds, None when never.
        kind: the kind of fault, None when none is known.
        position: the position of the damage, -1 when there is none.
    """

    base: int
    length: int
    state: str
    xxh3: str | None = None
    verified_ms: int | None = None
    kind: str | None = None
    position: int = -1


@dataclass(frozen=True, slots=True)
class Health:
    """The health of one recording, from its health file; no segment is read.

    Attributes:
        recording_id: the id of the recording.
        state: the worst state of its closed segments, ``sound`` for an empty recording.
        segments: the closed segments, in position order.
        problems: faults of the health file itself, a line each.
    """

    recording_id: int
    state: str
    segments: list[SegmentHealth] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, folder: ArchiveFolder | str | Path, recording_id: int) -> Self:
        """Read the health of a recording.

        A health file that is missing, damaged or of another recording is no error: its segments
        are ``unchecked``, and ``problems`` says why.

        Args:
            folder: the folder of an archive, running or not; an open ArchiveFolder stays open.
            recording_id: the id of a VALID recording.

        Raises:
            ArchiveError: UNKNOWN_RECORDING.
            FileFormatError: the catalog is damaged.
        """
        if not isinstance(folder, ArchiveFolder):
            with ArchiveFolder(folder) as opened:
                return cls.open(opened, recording_id)
        recording = folder.recording(recording_id)
        found = read_health(folder.files, folder.path, recording.descriptor)
        spans = closed_spans(recording.descriptor, recording.end_position)
        segments = [_health_of(span, found.by_base.get(span.base)) for span in spans]
        states = [SegmentState[segment.state.upper()] for segment in segments]
        has_bytes = recording.end_position > recording.start_position
        nothing = SegmentState.UNCHECKED if has_bytes else SegmentState.SOUND
        state = max(states, default=nothing).name.lower()
        return cls(recording_id, state, segments, found.problems)

    @property
    def verified_ms(self) -> int | None:
        """When the least recently verified segment was verified, None when one never was."""
        times = [segment.verified_ms for segment in self.segments]
        known = [time for time in times if time is not None]
        return min(known) if known and len(known) == len(times) else None

    @property
    def bad_segments(self) -> list[SegmentHealth]:
        """The segments that are damaged, changed or missing."""
        return [one for one in self.segments if one.state in {"damaged", "changed", "missing"}]


def _health_of(span: Span, record: SegmentRecord | None) -> SegmentHealth:
    if record is None or record.length != span.length:
        return SegmentHealth(span.base, span.length, "unchecked")
    return SegmentHealth(
        base=span.base,
        length=span.length,
        state=record.state.name.lower(),
        xxh3=None if record.fingerprint is None else fingerprint_text(record.fingerprint),
        verified_ms=record.verified_ms,
        kind=None if record.kind is None else str(record.kind),
        position=record.position,
    )
