"""Folders with recordings whose times are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.testing.recordings import RecordingBuilder, write_time_index

if TYPE_CHECKING:
    from pathlib import Path

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000


@dataclass(frozen=True)
class Made:
    """A recording of a message a millisecond.

    Attributes:
        folder: that it is in.
        recording_id: its id.
        entries: time and position of the first frame of each message.
        payloads: of the messages.
    """

    folder: Path
    recording_id: int
    entries: list[tuple[int, int]]
    payloads: list[bytes]


def make(folder: Path, count: int = 300, *, index: bool = True, rebuilt: bool = False) -> Made:
    """Some messages are of several fragments, some terms end with padding."""
    builder = RecordingBuilder()
    entries, payloads = [], []
    for number in range(count):
        payload = f"message {number} ".encode() * (400 if number % 50 == 7 else 3)
        end = builder.add(payload)
        parts = -(-len(payload) // (builder.mtu_length - 32))
        last = len(payload) - (parts - 1) * (builder.mtu_length - 32)
        begin = end - (parts - 1) * builder.mtu_length - (last + 32 + 31) // 32 * 32
        entries.append((START_NS + number * MS, begin))
        payloads.append(payload)
    recording_id = builder.write(folder)
    if index:
        write_time_index(folder, recording_id, entries, is_rebuilt=rebuilt)
    return Made(folder, recording_id, entries, payloads)
