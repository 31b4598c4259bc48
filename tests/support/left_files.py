"""What a driver, an archive or a cluster's node leaves in its folders, fit to be compared.

A file is given as parts of bytes or text in which only what `TEXT_MASKS` lists is replaced. Nothing
here uses the product's tables of layouts, so that a fault of one of them is no fault of the
comparison too: offsets are those of spec archive-files 3, spec archive-files 13 and spec cluster 4.
"""

from __future__ import annotations

import difflib
import re
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Parts = list[bytes | str]

MARK_HEADER = 8192
MARK_PID_AT: Final = 32
CATALOG_HEADER, ENTRY_HEADER, DESCRIPTOR_BLOCK, DESCRIPTOR_STRINGS = 32, 32, 80, 3
_ERROR_ENTRY = struct.Struct("<iiqq")
_I32 = struct.Struct("<i")
_I64 = struct.Struct("<q")
HOUR_MS = 3_600_000


class Mask(NamedTuple):
    """What is replaced in texts, and why two runs of one program differ there."""

    found: str
    shown: str
    why: str


TEXT_MASKS: Final = (
    Mask(
        r"(?<=localhost:)\d+|(?<=127\.0\.0\.1:)\d+|(?<=0\.0\.0\.0:)\d+",
        "PORT",
        "a port that was free",
    ),
    Mask(r"(?<=session-id=)-?\d+|(?<=sessionId=)-?\d+", "SESSION", "the driver draws it"),
    Mask(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.:+-]*Z?", "DATE", "a time of the run"),
    Mask(r"\b\d\d:\d\d:\d\d\b", "TIME", "a time of the run"),
    Mask(r"(?<=\bversion=)[\d.]+", "VERSION", "each product has a version of its own"),
    Mask(r"(?<=commit=)[\w.-]+", "COMMIT", "each product has a commit of its own"),
    Mask(r" \(at [\w./$]+\(Native Method\)\)", "", "where in its runtime a socket failed"),
    Mask(r"/dev/shm/[\w-]+", "DIRECTORY", "a node has a directory of its own"),
)


