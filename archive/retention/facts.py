"""The facts that retention decides by: recordings, their times, and who still needs them.

Facts are plain values. `aerolog.archive.retention.folder_facts` gathers them from a folder, and
others add what the SQL catalog knows (labels, exports, pipelines). Positions and sizes are bytes,
times are UTC epoch milliseconds unless a name says otherwise.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from aerolog.archive.format.segment import segment_base
from aerolog.transport.config.values import INT64_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Timeline(Protocol):
    """Converts times to positions and back, and says where it cannot."""

    def position_at(self, time_ns: int) -> int:
        """Return the largest known position with nothing from ``time_ns`` on before it."""

    def time_at(self, position: int) -> int:
        """Return when a position was written, epoch nanoseconds; 2^63 - 1 where it is not known."""

    def why_unknown(self, position: int) -> str | None:
        """Return why the time of a position is not known, None where it is."""


@dataclass(frozen=True, slots=True)
class UnknownTimeline:
    """The timeline of a recording whose times are not known: it is younger than anything.

    Attributes:
        start_position: the recording's start position.
        why: why its times are not known, and what helps.
    """

    start_position: int
    why: str

    def position_at(self, time_ns: int) -> int:
        """Return the start: nothing is known to be older."""
        del time_ns
        return self.start_position

    def time_at(self, position: int) -> int:
        """Return a time after all others."""
        del position
        return INT64_MAX

    def why_unknown(self, position: int) -> str | None:
        """Return why no time is known."""
        del position
        return self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingFacts:
    """A recording and its files.

    Attributes:
        recording_id: id in the archive.
        channel: channel that the recording was started with.
        stripped_channel: channel without parameters that do not identify the stream.
        stream_id: id of the recorded stream.
        start_position: position of the first frame.
        end_position: position after the last known frame.
        is_active: whether it has no stop position.
        start_ms: when it began.
        stop_ms: when it ended, None while it is active.
        segment_length: length of a segment file.
        term_length: length of a term.
        segments: start positions of the existing segment files, ascending.
        timeline: when its positions were written.
        labels: labels in the SQL catalog, values by keys.
    """

    recording_id: int
    channel: str
    stream_id: int
    start_position: int
    end_position: int
    is_active: bool
    start_ms: int
    stop_ms: int | None
    segment_length: int
    term_length: int
    segments: Sequence[int]
    timeline: Timeline
    stripped_channel: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def stream(self) -> tuple[str, int]:
        """Channel and stream id, which all recordings of a stream have in common."""
        return (self.stripped_channel or self.channel, self.stream_id)

    @property
    def first_base(self) -> int:
        """Start position of the first segment."""
        return self.start_position - self.start_position % self.term_length

    @property
    def last_base(self) -> int:
        """Start position of the segment with the end: the highest start that a purge can set."""
        return self.base_of(self.end_position)

    def base_of(self, position: int) -> int:
        """Return the start position of the segment that holds a position."""
        return segment_base(
            max(position, self.start_position),
            self.start_position,
            self.term_length,
            self.segment_length,
        )

    def files_below(self, position: int) -> int:
        """Return how many of the files begin before a position."""
        return bisect_left(self.segments, position)

    @property
    def size_bytes(self) -> int:
        """Length of all segment files together."""
        return len(self.segments) * self.segment_length

    def missing(self) -> list[int]:
        """Return start positions of missing segments; one at the very end may be absent."""
        there = set(self.segments)
        return [
            base
            for base in range(self.first_base, self.end_position, self.segment_length)
            if base not in there
        ]


def sorted_bases(bases: Sequence[int]) -> array[int]:
    """Return the positions in ascending order, in eight bytes each."""
    return array("q", sorted(bases))


@dataclass(frozen=True, slots=True)
class Need:
    """A reader or hold that needs a recording from a position on; 0 for all of it.

    Attributes:
        recording_id: the recording that is needed.
        position: nothing from this position on may be deleted.
        kind: ``replay``, ``replication``, ``export``, ``pipeline``, ``catalog`` or ``hold``.
        text: description of the reader or hold for people.
        reads_on: whether the position is how far a reader has come. It needs what is recorded
            later, too, and nothing more of a recording that has stopped there.
    """

    recording_id: int
    position: int
    kind: str
    text: str
    reads_on: bool = False

    def is_over(self, stop_position: int | None) -> bool:
        """Return whether nothing of a recording is needed any more.

        Args:
            stop_position: where the recording has stopped, None when it has not.
        """
        return self.reads_on and stop_position is not None and self.position >= stop_position


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All facts that a plan follows from.

    Attributes:
        recordings: all recordings of the archive, by id.
        needs: needs of any of them.
        usable_bytes: usable space on the folder's file system, None when it is not known.
        total_bytes: the file system's size, None when it is not known.
        problems: facts that could not be found and oddities; shown with the plan.
    """

    recordings: tuple[RecordingFacts, ...]
    needs: tuple[Need, ...] = ()
    usable_bytes: int | None = None
    total_bytes: int | None = None
    problems: tuple[str, ...] = ()
