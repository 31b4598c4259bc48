"""Ways to damage an archive's catalog and mark file, by name, each on a copy of a sound folder."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CATALOG = "archive.catalog"
_MARK = "archive-mark.dat"


def entry_offsets(data: bytes) -> list[int]:
    """Where the entries of a sound catalog are."""
    at, found = 32, []
    while at + 32 <= len(data) and (length := struct.unpack_from("<i", data, at)[0]) > 0:
        found.append(at)
        at += (length + 32 + 63) & ~63
    return found


def cut(name: str, length: int) -> Callable[[Path], None]:
    """Keep so many bytes of a file."""

    def damage(folder: Path) -> None:
        path = folder / name
        path.write_bytes(path.read_bytes()[:length])

    return damage


def cut_in_entry(index: int, kept: int) -> Callable[[Path], None]:
    """End the catalog inside an entry."""

    def damage(folder: Path) -> None:
        path = folder / _CATALOG
        data = path.read_bytes()
        path.write_bytes(data[: entry_offsets(data)[index] + kept])

    return damage


def put(name: str, form: str, at: int, value: int) -> Callable[[Path], None]:
    """Overwrite a number of a file."""

    def damage(folder: Path) -> None:
        path = folder / name
        data = bytearray(path.read_bytes())
        struct.pack_into(f"<{form}", data, at, value)
        path.write_bytes(data)

    return damage


def put_in_entry(index: int, form: str, at: int, value: int) -> Callable[[Path], None]:
    """Overwrite a number of a catalog's entry."""

    def damage(folder: Path) -> None:
        path = folder / _CATALOG
        data = bytearray(path.read_bytes())
        struct.pack_into(f"<{form}", data, entry_offsets(data)[index] + at, value)
        path.write_bytes(data)

    return damage


def without(name: str) -> Callable[[Path], None]:
    """Remove a file."""

    def damage(folder: Path) -> None:
        (folder / name).unlink()

    return damage


def garbage(name: str) -> Callable[[Path], None]:
    """Bytes that mean nothing."""

    def damage(folder: Path) -> None:
        (folder / name).write_bytes(bytes(i * 37 & 255 for i in range(4000)))

    return damage


CATALOG_DAMAGES: dict[str, Callable[[Path], None]] = {
    "missing": without(_CATALOG),
    "empty": cut(_CATALOG, 0),
    "shorter than its header": cut(_CATALOG, 30),
    "header alone": cut(_CATALOG, 32),
    "garbage": garbage(_CATALOG),
    "cut inside an entry": cut_in_entry(5, 100),
    "cut inside an entry's header": cut_in_entry(5, 20),
    "cut inside an entry's length": cut_in_entry(5, 2),
    "other version": put(_CATALOG, "i", 0, 2 << 16),
    "legacy alignment": put(_CATALOG, "i", 16, 0),
    "alignment three": put(_CATALOG, "i", 16, 3),
    "negative alignment": put(_CATALOG, "i", 16, -64),
    "next id too small": put(_CATALOG, "q", 8, 5),
    "negative length": put_in_entry(3, "i", 0, -5),
    "length of a gigabyte": put_in_entry(3, "i", 0, 1 << 30),
    "length near the largest": put_in_entry(3, "i", 0, 2_147_483_600),
    "length too short": put_in_entry(14, "i", 0, 40),
    "id twice": put_in_entry(3, "q", 48, 2),
    "state unknown": put_in_entry(3, "i", 4, 7),
    "checksum of an entry": put_in_entry(3, "i", 8, 77),
    "string of half a gigabyte": put_in_entry(3, "i", 112, 1 << 29),
    "string of negative length": put_in_entry(3, "i", 112, -1),
}

MARK_DAMAGES: dict[str, Callable[[Path], None]] = {
    "missing": without(_MARK),
    "empty": cut(_MARK, 0),
    "cut in its header": cut(_MARK, 100),
    "cut in its error log": cut(_MARK, 9000),
    "garbage": garbage(_MARK),
    "other version": put(_MARK, "i", 8, 2 << 16),
    "ended in good order": put(_MARK, "q", 16, -1),
    "string of half a gigabyte": put(_MARK, "i", 136, 1 << 29),
    "error log of half a gigabyte": put(_MARK, "i", 56, 1 << 29),
    "header length not told": put(_MARK, "i", 52, 0),
}
