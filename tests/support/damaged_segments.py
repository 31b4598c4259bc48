"""Ways to damage segments and their names, each on a copy of the golden folder."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Damage = Callable[[Path], object]

#: Offset and length of the sixth frame of recording 0 in the golden folder, and of its last one.
MIDDLE = (672, 460)
LAST = (11520, 497)


def frames(path: Path, start: int = 0) -> list[tuple[int, int]]:
    """Offsets and lengths of the frames of a segment."""
    data, at, found = path.read_bytes(), start, []
    while at + 32 <= len(data) and (length := struct.unpack_from("<i", data, at)[0]) > 0:
        found.append((at, length))
        at += (length + 31) & ~31
    return found


def write(name: str, at: int, data: bytes) -> Damage:
    """Overwrite bytes of a file; it is made where it is missing."""

    def damage(folder: Path) -> None:
        path = folder / name
        content = bytearray(path.read_bytes() if path.exists() else b"")
        content[at : at + len(data)] = data
        path.write_bytes(content)

    return damage


def length(name: str, at: int, value: int, kind: int | None = None) -> Damage:
    """Give the frame at an offset another length, and another type."""

    def damage(folder: Path) -> None:
        write(name, at, struct.pack("<i", value))(folder)
        if kind is not None:
            write(name, at + 6, struct.pack("<H", kind))(folder)

    return damage


def truncated(name: str, size: int) -> Damage:
    """Make a file shorter, or longer with a hole."""
    return lambda folder: os.truncate(folder / name, size)


def zeros_from(name: str, at: int) -> Damage:
    """Make a hole of what is behind an offset."""

    def damage(folder: Path) -> None:
        size = (folder / name).stat().st_size
        os.truncate(folder / name, at)
        os.truncate(folder / name, size)

    return damage


def removed(*names: str) -> Damage:
    """Remove files."""
    return lambda folder: [(folder / name).unlink() for name in names]


def renamed(old: str, new: str) -> Damage:
    """Give a file another name."""
    return lambda folder: (folder / old).rename(folder / new)


def added(*names: str) -> Damage:
    """Add empty files."""
    return lambda folder: [(folder / name).write_bytes(b"") for name in names]


def folder_instead(name: str) -> Damage:
    """A folder where a segment was."""

    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return damage


def link_instead(name: str) -> Damage:
    """A link to nowhere where a segment was."""

    def damage(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to("nowhere")

    return damage


def both(*damages: Damage) -> Damage:
    """One after the other."""
    return lambda folder: [damage(folder) for damage in damages]
