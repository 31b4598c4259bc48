"""Recordings and their frames as tables, and as one JSON document written piece by piece."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from aerolog.tools.archive_files.java_error import JavaError
from aerolog.tools.reference.archive_tool.describe_action import entry_row
from aerolog.tools.terminal.console import print_table
from aerolog.tools.terminal.hexdump import hex_rows
from aerolog.tools.terminal.terminal_text import fit, fit_json
from aerolog.transport.protocol.frames import (
    DATA_HEADER_LENGTH,
    FLAG_BEGIN,
    FLAG_END,
    FRAME_DATA,
    FRAME_PAD,
)
from aerolog.transport.secrets import without_secrets, without_secrets_in

if TYPE_CHECKING:
    from typing import Self

    from aerolog.archive.format.descriptor import CatalogEntry
    from aerolog.tools.archive_files.raw_frames import RawFrame
    from aerolog.tools.reference.tool_terminal import Terminal

_TYPES: Final = {FRAME_PAD: "padding", FRAME_DATA: "data"}
_ROWS_AT_ONCE: Final = 1000
_SHOWN_BYTES: Final = 16
_NUMBERS: Final = ("session", "term", "reserved")
_COLUMNS: Final = (
    "position",
    "bytes",
    "type",
    "part",
    "session",
    "term",
    "reserved",
    "begins with",
)
_RIGHT: Final = ("position", "bytes", *_NUMBERS)


class TableDump:
    """A table for each recording."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._rows: list[list[Any]] = []
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        del error

    def begin(self, entry: CatalogEntry) -> None:
        """Print a line about the recording."""
        row = entry_row(entry)
        stop = "no stop position" if row["stop_position"] is None else row["stop_position"]
        self._count = 0
        self._terminal.line(
            f"Recording {row['recording_id']} ({row['state']}), stream {row['stream_id']},"
            f" {fit(row['original_channel'])}: {row['start_position']} to {stop}"
        )

    def frame(self, frame: RawFrame) -> None:
        """Add a row to the table."""
        row = _frame_row(frame)
        payload = frame.payload[:_SHOWN_BYTES] if frame.type == FRAME_DATA else b""
        shown = "  ".join(f"{digits:<47} {text}" for _, digits, text in hex_rows(payload))
        part = "" if row["part"] == "whole" else row["part"]
        self._rows.append(
            [
                row["position"],
                row["length"],
                row["type"],
                part,
                row["session_id"],
                row["term_id"],
                row["reserved_value"] or "",
                shown,
            ]
        )
        self._count += 1
        if len(self._rows) == _ROWS_AT_ONCE:
            self._print()

    def problem(self, text: str) -> None:
        """Print a line below the table."""
        self._print()
        self._terminal.line(f"  damaged: {text}")

    def end(self) -> None:
        """Print the rest of the table."""
        self._print()
        if not self._count:
            self._terminal.line("  no frames")
        self._terminal.line()

    def _print(self) -> None:
        if self._rows:
            print_table(_COLUMNS, self._rows, right=_RIGHT)
            self._rows.clear()


class JsonDump:
    """A document: recordings with their descriptors, frames and payloads in hexadecimal."""

    def __init__(self) -> None:
        self._before_recording = '{"recordings": ['
        self._before_frame = ""
        self._problem: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            sys.stdout.write(f"{self._before_recording.rstrip(',')}\n]}}\n")

    def begin(self, entry: CatalogEntry) -> None:
        """Print the recording's fields."""
        head = fit_json(json.dumps(without_secrets_in(entry_row(entry)), ensure_ascii=False))
        sys.stdout.write(f'{self._before_recording}\n{head[:-1]}, "frames": [')
        self._before_recording, self._before_frame, self._problem = ",", "", None

    def frame(self, frame: RawFrame) -> None:
        """Print the frame and its payload."""
        row = _frame_row(frame)
        row["payload"] = frame.payload.hex() if frame.type == FRAME_DATA else None
        sys.stdout.write(f"{self._before_frame}\n{json.dumps(row)}")
        self._before_frame = ","

    def problem(self, text: str) -> None:
        """Keep the text, which is printed behind the frames."""
        self._problem = without_secrets(text)

    def end(self) -> None:
        """End the list of frames."""
        sys.stdout.write(f'], "problem": {json.dumps(self._problem)}}}')


def _frame_row(frame: RawFrame) -> dict[str, Any]:
    if frame.length < DATA_HEADER_LENGTH or frame.offset + frame.length > len(frame.term):
        raise JavaError(
            "", f"frame at position {frame.position}: length {frame.length} passes its term"
        )
    begins, ends = bool(frame.flags & FLAG_BEGIN), bool(frame.flags & FLAG_END)
    part = {(True, True): "whole", (True, False): "first", (False, True): "last"}
    return {
        "position": frame.position,
        "length": frame.length,
        "type": _TYPES.get(frame.type, str(frame.type)),
        "part": part.get((begins, ends), "middle"),
        "flags": frame.flags,
        "version": frame.version,
        "term_offset": frame.term_offset,
        "session_id": frame.session_id,
        "stream_id": frame.stream_id,
        "term_id": frame.term_id,
        "reserved_value": frame.reserved_value,
    }
