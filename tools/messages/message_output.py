"""Prints messages as lines of text, hex or JSON, or as raw bytes."""

from __future__ import annotations

import base64
import io
import json
import select
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from aerolog.tools.terminal.terminal_text import fit, fit_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.archive.format.descriptor import RecordingDescriptor


class MessageFormat(StrEnum):
    """A form that messages are printed in."""

    TEXT = "text"
    HEX = "hex"
    JSON = "json"
    RAW = "raw"


FormatOption = Annotated[
    MessageFormat,
    typer.Option(
        "--format",
        metavar="FORM",
        help="text and hex: a line a message, in text with escapes for control characters; json: an"
        " object a line; raw: the bytes alone.",
    ),
]


#: What JSON has of every message.
_FIELDS = (
    "position",
    "term_id",
    "term_offset",
    "session_id",
    "stream_id",
    "flags",
    "reserved_value",
)


@dataclass(slots=True)
class Written:
    """What has been printed so far.

    Attributes:
        messages: how many messages.
        payload_bytes: the bytes in them.
        position: after the last one, None before the first.
    """

    messages: int = 0
    payload_bytes: int = 0
    position: int | None = None


class MessageWriter:
    """Prints messages in one format, a batch at a time.

    Attributes:
        written: what has been printed so far.
        recording: that the messages are from, None for a live stream. JSON then has its id, and
            its session and stream instead of those of the replay.
        has_times: messages have times, which JSON has then as well.
    """

    def __init__(self, form: MessageFormat, *, out: BinaryIO | None = None) -> None:
        """Makes a writer.

        Args:
            form: the format.
            out: the stream to write to; standard output when None.
        """
        self.written = Written()
        self.recording: RecordingDescriptor | None = None
        self.has_times = False
        self._out = sys.stdout.buffer if out is None else out
        self._encode = self._encoder(form)

    def write(self, rows: Iterable[Any], payload: Callable[[Any], bytes]) -> None:
        """Prints rows and flushes.

        Args:
            rows: messages with the fields of the export's columns.
            payload: gives the payload of one.
        """
        written = self.written
        parts: list[bytes] = []
        for row in rows:
            data = payload(row)
            parts.append(self._encode(row, data))
            written.messages += 1
            written.payload_bytes += len(data)
            written.position = row.position
        if parts:
            _write_all(self._out, b"".join(parts))
            self._out.flush()

    def _encoder(self, form: MessageFormat) -> Callable[[Any, bytes], bytes]:
        if form is MessageFormat.TEXT:
            return _text
        if form is MessageFormat.HEX:
            return lambda _, data: data.hex().encode() + b"\n"
        if form is MessageFormat.RAW:
            return lambda _, data: data
        return self._json

    def _json(self, row: Any, data: bytes) -> bytes:
        fields: dict[str, Any] = {name: getattr(row, name) for name in _FIELDS}
        recording = self.recording
        if recording is not None:
            fields |= {"session_id": recording.session_id, "stream_id": recording.stream_id}
            fields = {"recording_id": recording.recording_id, **fields}
        try:
            fields |= {"payload": data.decode(), "payload_encoding": "utf-8"}
        except UnicodeDecodeError:
            encoded = base64.b64encode(data).decode("ascii")
            fields |= {"payload": encoded, "payload_encoding": "base64"}
        if recording is not None:
            fields["record_time"] = _shown_time(row) if self.has_times else None
        return fit_json(json.dumps(fields, ensure_ascii=False)).encode() + b"\n"


def _write_all(out: BinaryIO, data: bytes) -> None:
    """Writes to the end: a raw stream (PYTHONUNBUFFERED) may take a part, as when it is stopped."""
    if not isinstance(out, io.RawIOBase):
        out.write(data)
        return
    rest = memoryview(data)
    while rest:
        taken = out.write(rest)
        if taken is None:  # it does not block, and is full
            select.select([], [out], [])
        else:
            rest = rest[taken:]


def _shown_time(row: Any) -> str:
    """A message's time as the column of exports has it, to the microsecond."""
    from aerolog.transport.config.times import format_time

    return format_time(row.time_ns // 1000 * 1000)


def _text(_: Any, data: bytes) -> bytes:
    return fit(data.decode("utf-8", "backslashreplace"), tabs=True).encode() + b"\n"
