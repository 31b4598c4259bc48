"""Layout of the health file: a header, then a record for each verification of a segment.

The last record of a segment counts. All integers are little-endian. A record that was written only
in part does not match its checksum and is skipped.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import SIDE_FOLDER
from aerolog.archive.verification.findings import Kind
from aerolog.transport.protocol.fixed_layout import Field, offsets, packer

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor

HEALTH_FOLDER: Final = f"{SIDE_FOLDER}/health"
HEALTH_SUFFIX: Final = ".health"
MAGIC: Final = int.from_bytes(b"aerohlth", "little")
VERSION: Final = 2
HEADER_LENGTH: Final = 64
RECORD_LENGTH: Final = 80
HEADER: Final = (
    Field("magic", 0, "Q"),
    Field("version", 8, "i"),
    Field("record_length", 12, "i"),
    Field("recording_id", 16, "q"),
    Field("start_timestamp", 24, "q"),
    Field("initial_term_id", 32, "i"),
    Field("stream_id", 36, "i"),
    Field("term_length", 40, "i"),
    Field("segment_length", 44, "i"),
    Field("checksum", 60, "I"),
)
RECORD: Final = (
    Field("base", 0, "q"),
    Field("length", 8, "q"),
    Field("size", 16, "q"),
    Field("mtime_ns", 24, "q"),
    Field("inode", 32, "Q"),
    Field("fingerprint", 40, "Q"),
    Field("verified_ms", 48, "q"),
    Field("position", 56, "q"),
    Field("run", 64, "I"),
    Field("state", 68, "B"),
    Field("kind", 69, "B"),
    Field("has_fingerprint", 70, "B"),
    Field("checksum", 76, "I"),
)
_HEADER: Final = packer(HEADER, HEADER_LENGTH)
_RECORD: Final = packer(RECORD, RECORD_LENGTH)
_CHECKSUM_AT: Final = offsets(RECORD)["checksum"]
_HEADER_CHECKSUM_AT: Final = offsets(HEADER)["checksum"]
_CHECKSUM: Final = struct.Struct("<I")
_RUN: Final = struct.Struct("<qqi")
_KINDS: Final = (None, *Kind)
_INODE_MASK: Final = (1 << 64) - 1


class SegmentState(IntEnum):
    """The state of a segment, as verified; a worse state has a higher number."""

    SOUND = 0
    UNCHECKED = 1
    UNREADABLE = 2
    CHANGED = 3
    MISSING = 4
    DAMAGED = 5


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """The result of one verification of a segment.

    Attributes:
        base: position at which the segment begins.
        length: recorded bytes of the segment, from its first byte on.
        size: the file's size at that time, bytes.
        mtime_ns: the file's modification time, epoch nanoseconds.
        inode: the file's inode number.
        fingerprint: the fingerprint from when the segment was first found sound, else None.
        verified_ms: the time of the verification, epoch milliseconds.
        position: the position of the damage, -1 when there is none.
        run: the number of the recording's last run at that time, see ``run_of``.
        state: what was found.
        kind: the kind of damage, None when there is none.
    """

    base: int
    length: int
    size: int
    mtime_ns: int
    inode: int
    fingerprint: int | None
    verified_ms: int
    position: int
    run: int
    state: SegmentState
    kind: Kind | None

    def encode(self) -> bytes:
        """Encode the record."""
        data = _RECORD.pack(
            self.base,
            self.length,
            self.size,
            self.mtime_ns,
            self.inode & _INODE_MASK,
            self.fingerprint or 0,
            self.verified_ms,
            self.position,
            self.run,
            self.state,
            _KINDS.index(self.kind),
            self.fingerprint is not None,
            0,
        )
        return data[:_CHECKSUM_AT] + _CHECKSUM.pack(zlib.crc32(data[:_CHECKSUM_AT]))

    @classmethod
    def decode(cls, data: bytes) -> SegmentRecord | None:
        """Decode a record, None when the bytes are no whole record."""
        values = _RECORD.unpack(data)
        if values[-1] != zlib.crc32(data[:_CHECKSUM_AT]):
            return None
        state, kind, _has_fingerprint = values[9:12]
        if state not in list(SegmentState) or kind >= len(_KINDS):
            return None
        names = [field.name for field in RECORD]
        found = dict(zip(names, values, strict=True))
        del found["checksum"]
        if not found.pop("has_fingerprint"):
            found["fingerprint"] = None
        return cls(**{**found, "state": SegmentState(state), "kind": _KINDS[kind]})


def run_of(descriptor: RecordingDescriptor) -> int:
    """Return a number that changes when a recording is extended.

    Only an extension can write data anew after a position where the recording was cut.
    """
    return zlib.crc32(
        _RUN.pack(descriptor.control_session_id, descriptor.correlation_id, descriptor.session_id)
    )


def header_of(descriptor: RecordingDescriptor) -> bytes:
    """Encode the header of a recording's health file, which never changes."""
    data = _HEADER.pack(
        MAGIC,
        VERSION,
        RECORD_LENGTH,
        descriptor.recording_id,
        descriptor.start_timestamp,
        descriptor.initial_term_id,
        descriptor.stream_id,
        descriptor.term_buffer_length,
        descriptor.segment_file_length,
        0,
    )
    body = data[:_HEADER_CHECKSUM_AT]
    return body + _CHECKSUM.pack(zlib.crc32(body))


def header_problem(data: bytes, descriptor: RecordingDescriptor) -> str | None:
    """Return the fault of a header, None when it is the recording's."""
    if len(data) < HEADER_LENGTH:
        return f"it is cut off after {len(data)} bytes"
    found = dict(zip((field.name for field in HEADER), _HEADER.unpack(data), strict=True))
    if found["magic"] != MAGIC:
        return "it is no health file"
    if found["checksum"] != zlib.crc32(data[:_HEADER_CHECKSUM_AT]):
        return "its header is damaged"
    if found["version"] != VERSION or found["record_length"] != RECORD_LENGTH:
        return f"it is of version {found['version']}, this is version {VERSION}"
    if data != header_of(descriptor):
        return f"it is that of another recording, {found['recording_id']}"
    return None


def health_path(folder: str, recording_id: int) -> str:
    """Return the path of a recording's health file."""
    return f"{folder}/{HEALTH_FOLDER}/{recording_id}{HEALTH_SUFFIX}"
