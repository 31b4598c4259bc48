"""What can be read of an archive's folder, by a reader of its own that knows only the file formats.

It shares no code with the product (spec archive-files 3 and 4, spec log-buffers 4), so that a
fault of the product's reader does not hide what its writers have lost. A test records messages that
it knows, lets something delete or rewrite, and compares: each message is at its place in a
recording of the catalog, or in a file that was kept beside it, or the plan has listed it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

VALID = 1
_ENTRY_HEADER = 32
_CATALOG_HEADER = 32
_FRAME = struct.Struct("<iBBHiiiiq")
_ALIGNMENT_AT, _LENGTH_AT, _STATE_AT = 16, 0, 4
Messages = dict[int, bytes]


@dataclass
class Content:
    """The messages of a folder.

    Attributes:
        recordings: by recording id, those of VALID recordings between their start and stop: payload
            by position.
        kept: by recording id, those in any other file that has the id in its name.
    """

    recordings: dict[int, Messages] = field(default_factory=dict)
    kept: dict[int, Messages] = field(default_factory=dict)


def content_of(folder: Path) -> Content:
    """Read all that a folder holds."""
    found = Content()
    ranges = {}
    for state, recording_id, start, stop, term_length, stream_id in _entries(folder):
        ranges[recording_id] = start, stop, term_length, stream_id
        if state == VALID:
            found.recordings[recording_id] = {}
    for path in sorted(folder.iterdir()):
        name = path.name.split(".")[0]
        recording_id, _, base = name.partition("-")
        if not recording_id.isdigit() or not base.isdigit() or ".rec" not in path.name:
            continue
        start, stop, term_length, stream_id = ranges.get(int(recording_id), (0, -1, 65536, None))
        first = max(start - int(base), 0)
        for position, payload in _messages(path, int(base), term_length, stream_id, first):
            is_in = path.name.endswith(".rec") and start <= position < stop
            is_in = is_in and int(recording_id) in found.recordings
            where = found.recordings if is_in else found.kept
            where.setdefault(int(recording_id), {})[position] = payload
    return found


def missing(
    published: Mapping[int, Mapping[int, bytes]],
    now: Content,
    *,
    listed: Iterable[tuple[int, int, int]] = (),
    moved: Mapping[int, int] | None = None,
) -> list[tuple[int, int]]:
    """Recording id and position of each message that is neither there nor kept nor listed.

    Args:
        published: payloads by position and recording id; all of them could be read before.
        now: what can be read now.
        listed: recording id, begin and end of what a plan said that it takes away.
        moved: where messages of a recording may be as well: the id of another one, by its id.
    """
    ranges = list(listed)
    gone = []
    for recording_id, messages in published.items():
        ids = {recording_id, (moved or {}).get(recording_id, recording_id)}
        places = [where.get(one, {}) for where in (now.recordings, now.kept) for one in ids]
        for position, payload in messages.items():
            if any(place.get(position) == payload for place in places):
                continue
            if not any(
                one == recording_id and begin <= position < end for one, begin, end in ranges
            ):
                gone.append((recording_id, position))
    return gone


def _entries(folder: Path) -> list[tuple[int, int, int, int, int, int]]:
    """State, id, start, stop, term length and stream of each recording with an end."""
    data = (folder / "archive.catalog").read_bytes()
    (alignment,) = struct.unpack_from("<i", data, _ALIGNMENT_AT)
    found, at = [], _CATALOG_HEADER
    while at + _ENTRY_HEADER < len(data):
        (length,) = struct.unpack_from("<i", data, at + _LENGTH_AT)
        (state,) = struct.unpack_from("<i", data, at + _STATE_AT)
        if length <= 0:
            break
        body = at + _ENTRY_HEADER
        recording_id, _, _, start, stop = struct.unpack_from("<5q", data, body + 16)
        _, _, term_length, _, _, stream_id = struct.unpack_from("<6i", data, body + 56)
        found.append((state, recording_id, start, stop, term_length, stream_id))
        at += -(-(_ENTRY_HEADER + length) // alignment) * alignment
    return found


def _messages(
    path: Path, base: int, term_length: int, stream_id: int | None, first: int
) -> Iterable[tuple[int, bytes]]:
    """Position and payload of each whole message; behind damage with the next term."""
    data = path.read_bytes()
    for term in range(0, len(data), term_length):
        end = min(term + term_length, len(data))
        at = begin = first if term < first < end else term
        parts: list[bytes] = []
        while at + _FRAME.size <= end:
            length, version, flags, kind, offset, _, stream, _, _ = _FRAME.unpack_from(data, at)
            aligned = -(-length // 32) * 32
            if (
                length < _FRAME.size
                or at + aligned > end
                or version != 0
                or kind not in (0, 1)
                or offset != at - term
                or (stream_id is not None and stream != stream_id)
            ):
                break
            if kind == 1 and flags & 0x80:
                parts, begin = [], at
            if kind == 1 and (parts or flags & 0x80):
                parts.append(data[at + _FRAME.size : at + length])
                if flags & 0x40:
                    yield base + begin, b"".join(parts)
                    parts = []
            at += aligned
