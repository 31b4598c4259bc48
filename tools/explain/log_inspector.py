"""A log as the reference's LogInspector prints it (spec stat-tools 8)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import MAX_I32
from aerolog.tools.archive_files.segment_names import is_term_length
from aerolog.tools.explain.explanation import number
from aerolog.tools.explain.log_file import TERMS
from aerolog.transport.errors import FileFormatError
from aerolog.transport.logbuffer.metadata import DEFAULT_HEADER_OFFSET, LENGTH
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frame_header import FRAME_HEADER_STRUCT
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH, FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Callable

_RULE: Final = "=" * 70


@dataclass(frozen=True, slots=True)
class Inspection:
    """The options that say how a log is printed.

    Attributes:
        limit: bytes of each payload at most.
        ascii: characters instead of hexadecimal digits.
        skip_default_header: leave that line out.
        scan_over_zeroes: look for frames behind bytes that are none.
    """

    limit: int = MAX_I32
    ascii: bool = False
    skip_default_header: bool = False
    scan_over_zeroes: bool = False


def inspect(path: str, data: memoryview, how: Inspection, line: Callable[[str], object]) -> None:
    """Print a log.

    Args:
        path: the path of the file, as it was given.
        data: all of the file.
        how: see ``Inspection``.
        line: prints a line.

    Raises:
        FileFormatError: it is no log, or a frame passes its term.
    """
    meta = len(data) - LENGTH
    if meta < 0:
        raise FileFormatError(f"a log has {LENGTH} bytes of metadata at its end: {len(data)} bytes")
    term_length, initial = number(data, meta + 276, "i"), number(data, meta + 264, "i")
    if not is_term_length(term_length):
        raise FileFormatError(f"{path} is no log: term length {term_length}")
    if TERMS * term_length > meta:
        raise FileFormatError(f"{path} is cut off: three terms of {term_length} do not fit in it")
    line(_RULE)
    line(f"{time.strftime('%a %b %d %H:%M:%S %Z %Y')} Inspection dump for {path}")
    line(_RULE)
    _head(data, meta, line)
    line("")
    if not how.skip_default_header:
        at = meta + DEFAULT_HEADER_OFFSET
        line(f"default {_header_text(data, at)}")
    line("")
    for index in range(TERMS):
        line(_tail_text(index, number(data, meta + 8 * index, "q"), term_length, initial))
    for index in range(TERMS):
        line("")
        line(_RULE)
        line(f"Index {index} Term Data")
        line("")
        _term(data[index * term_length : (index + 1) * term_length], how, line)


def _head(data: memoryview, meta: int, line: Callable[[str], object]) -> None:
    count = number(data, meta + 24, "i")
    connected = "true" if number(data, meta + 136, "i") == 1 else "false"
    line(f"   Is connected: {connected}")
    line(f"Initial term id: {number(data, meta + 264, 'i')}")
    line(f"     Term count: {count}")
    line(f"   Active index: {count % TERMS}")
    line(f"    Term length: {number(data, meta + 276, 'i')}")
    line(f"     MTU length: {number(data, meta + 272, 'i')}")
    line(f"      Page size: {number(data, meta + 280, 'i')}")
    line(f"   EOS position: {number(data, meta + 128, 'q')}")


def _tail_text(index: int, raw_tail: int, term_length: int, initial: int) -> str:
    term_id, offset = raw_tail >> 32, raw_tail & 0xFFFFFFFF
    count = (term_id - initial + 2**31) % 2**32 - 2**31
    return (
        f"Index {index} Term Meta Data termOffset={offset} termId={term_id} rawTail={raw_tail}"
        f" position={count * term_length + min(offset, term_length)}"
    )


def _header_text(data: memoryview, at: int) -> str:
    length, version, flags, kind, offset, session, stream, term, reserved = (
        FRAME_HEADER_STRUCT.unpack_from(data, at)
    )
    return (
        f"DATA Header{{frame-length={length} version={version} flags={flags:08b} type={kind}"
        f" term-offset={offset} session-id={session} stream-id={stream} term-id={term}"
        f" reserved-value={reserved}}}"
    )


def _term(term: memoryview, how: Inspection, line: Callable[[str], object]) -> None:
    at = 0
    while at < len(term):
        line(f"{at}: {_header_text(term, at)}")
        length: int = FRAME_HEADER_STRUCT.unpack_from(term, at)[0]
        start = at + DATA_HEADER_LENGTH
        if length < DATA_HEADER_LENGTH:
            if how.scan_over_zeroes:
                at += FRAME_ALIGNMENT
                continue
            line(_payload(term, start, min(how.limit, len(term) - start), how))
            return
        line(_payload(term, start, min(how.limit, length - DATA_HEADER_LENGTH), how))
        at += align(length, FRAME_ALIGNMENT)


def _payload(term: memoryview, start: int, size: int, how: Inspection) -> str:
    if start + size > len(term):
        raise FileFormatError(
            f"the frame at offset {start - DATA_HEADER_LENGTH} claims {size} bytes and passes its"
            " term: the log is damaged there"
        )
    content = bytes(term[start : start + size])
    return content.decode("latin-1") if how.ascii else content.hex().upper()