@dataclass
class Run:
    """One run of a process, of which the times and ids are known that it leaves.

    Attributes:
        pids: of the processes.
        begun_ms: epoch time at which it was started.
        texts: further texts that are this run's own, each with what stands for it.
        session_id: of the control session, which the archive draws; it stands in the catalog.
    """

    pids: set[int] = field(default_factory=set)
    begun_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    texts: dict[str, str] = field(default_factory=dict)
    session_id: int = 0

    def is_time(self, value: int) -> bool:
        """Whether a number is an epoch time of the run, in milliseconds."""
        return self.begun_ms - HOUR_MS <= value <= self.begun_ms + HOUR_MS

    def text(self, said: str) -> str:
        """A text with what is listed replaced."""
        for own, shown in self.texts.items():
            said = said.replace(own, shown)
        for mask in TEXT_MASKS:
            said = re.sub(mask.found, mask.shown, said)
        for digits, per_ms in ((13, 1), (19, 1_000_000)):
            said = re.sub(
                rf"\b\d{{{digits}}}\b",
                lambda m, per_ms=per_ms: "NOW" if self.is_time(int(m[0]) // per_ms) else m[0],
                said,
            )
        for pid in self.pids:
            said = re.sub(rf"\b{pid}\b", "PID", said)
        return said

    def times(self, data: bytes) -> bytes:
        """Bytes in which each time of the run, at a multiple of four, is the number 1."""
        masked = bytearray(data)
        for high in {(self.begun_ms + step) >> 32 for step in (-HOUR_MS, HOUR_MS)}:
            word = _I32.pack(high)
            at = data.find(word)
            while at >= 0:
                if at >= 4 and at % 4 == 0 and self.is_time(_I64.unpack_from(data, at - 4)[0]):
                    _I64.pack_into(masked, at - 4, 1)
                at = data.find(word, at + 1)
        return bytes(masked)

    # -- files ------------------------------------------------------------------------------------

    def file(self, path: Path) -> Parts:
        """A file by the rules for its name."""
        data = path.read_bytes()
        if path.name == "archive.catalog":
            return list(self._catalog(data))
        if re.search(r"-mark.*\.dat$", path.name):
            return list(self._mark(data))
        if path.suffix == ".lnk":
            return [self.text(data.decode())]
        return [self.times(data)]

    def folder(self, folder: Path, *, only_ours: frozenset[str] = frozenset()) -> dict[str, Parts]:
        """All files of a folder; what stands in ``only_ours`` is left out."""
        return {
            path.name: self.file(path) if path.is_file() else ["no file"]
            for path in sorted(folder.iterdir())
            if path.name not in only_ours
        }

    def _catalog(self, data: bytes) -> Iterator[bytes | str]:
        yield data[:CATALOG_HEADER]
        (alignment,) = _I32.unpack_from(data, 16)
        at = CATALOG_HEADER
        while at + ENTRY_HEADER <= len(data) and (length := _I32.unpack_from(data, at)[0]) > 0:
            block_at = at + ENTRY_HEADER
            end = block_at + DESCRIPTOR_BLOCK
            raw, shown = [], []
            for _ in range(DESCRIPTOR_STRINGS):
                (size,) = _I32.unpack_from(data, end)
                raw.append(data[end + 4 : end + 4 + size].decode("ascii"))
                shown.append(self.text(raw[-1]))
                end += 4 + size
            next_at = at - (at - end) // alignment * alignment
            # A text of the run's own may be longer or shorter in another run, and so the entry.
            is_fitting = length == next_at - block_at
            yield f"fits: {is_fitting}" if raw != shown else f"length {length}, fits: {is_fitting}"
            yield data[at + 4 : block_at]
            block = self.times(data[block_at : block_at + DESCRIPTOR_BLOCK])
            yield _without(block, 0, {self.session_id})
            yield from shown
            yield data[end:next_at].rstrip(b"\0")
            at = block_at + length
        yield data[at:].rstrip(b"\0")
        yield f"{len(data)} bytes"

    def _mark(self, data: bytes) -> Iterator[bytes | str]:
        (block,) = struct.unpack_from("<H", data)
        at = 8 + block
        yield _without(self.times(data[:at]), MARK_PID_AT, self.pids)
        while at + 4 <= MARK_HEADER and (size := _I32.unpack_from(data, at)[0]) >= 0:
            if not data[at:MARK_HEADER].strip(b"\0"):
                break
            yield self.text(data[at + 4 : at + 4 + size].decode("ascii"))
            at += 4 + size
        yield data[at:MARK_HEADER].rstrip(b"\0")
        yield from (f"{count} {said}" for count, said in self.errors(data[MARK_HEADER:]))
        yield f"{len(data)} bytes"

    def errors(self, log: bytes) -> list[tuple[int, str]]:
        """The entries of an error log: how often, and the first line."""
        found, at = [], 0
        while at + _ERROR_ENTRY.size <= len(log):
            length, count, _, _ = _ERROR_ENTRY.unpack_from(log, at)
            if length <= 0:
                break
            said = log[at + _ERROR_ENTRY.size : at + length].decode()
            found.append((count, self.text(said.splitlines()[0])))
            at += (length + 7) & ~7
        return found


def _without(data: bytes, at: int, numbers: set[int]) -> bytes:
    """Bytes in which a number of the run, at the place where it belongs, is 1."""
    if _I64.unpack_from(data, at)[0] in numbers:
        return data[:at] + _I64.pack(1) + data[at + 8 :]
    return data


def assert_same_lines(ours: list[str], theirs: list[str], what: str) -> None:
    """Fail with the lines that differ."""
    found = list(difflib.unified_diff(theirs, ours, "theirs", "ours", lineterm="", n=4))
    assert not found, "\n".join([what, *found[:60]])


def assert_alike(ours: dict[str, Parts], theirs: dict[str, Parts]) -> None:
    """Fail at the first part that differs, with its place."""
    assert sorted(ours) == sorted(theirs), (
        f"files {sorted(ours)}, the reference has {sorted(theirs)}"
    )
    for name, parts in theirs.items():
        for index, (mine, expected) in enumerate(zip(ours[name], parts, strict=False)):
            if isinstance(mine, bytes) and isinstance(expected, bytes) and mine != expected:
                pairs = enumerate(zip(mine, expected, strict=False))
                at = next((i for i, (a, b) in pairs if a != b), min(len(mine), len(expected)))
                near = slice(max(0, at - 16), at + 32)
                raise AssertionError(
                    f"{name}, part {index}, differs at byte {at} of {len(mine)} and "
                    f"{len(expected)}: {mine[near].hex()} where the reference has "
                    f"{expected[near].hex()}"
                )
            assert mine == expected, (
                f"{name}, part {index}: {mine!r} where the reference has {expected!r}"
            )
        assert len(ours[name]) == len(parts), f"{name} has other parts: {ours[name][len(parts) :]}"
