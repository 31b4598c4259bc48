"""Archive folders made without an archive: for tests that need recordings to read.

A ``RecordingBuilder`` lays messages out in frames as a publication does: fragments of the MTU's
size, padding where a message does not fit in its term. ``write`` puts the frames in segment files
and the descriptor in the folder's catalog.
"""

from __future__ import annotations

import struct
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.format.segment import segment_file_name, term_id_at
from aerolog.archive.time_index.index_file import write_index
from aerolog.archive.time_index.known_part import RecordedFrames
from aerolog.archive.time_index.layout import IndexHeader
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frame_header import FRAME_HEADER_STRUCT
from aerolog.transport.protocol.frames import (
    DATA_HEADER_LENGTH,
    FLAG_BEGIN,
    FLAG_END,
    FRAME_ALIGNMENT,
    FRAME_DATA,
    FRAME_PAD,
    SESSION_ID_OFFSET,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.format.checksum import Checksum

_SESSION_ID = struct.Struct("<i")


class RecordingBuilder:
    """Frames of one recording, in memory.

    Attributes:
        position: where the next frame goes.
        data: all bytes from the base of the first segment on.
    """

    def __init__(
        self,
        *,
        term_length: int = 64 * 1024,
        segment_length: int = 64 * 1024,
        mtu_length: int = 1408,
        initial_term_id: int = 7,
        session_id: int = 1001,
        stream_id: int = 10,
        start_position: int = 0,
        checksum: Checksum | None = None,
    ) -> None:
        self.term_length = term_length
        self.segment_length = segment_length
        self.mtu_length = mtu_length
        self.initial_term_id = initial_term_id
        self.session_id = session_id
        self.stream_id = stream_id
        self.start_position = start_position
        self.checksum = checksum
        self.position = start_position
        self.first_base = start_position - start_position % term_length
        self.data = bytearray(start_position - self.first_base)

    def add(self, payload: bytes, reserved_value: int = 0) -> int:
        """Append a message, fragmented where it must be; returns the position after it."""
        part_length = self.mtu_length - DATA_HEADER_LENGTH
        parts = [payload[at : at + part_length] for at in range(0, len(payload), part_length)]
        parts = parts or [b""]
        needed = sum(align(DATA_HEADER_LENGTH + len(part), FRAME_ALIGNMENT) for part in parts)
        left = self.term_length - self.position % self.term_length
        if needed > left:
            self._frame(b"", FRAME_PAD, FLAG_BEGIN | FLAG_END, 0, left)
        for index, part in enumerate(parts):
            flags = FLAG_BEGIN if index == 0 else 0
            flags |= FLAG_END if index == len(parts) - 1 else 0
            self._frame(part, FRAME_DATA, flags, reserved_value)
        return self.position

    def pad(self) -> int:
        """End the term with padding; returns the position after it."""
        left = self.term_length - self.position % self.term_length
        self._frame(b"", FRAME_PAD, FLAG_BEGIN | FLAG_END, 0, left)
        return self.position

    def _frame(
        self, payload: bytes, kind: int, flags: int, reserved_value: int, length: int = 0
    ) -> None:
        length = length or DATA_HEADER_LENGTH + len(payload)
        header = FRAME_HEADER_STRUCT.pack(
            length,
            0,
            flags,
            kind,
            self.position % self.term_length,
            self.session_id,
            self.stream_id,
            term_id_at(self.position, self.initial_term_id, self.term_length),
            reserved_value,
        )
        aligned = align(length, FRAME_ALIGNMENT)
        frame = bytearray((header + payload).ljust(aligned, b"\0"))
        if self.checksum is not None and kind == FRAME_DATA:
            value = self.checksum.compute(memoryview(frame)[DATA_HEADER_LENGTH:])
            _SESSION_ID.pack_into(frame, SESSION_ID_OFFSET, value)
        self.data += frame
        self.position += aligned

    def descriptor(
        self, *, stopped: bool = True, channel: str = "aeron:ipc"
    ) -> RecordingDescriptor:
        """The catalog's descriptor of what was added; its recording id is 0."""
        return RecordingDescriptor(
            recording_id=0,
            start_timestamp=1_700_000_000_000,
            stop_timestamp=1_700_000_001_000 if stopped else -1,
            start_position=self.start_position,
            stop_position=self.position if stopped else -1,
            initial_term_id=self.initial_term_id,
            segment_file_length=self.segment_length,
            term_buffer_length=self.term_length,
            mtu_length=self.mtu_length,
            session_id=self.session_id,
            stream_id=self.stream_id,
            stripped_channel=channel,
            original_channel=channel,
            source_identity="aeron:ipc",
        )

    def write(self, folder: str | Path, *, stopped: bool = True, channel: str = "aeron:ipc") -> int:
        """Add the recording to a folder's catalog and write its segments.

        Args:
            folder: an archive folder or an empty one, which exists.
            stopped: False leaves it as a crash does, without a stop position.
            channel: the channel that was recorded.

        Returns:
            Its recording id.
        """
        with CatalogFile.open(folder, capacity=4096, checksum=self.checksum) as catalog:
            recording_id = catalog.add_recording(self.descriptor(stopped=stopped, channel=channel))
        segments = max(-(-len(self.data) // self.segment_length), 1)
        if len(self.data) == segments * self.segment_length:
            segments += 1  # the recorder opens the next segment as soon as one is full
        for index in range(segments):
            start = index * self.segment_length
            base = self.first_base + start
            content = self.data[start : start + self.segment_length]
            path = Path(folder) / segment_file_name(recording_id, base)
            path.write_bytes(content.ljust(self.segment_length, b"\0"))
        return recording_id


def write_time_index(
    folder: str | Path,
    recording_id: int,
    entries: Sequence[tuple[int, int]],
    *,
    source: str = "clock",
    is_rebuilt: bool = False,
) -> str:
    """Write a time index beside a recording, as if it had been kept while recording.

    Args:
        folder: an archive folder with the recording in its catalog.
        recording_id: the recording that the times belong to.
        entries: (epoch ns, position), none at a position before that of the one before it.
        source: where the times come from, ``clock`` or ``channel``.
        is_rebuilt: whether the index says that it was made after the recording.

    Returns:
        Path of the index file.
    """
    with CatalogFile.open(folder, capacity=4096) as catalog:
        descriptor = catalog.descriptor(recording_id)
    header = IndexHeader.of(descriptor, source=source, rebuilt=is_rebuilt)
    times = array("q", (time_ns for time_ns, _ in entries))
    positions = array("q", (position for _, position in entries))
    files = RealFileSystem()
    frames = RecordedFrames(str(folder), descriptor, files)
    return write_index(folder, header, times, positions, files, frames)
