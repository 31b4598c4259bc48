"""Frames in a row: those of a segment, or of a term."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.tools.explain.explanation import Row
from aerolog.tools.terminal.hexdump import hex_rows
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frame_header import FRAME_HEADER_STRUCT
from aerolog.transport.protocol.frames import (
    DATA_HEADER_LENGTH,
    FLAG_BEGIN,
    FLAG_END,
    FRAME_ALIGNMENT,
    FRAME_DATA,
    FRAME_PAD,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_LENGTH: Final = struct.Struct("<i")
_SHOWN_BYTES: Final = 16
_ZEROES: Final = bytes(64 * 1024)
_PARTS: Final = {0xC0: "", 0x80: ", first fragment", 0x40: ", last fragment"}


@dataclass(slots=True)
class FrameRun:
    """What a walk has met.

    Attributes:
        rows: what is shown of the first frames.
        count: how many frames there are.
        padding: how many of them are padding.
        messages: begun in the run.
        end: offset behind the last frame.
        sessions: ids met.
        streams: ids met.
        problem: what stood at the end, None for a length of zero or the end of the bytes.
    """

    rows: list[Row] = field(default_factory=list)
    count: int = 0
    padding: int = 0
    messages: int = 0
    end: int = 0
    sessions: set[int] = field(default_factory=set)
    streams: set[int] = field(default_factory=set)
    problem: str | None = None


def walk(data: memoryview, start: int, stop: int, limit: int) -> FrameRun:
    """Walk over frames from an offset to a stop, or to the first that is none.

    Args:
        data: all of the file.
        start: offset of the first frame.
        stop: offset behind the last one that may be there.
        limit: how many get a row, 0 for all.
    """
    run = FrameRun(end=start)
    for at, fields in _frames(data, start, stop, run):
        length, _, flags, kind, _, session, stream, _, _ = fields
        run.count += 1
        run.sessions.add(session)
        run.streams.add(stream)
        if kind == FRAME_PAD:
            run.padding += 1
        elif flags & FLAG_BEGIN:
            run.messages += 1
        if limit == 0 or run.count <= limit:
            run.rows.append(_row(data, at, fields))
        run.end = at + align(length, FRAME_ALIGNMENT)
    return run


def _frames(
    data: memoryview, start: int, stop: int, run: FrameRun
) -> Iterator[tuple[int, tuple[int, ...]]]:
    at = start
    while at + DATA_HEADER_LENGTH <= stop:
        (length,) = _LENGTH.unpack_from(data, at)
        if length == 0:
            return
        if length < DATA_HEADER_LENGTH or at + length > stop:
            what = "not committed" if -(1 << 30) <= length < 0 else "impossible"
            run.problem = f"frame at offset {at}: length {length} is {what}"
            return
        yield at, FRAME_HEADER_STRUCT.unpack_from(data, at)
        at += align(length, FRAME_ALIGNMENT)


def _row(data: memoryview, at: int, fields: tuple[int, ...]) -> Row:
    length, version, flags, kind, offset, session, stream, term, reserved = fields
    if kind == FRAME_PAD:
        name = "padding"
    elif kind == FRAME_DATA:
        name = "data" + _PARTS.get(flags & (FLAG_BEGIN | FLAG_END), ", fragment")
    else:
        name = f"type {kind}"
    head = f"term {term} offset {offset}, session {session}, stream {stream}"
    more = "".join(
        f", {what} {value}"
        for what, value in (("version", version), ("reserved", reserved))
        if value
    )
    payload = bytes(data[at + DATA_HEADER_LENGTH : at + length][:_SHOWN_BYTES])
    shown = ""
    if payload and kind == FRAME_DATA:
        _, digits, text = hex_rows(payload)[0]
        shown = f"; {digits}  {text}"
    return Row(at, align(length, FRAME_ALIGNMENT), name, length, f"{head}{more}{shown}")


def first_frame(data: memoryview, start: int, stop: int) -> int:
    """Offset of the first frame: a recording may begin inside a term, whose start is then zero."""
    at = start
    while stop - at >= len(_ZEROES) and data[at : at + len(_ZEROES)] == _ZEROES:
        at += len(_ZEROES)
    while at + DATA_HEADER_LENGTH <= stop and not any(data[at : at + DATA_HEADER_LENGTH]):
        at += FRAME_ALIGNMENT
    return at if at + DATA_HEADER_LENGTH <= stop else start
