"""Recordings and their frames as one JSON document, which is written piece by piece."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from aerolog.tools.command_line.java_error import OUT_OF_BOUNDS, JavaError
from aerolog.tools.reference.archive_tool.describe_action import entry_row
from aerolog.tools.terminal.terminal_text import fit_json
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

    from aerolog.tools.archive_files.raw_frames import RawFrame
    from aerolog.tools.reference.tool_terminal import Terminal

_TYPES: Final = {FRAME_PAD: "padding", FRAME_DATA: "data"}


class JsonDump:
    """A document: recordings with their descriptors, frames and payloads in hexadecimal.

    Args:
        terminal: gets the document.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._write = terminal.write
        self._before_recording = '{"recordings": ['
        self._before_frame = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._write(f"{self._before_recording.rstrip(',')}\n]}}\n")

    def begin(self, entry: bytes, offset: int) -> None:
        """Print a recording's fields."""
        row = without_secrets_in(entry_row(entry, offset))
        head = fit_json(json.dumps(row, ensure_ascii=False))
        self._write(f'{self._before_recording}\n{head[:-1]}, "frames": [')
        self._before_recording, self._before_frame = ",", ""

    def frame(self, frame: RawFrame) -> None:
        """Print the frame and its payload."""
        row = _frame_row(frame)
        row["payload"] = frame.payload.hex() if frame.type == FRAME_DATA else None
        self._write(f"{self._before_frame}\n{json.dumps(row)}")
        self._before_frame = ","

    def end(self, problem: str | None) -> None:
        """End the list of frames, and say what is wrong with the rest of the recording."""
        text = None if problem is None else without_secrets(problem)
        self._write(f'], "problem": {json.dumps(text)}}}')


def _frame_row(frame: RawFrame) -> dict[str, Any]:
    if frame.length < DATA_HEADER_LENGTH or frame.offset + frame.length > len(frame.term):
        raise JavaError(
            OUT_OF_BOUNDS,
            f"frame at position {frame.position}: length {frame.length} passes its term",
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
