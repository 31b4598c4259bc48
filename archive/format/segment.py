"""Names and positions of segment files (spec archive-files 1 and 2); no file is opened here.

A segment file ``<recordingId>-<segmentBasePosition>.rec`` holds the frames of one recording from
that base position on. The first segment starts at the base of the *term* that holds the start
position, and every further base is a multiple of the segment length after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import MAX_I64, SEGMENT_SUFFIX
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable

SEGMENT_LENGTH_MIN = 64 * 1024
SEGMENT_LENGTH_MAX = 1024 * 1024 * 1024
TERM_LENGTH_MIN = 64 * 1024
TERM_LENGTH_MAX = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SegmentName:
    """The recording id and the base position in the name of a segment file."""

    recording_id: int
    base_position: int

    def __str__(self) -> str:
        return segment_file_name(self.recording_id, self.base_position)


def segment_file_name(recording_id: int, base_position: int) -> str:
    """Return the name of the segment of ``recording_id`` that starts at ``base_position``."""
    return f"{recording_id}-{base_position}{SEGMENT_SUFFIX}"


def segment_base(position: int, start_position: int, term_length: int, segment_length: int) -> int:
    """Return the base position of the segment that holds ``position``.

    Args:
        position: at or after ``start_position``.
        start_position: the recording's present start position.
        term_length: the recording's term length in bytes, a power of two.
        segment_length: a power of two in bytes, at least ``term_length``.
    """
    first = start_position - (start_position & (term_length - 1))
    return first + ((position - first) & ~(segment_length - 1))


def term_id_at(position: int, initial_term_id: int, term_length: int) -> int:
    """Return the term id of the frame at ``position``, wrapped to a signed 32-bit value."""
    term_id = initial_term_id + position // term_length
    return (term_id + 2**31) % 2**32 - 2**31


def recording_id_of(name: str) -> int | None:
    """Return the id of the recording that a file belongs to by its name, None for other files.

    A name without a dash, or with something other than a number before it, belongs to no
    recording. The reference refuses to start when it finds the latter (spec archive-files 18.7);
    this archive ignores such files.
    """
    if not name.endswith(SEGMENT_SUFFIX):
        return None
    head, dash, _ = name.partition("-")
    return int(head) if dash and _is_number(head) else None


def parse_segment_name(name: str) -> SegmentName:
    """Parse the name of a segment file.

    Raises:
        FileFormatError: the name is not ``<recordingId>-<position>.rec`` (spec archive-files 6.1).
    """
    recording_id = recording_id_of(name)
    if recording_id is None:
        raise FileFormatError(f"not the name of a segment file: {name}")
    text = name[: -len(SEGMENT_SUFFIX)].partition("-")[2]
    if not text:
        raise FileFormatError(f"no position encoded in the segment file: {name}")
    if text.startswith("-") and _is_number(text[1:]):
        raise FileFormatError(f"negative position encoded in the file name: {name}")
    if not _is_number(text) or int(text) > MAX_I64:
        raise FileFormatError(f"error parsing long: {text}, in the segment file name {name}")
    return SegmentName(recording_id, int(text))


def segments_by_recording(names: Iterable[str]) -> dict[int, list[str]]:
    """Group the segment files of a folder listing by recording id, in listing order."""
    found: dict[int, list[str]] = {}
    for name in names:
        recording_id = recording_id_of(name)
        if recording_id is not None:
            found.setdefault(recording_id, []).append(name)
    return found


def is_power_of_two(value: int) -> bool:
    """Return whether ``value`` is 1, 2, 4, and so on."""
    return value > 0 and value & (value - 1) == 0


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
