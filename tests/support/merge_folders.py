"""Folders of recordings whose every message has a time of its own, and how they have to merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from aerolog.testing.recordings import RecordingBuilder, write_time_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from aerolog.archive.client.replay.timed_message import TimedMessage

FRAME = 32


class Row(NamedTuple):
    """What a merge has to say of a message."""

    recording_id: int
    position: int
    time_ns: int
    payload: bytes


def row_of(message: TimedMessage) -> Row:
    return Row(message.recording_id, message.position, message.time_ns, message.payload)


def first_frame(builder: RecordingBuilder, payload: bytes) -> int:
    """Where the first frame of the message is that was added last."""
    part = builder.mtu_length - FRAME
    lengths = [min(part, len(payload) - at) for at in range(0, len(payload), part)] or [0]
    return builder.position - sum(-(-(FRAME + length) // FRAME) * FRAME for length in lengths)


def write_recording(
    folder: Path, messages: Iterable[tuple[int, bytes]], *, indexed: bool = True, **options: Any
) -> list[Row]:
    """Write a recording with a time index that knows the time of every message.

    Args:
        folder: of the archive.
        messages: times and payloads.
        indexed: whether there is a time index.
        options: of the builder.

    Returns:
        Its messages, in its order.
    """
    builder = RecordingBuilder(**options)
    entries, rows = [], []
    for number, (time_ns, payload) in enumerate(messages):
        position = builder.add(payload, reserved_value=number)
        entries.append((time_ns, first_frame(builder, payload)))
        rows.append((position, time_ns, payload))
    if entries:
        entries.append((entries[-1][0] + 1, builder.position))  # as a pause notes it
    recording_id = builder.write(folder)
    if indexed:
        write_time_index(folder, recording_id, entries)
    return [Row(recording_id, *row) for row in rows]


def merged(recordings: Sequence[Sequence[Row]]) -> list[Row]:
    """How recordings have to merge: by the latest time so far, place and position."""
    keyed = []
    for place, rows in enumerate(recordings):
        latest = -(1 << 63)
        for row in rows:
            latest = max(latest, row.time_ns)
            keyed.append(((latest, place, row.position), row))
    return [row for _, row in sorted(keyed)]


def every(start_ns: int, step_ns: int, count: int, tag: str) -> list[tuple[int, bytes]]:
    """Messages at regular times, each with its own text."""
    return [(start_ns + step_ns * n, f"{tag}{n}".encode()) for n in range(count)]
