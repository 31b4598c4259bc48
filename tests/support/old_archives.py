"""Archive folders as older archives left them, made from recordings of this version."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

from mark_headers import archive_header

from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

ENTRY_LENGTH = 1024
TERM_LENGTH = 64 * 1024
SEGMENT_LENGTH = 4 * TERM_LENGTH
#: Recordings: where they start, and how long they are.
STARTS = (0, 3 * TERM_LENGTH + 640, 4 * TERM_LENGTH, 6 * TERM_LENGTH + 32)
LENGTHS = (600_000, 600_000, 300_000, 100)


def with_legacy_catalog(folder: Path, version: int) -> None:
    """Give a folder's catalog the layout before version 3: entries of one length."""
    data = (folder / "archive.catalog").read_bytes()
    out = bytearray(ENTRY_LENGTH)
    struct.pack_into("<iiqi", out, 0, version, ENTRY_LENGTH, 0, 0)
    at = 32
    while at + 32 <= len(data) and (length := struct.unpack_from("<i", data, at)[0]) > 0:
        state, checksum = struct.unpack_from("<ii", data, at + 4)
        used = 80
        for _ in range(3):
            used += 4 + struct.unpack_from("<i", data, at + 32 + used)[0]
        entry = bytearray(ENTRY_LENGTH)
        struct.pack_into("<iii", entry, 0, used, state, checksum)
        entry[32 : 32 + used] = data[at + 32 : at + 32 + used]
        out += entry
        at += (32 + length + 63) & ~63
    (folder / "archive.catalog").write_bytes(out + bytes(4 * ENTRY_LENGTH))


def mark_version(folder: Path, version: int) -> None:
    """Give a folder's mark file another version."""
    path = folder / "archive-mark.dat"
    data = bytearray(path.read_bytes())
    struct.pack_into("<i", data, 8, version)
    path.write_bytes(data)


def new_mark(folder: Path, pid: int = 4321) -> ArchiveMarkFile:
    """A mark file of an archive that gives signs of life."""
    mark = ArchiveMarkFile.claim(
        folder,
        archive_header(start_timestamp=time.time_ns() // 1_000_000, pid=pid),
    )
    mark.ready()
    return mark


def make_old(folder: Path, version: int) -> None:
    """Replace all recordings in a folder by some of an older archive: names, catalog, mark file.

    Before version 2 segments were named by their distance from the first one, before version 1 by
    their number.
    """
    for path in folder.iterdir():
        if path.name != "archive-mark.dat":
            path.unlink()
    for start, length in zip(STARTS, LENGTHS, strict=True):
        builder = RecordingBuilder(
            term_length=TERM_LENGTH, segment_length=SEGMENT_LENGTH, start_position=start
        )
        while builder.position < start + length:
            builder.add(bytes(1000))
        builder.write(folder)
    with_legacy_catalog(folder, version)
    mark_version(folder, version)
    if version >= 2 << 16:
        return
    contents = {path.name: path.read_bytes() for path in folder.glob("*.rec")}
    for name in contents:
        (folder / name).unlink()
    for name, content in contents.items():
        recording, _, base = name.removesuffix(".rec").partition("-")
        first = STARTS[int(recording)] // TERM_LENGTH * TERM_LENGTH
        place = int(base) - first
        if version < 1 << 16:
            place //= SEGMENT_LENGTH
        (folder / f"{recording}-{place}.rec").write_bytes(content)


def entry_field(folder: Path, index: int, form: str, at: int, value: int) -> None:
    """Overwrite a number of an entry of a legacy catalog."""
    path = folder / "archive.catalog"
    data = bytearray(path.read_bytes())
    struct.pack_into(f"<{form}", data, ENTRY_LENGTH * (index + 1) + at, value)
    path.write_bytes(data)
