"""An image's log in anonymous memory."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from collections.abc import Callable

TERM = 65536
FIRST = 801263729
SESSION = -1364374152
STREAM = 1001


def frame(
    position: int, length: int, *, kind: int = 1, fill: int = 0x5A, body: int | None = None
) -> bytes:
    """A frame as it travels: header with `length`, then `body` bytes (all of it by default)."""
    header = struct.pack(
        "<iBBHiiiiq",
        length, 0, 0xC0, kind, position % TERM, SESSION, STREAM, FIRST + position // TERM, 77,
    )  # fmt: skip
    return header + bytes([fill]) * (length - 32 if body is None else body)


@dataclass
class Image:
    """The log of an image and direct access to it."""

    logs: LogBuffers

    def place(self, position: int) -> int:
        return position // TERM % 3 * TERM + position % TERM

    def write(self, position: int, data: bytes) -> None:
        self.logs.file.view(self.place(position), len(data))[:] = data

    def read(self, position: int, length: int) -> bytes:
        return bytes(self.logs.file.view(self.place(position), length))

    def header(self, position: int) -> tuple[int, ...]:
        return struct.unpack_from("<iBBHiiiiq", self.logs.file, self.place(position))

    def put(self, position: int, length: int, *, kind: int = 1) -> None:
        """A frame that lies there already; its body is left as it was."""
        self.write(position, frame(position, length, kind=kind, body=0))


def make_image() -> Image:
    metadata = LogMetadata(
        correlation_id=7,
        session_id=SESSION,
        stream_id=STREAM,
        initial_term_id=FIRST,
        term_length=TERM,
        mtu_length=1408,
        type=LogType.IMAGE,
    )
    file = MappedFile.anonymous(log_file_length(TERM, metadata.page_size))
    return Image(LogBuffers.create(file, metadata))


@pytest.fixture
def image() -> Image:
    return make_image()


@pytest.fixture(name="frame")
def frame_maker() -> Callable[..., bytes]:
    return frame
