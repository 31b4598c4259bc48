"""Fingerprints of a recording's frames, by which an export knows again what it exported.

A recording that is truncated and then extended may end where it did, or later, and hold other
messages. Its last frames before the position up to which it was exported tell. The fingerprint
leaves out session ids: a replay has one of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.archive_folder import ScanTotals
from aerolog.catalog.export.checksum import RunningChecksum
from aerolog.catalog.extras import require
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aerolog.catalog.export.manifest import RangeEntry
    from aerolog.catalog.export.sources import SourceRecording

#: A fingerprint is of the frames in at least so many bytes, unless a range is shorter.
SPAN: Final = 4096
_COLUMNS: Final = ("position", "flags", "reserved_value", "payload")


def last_positions(parts: Iterable[Any]) -> Any:
    """The positions among which a fingerprint begins.

    Args:
        parts: NumPy arrays of positions, each in order: where a range begins, and where messages
            of it end. An array that this function gave stands for what it was made of.
    """
    numpy = require("numpy", "exporting recordings to Parquet")
    parts = [part for part in parts if len(part)]
    end = max(int(part[-1]) for part in parts) - SPAN
    tails = [part[max(int(part.searchsorted(end, side="right")) - 1, 0) :] for part in parts]
    return numpy.sort(numpy.concatenate(tails))


def fingerprint_start(positions: Any) -> int:
    """Where the frames of a fingerprint begin.

    Args:
        positions: as `last_positions` gives them.
    """
    before = int(positions.searchsorted(positions[-1] - SPAN, side="right"))
    return int(positions[max(before - 1, 0)])


def fingerprint(recording: SourceRecording, from_position: int, until_position: int) -> str:
    """The checksum of the frames of a range.

    Args:
        recording: that has the range.
        from_position: where a frame begins.
        until_position: where one ends.

    Returns:
        ``crc32c:`` and eight hex digits; empty when the frames cannot be read.
    """
    checksum = RunningChecksum()
    try:
        for batch in recording.batches(
            _COLUMNS,
            from_position=from_position,
            until_position=until_position,
            assemble=False,
            totals=ScanTotals(from_position),
            short=True,
        ):
            columns = (batch.column(name).to_pylist() for name in _COLUMNS)
            for position, flags, reserved_value, payload in zip(*columns, strict=True):
                checksum.update(b"%d,%d,%d,%b" % (position, flags, reserved_value, payload))
    except (AerologError, OSError, ValueError):
        return ""
    return checksum.text


def first_change(recording: SourceRecording, ranges: list[RangeEntry]) -> RangeEntry | None:
    """The first range behind which a recording holds other frames than were exported.

    Ranges that the recording does not have any more, and those of which no fingerprint is known,
    tell nothing.

    Args:
        recording: as it is now; it ends where the last range does, or later.
        ranges: that were exported, in order.
    """
    changed = None
    for one in reversed(ranges):
        if not one.fingerprint or one.fingerprint_from < recording.start_position:
            break
        found = fingerprint(recording, one.fingerprint_from, one.until_position)
        if found == one.fingerprint or (not found and _is_damaged(recording, one)):
            break
        changed = one
    return changed


def kept_until(recording: SourceRecording, ranges: list[RangeEntry]) -> int | None:
    """Up to which position a recording still holds what was exported, as far as that is known.

    Args:
        recording: as it is now; it may end before the last range does.
        ranges: that were exported, in order.

    Returns:
        The end of a range, or the start of the first one; None when no fingerprint tells.
    """
    whole = [one for one in ranges if one.until_position <= recording.end_position]
    changed = first_change(recording, whole)
    if changed is not None:
        return changed.from_position
    if not whole:
        return ranges[0].from_position if ranges else None
    return whole[-1].until_position if whole[-1].fingerprint else None


def _is_damaged(recording: SourceRecording, one: RangeEntry) -> bool:
    """Whether frames that cannot be read are damaged; else none begins at that position now."""
    wanted = one.fingerprint_from
    base = wanted - wanted % recording.descriptor.term_buffer_length
    base = max(base, recording.start_position)
    try:
        for batch in recording.batches(
            ("position",),
            from_position=base,
            until_position=one.until_position,
            assemble=False,
            totals=ScanTotals(base),
        ):
            ends = batch.column(0).to_numpy()
            if ends[-1] >= wanted:
                return bool(wanted in ends)
    except (AerologError, OSError, ValueError):
        return True
    return wanted == base
