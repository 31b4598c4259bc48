"""The closed segments of a recording, to which nothing is written any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.archive.format.segment import segment_file_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.format.descriptor import RecordingDescriptor


@dataclass(frozen=True, slots=True)
class Span:
    """The recorded bytes of one closed segment.

    Attributes:
        recording_id: the id of the recording.
        base: position at which the file begins.
        start: offset of the first frame, 0 except in a recording's first segment.
        length: offset behind the last frame.
        is_last: whether the recording has stopped at the end of this segment.
    """

    recording_id: int
    base: int
    start: int
    length: int
    is_last: bool

    @property
    def name(self) -> str:
        """Name of the segment file."""
        return segment_file_name(self.recording_id, self.base)

    @property
    def end(self) -> int:
        """Position behind the last frame."""
        return self.base + self.length


def closed_spans(descriptor: RecordingDescriptor, end_position: int) -> Iterator[Span]:
    """Return the closed segments of a recording, in position order.

    A segment is closed when the recording goes on in a later segment, or has stopped.

    Args:
        descriptor: the recording's descriptor, checked.
        end_position: the stop position, or the position up to which is recorded.
    """
    length = descriptor.segment_file_length
    start = descriptor.start_position
    first = descriptor.segment_base(start)
    for base in range(first, end_position, length):
        covered = min(end_position - base, length)
        is_last = not descriptor.is_active and base + covered == end_position
        if covered == length or is_last:
            yield Span(descriptor.recording_id, base, max(start - base, 0), covered, is_last)
