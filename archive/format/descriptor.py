"""Recording descriptors: decoding and encoding of catalog entries (spec archive-files 3.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import (
    DESCRIPTOR,
    DESCRIPTOR_BLOCK_LENGTH,
    DESCRIPTOR_STRINGS,
    ENTRY_ALIGNMENT,
    ENTRY_HEADER_LENGTH,
    NULL_TIMESTAMP,
)
from aerolog.archive.format.segment import (
    SEGMENT_LENGTH_MAX,
    TERM_LENGTH_MAX,
    TERM_LENGTH_MIN,
    is_power_of_two,
    segment_base,
)
from aerolog.archive.protocol.enums import NULL_POSITION, RecordingState
from aerolog.transport.errors import FileFormatError
from aerolog.transport.protocol.fixed_layout import align, packer
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT

if TYPE_CHECKING:
    from typing import Any

_BLOCK = packer(DESCRIPTOR, DESCRIPTOR_BLOCK_LENGTH)
_NAMES = tuple(field.name for field in DESCRIPTOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingDescriptor:
    """The catalog's description of a recording at one moment.

    Positions are bytes in the stream and timestamps are epoch milliseconds. ``stop_position`` and
    ``stop_timestamp`` are -1 while the recording is active. ``session_id`` is that of the image
    recorded last; earlier frames may carry other session ids.
    """

    control_session_id: int = 0
    correlation_id: int = 0
    recording_id: int
    start_timestamp: int
    stop_timestamp: int = NULL_TIMESTAMP
    start_position: int
    stop_position: int = NULL_POSITION
    initial_term_id: int
    segment_file_length: int
    term_buffer_length: int
    mtu_length: int
    session_id: int
    stream_id: int
    stripped_channel: str
    original_channel: str
    source_identity: str

    @property
    def is_active(self) -> bool:
        """Whether the recording has no stop position: it is running, or a crash interrupted it."""
        return self.stop_position == NULL_POSITION

    def segment_base(self, position: int) -> int:
        """Return the base position of the segment that holds ``position``."""
        return segment_base(
            position, self.start_position, self.term_buffer_length, self.segment_file_length
        )

    def encode(self) -> bytes:
        """Encode the descriptor as it follows an entry's header, without alignment fill."""
        block = _BLOCK.pack(*(getattr(self, name) for name in _NAMES))
        texts = (getattr(self, name).encode("ascii", "replace") for name in DESCRIPTOR_STRINGS)
        return block + b"".join(len(text).to_bytes(4, "little") + text for text in texts)

    @classmethod
    def decode(cls, data: bytes | memoryview) -> RecordingDescriptor:
        """Decode the bytes that follow an entry's header; bytes after the last string are ignored.

        Raises:
            FileFormatError: the fixed fields or a string do not fit in ``data``.
        """
        if len(data) < DESCRIPTOR_BLOCK_LENGTH:
            raise FileFormatError(
                f"a descriptor of {len(data)} bytes is shorter than its {DESCRIPTOR_BLOCK_LENGTH}"
                " bytes of fixed fields"
            )
        values: dict[str, Any] = dict(zip(_NAMES, _BLOCK.unpack_from(data), strict=True))
        at = DESCRIPTOR_BLOCK_LENGTH
        for name in DESCRIPTOR_STRINGS:
            if at + 4 > len(data):
                raise FileFormatError(f"length of {name} at offset {at} is cut off")
            length = int.from_bytes(data[at : at + 4], "little")
            if length > len(data) - at - 4:
                raise FileFormatError(
                    f"{name} at offset {at} claims {length} bytes, {len(data) - at - 4} are there"
                )
            values[name] = bytes(data[at + 4 : at + 4 + length]).decode("ascii", "replace")
            at += 4 + length
        return cls(**values)

    def check(self) -> None:
        """Check the lengths and positions that position arithmetic relies on.

        Raises:
            FileFormatError: no recording can have one of the lengths or positions.
        """
        for problem in self._problems():
            raise FileFormatError(f"recording {self.recording_id}: {problem}")

    def _problems(self) -> list[str]:
        term, segment = self.term_buffer_length, self.segment_file_length
        found = []
        if not is_power_of_two(term) or not TERM_LENGTH_MIN <= term <= TERM_LENGTH_MAX:
            found.append(f"invalid term buffer length: {term}")
        if not is_power_of_two(segment) or not term <= segment <= SEGMENT_LENGTH_MAX:
            found.append(f"invalid segment file length: {segment} with terms of {term}")
        if self.recording_id < 0:
            found.append("negative recording id")
        for name in ("start_position", "stop_position"):
            value = getattr(self, name)
            missing = name == "stop_position" and value == NULL_POSITION
            if not missing and (value < 0 or value > term << 31 or value % FRAME_ALIGNMENT):
                found.append(f"invalid {name}: {value}")
        if NULL_POSITION != self.stop_position < self.start_position:
            found.append(f"stop position {self.stop_position} is before {self.start_position}")
        return found

    def with_changes(self, **changes: Any) -> RecordingDescriptor:
        """Return a copy in which the named fields have other values."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One entry of the catalog file.

    Attributes:
        offset: where the entry starts in the file, bytes.
        length: bytes after the 32-byte entry header, alignment fill included.
        state: the stored number, which need not be a value of RecordingState.
        checksum: the stored checksum, 0 when none is configured.
        descriptor: the decoded bytes after the entry header.
    """

    offset: int
    length: int
    state: int
    checksum: int
    descriptor: RecordingDescriptor

    @property
    def is_valid(self) -> bool:
        """Whether the entry describes a recording: its state is VALID."""
        return self.state == RecordingState.VALID


def frame_length(descriptor_length: int) -> int:
    """Return the length of an entry, header and fill included, from its descriptor's length."""
    return align(ENTRY_HEADER_LENGTH + descriptor_length, ENTRY_ALIGNMENT)
