"""What retention decides by: recordings, where their time passes, and who still needs them.

Facts are plain values, gathered by `aerolog.archive.retention.folder_facts` from a folder and
added to by others (labels, exports and pipelines are in the SQL catalog). Positions and sizes are
bytes, times UTC epoch milliseconds unless the name says otherwise.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from aerolog.archive.format.segment import segment_base

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NS_PER_MS: Final = 1_000_000


class Timeline(Protocol):
    """When a recording was made, by position; `aerolog.archive.time_index.TimeIndex` is one."""

    def position_at(self, time_ns: int) -> int:
        """The largest known position such that nothing recorded from ``time_ns`` on is before."""

    def time_at(self, position: int) -> int:
        """When a position was written, epoch nanoseconds."""


@dataclass(frozen=True, slots=True)
class DescriptorTimeline:
    """What the catalog alone tells: all of a recording is as young as its end.

    Attributes:
        start_position: of the recording.
        end_position: of the recording.
        start_ms: when it began.
        stop_ms: when it ended, None while it goes on.
    """

    start_position: int
    end_position: int
    start_ms: int
    stop_ms: int | None

    def position_at(self, time_ns: int) -> int:
        """The end when it was over before ``time_ns``, the start otherwise."""
        if self.stop_ms is not None and (self.stop_ms + 1) * NS_PER_MS <= time_ns:
            return self.end_position
        return self.start_position

    def time_at(self, position: int) -> int:
        """When the recording ended, of all positions but the first; its start while it goes on."""
        last = self.start_ms if self.stop_ms is None else self.stop_ms
        return (self.start_ms if position <= self.start_position else last) * NS_PER_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingFacts:
    """A recording and its files.

    Attributes:
        recording_id: in its archive.
        channel: the one that it was made with.
        stripped_channel: without what is no part of the stream's name.
        stream_id: of the stream.
        start_position: of the first frame.
        end_position: behind the last frame that is known.
        is_active: whether it has no stop position.
        start_ms: when it began.
        stop_ms: when it ended, None while it has no end.
        segment_length: of a file.
        term_length: of the stream.
        segments: where the files begin that are there and belong to it, ascending.
        timeline: when its positions were written.
        labels: key -> value, of the SQL catalog.
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
        """What all recordings of a stream have in common."""
        return (self.stripped_channel or self.channel, self.stream_id)

    @property
    def first_base(self) -> int:
        """Where its first segment begins."""
        return self.start_position - self.start_position % self.term_length

    @property
    def last_base(self) -> int:
        """Where the segment begins that holds its end: the lowest start it can be cut to."""
        return self.base_of(self.end_position)

    def base_of(self, position: int) -> int:
        """Where the segment begins that holds a position."""
        return segment_base(
            max(position, self.start_position),
            self.start_position,
            self.term_length,
            self.segment_length,
        )

    def files_below(self, position: int) -> int:
        """How many of its files begin before a position."""
        return bisect_left(self.segments, position)

    @property
    def size_bytes(self) -> int:
        """Of its files."""
        return len(self.segments) * self.segment_length

    def missing(self) -> list[int]:
        """Where segments begin that should be there and are not; the one at the very end may be."""
        there = set(self.segments)
        return [
            base
            for base in range(self.first_base, self.end_position, self.segment_length)
            if base not in there
        ]


def sorted_bases(bases: Sequence[int]) -> array[int]:
    """Positions in order, eight bytes each."""
    return array("q", sorted(bases))


@dataclass(frozen=True, slots=True)
class Need:
    """Somebody who still needs a recording from a position on; 0 for all of it.

    Attributes:
        recording_id: of the recording.
        position: nothing from here on may go.
        kind: ``replay``, ``replication``, ``export``, ``pipeline`` or ``hold``.
        text: who it is, for people.
    """

    recording_id: int
    position: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that a plan follows from.

    Attributes:
        recordings: all of the archive's, by id.
        needs: of any of them.
        usable_bytes: room on the file system of the folder, None where it is not known.
        total_bytes: the file system's size, None where it is not known.
        problems: what could not be found out, and what is odd; shown with the plan.
    """

    recordings: tuple[RecordingFacts, ...]
    needs: tuple[Need, ...] = ()
    usable_bytes: int | None = None
    total_bytes: int | None = None
    problems: tuple[str, ...] = ()
