"""Layout of a time index file, as tables (docs/archive/time-index.md).

A file has a header of one block, then blocks of 252 entries. The header has two copies; the valid
one of the higher generation counts. Each block ends in a trailer, which tells a search whether it
may skip the block. All integers are little-endian. Native modules repeat the offsets that they use;
a test compares them with these.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from aerolog.archive.format.checksum import CRC32C_NAME, Checksum, checksum_for
from aerolog.archive.format.layout import SIDE_FOLDER
from aerolog.transport.errors import FileFormatError
from aerolog.transport.protocol.fixed_layout import Field, packer

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor

TIMES_FOLDER: Final = "times"
INDEX_SUFFIX: Final = ".time"

BLOCK_LENGTH: Final = 4096
ENTRY_LENGTH: Final = 16
ENTRIES_PER_BLOCK: Final = 252

MAGIC: Final = int.from_bytes(b"AEROTIME", "little")
VERSION: Final = 1
HEADER_COPY_LENGTH: Final = 128
HEADER_COPIES: Final = (0, BLOCK_LENGTH // 2)

ENTRY: Final = (Field("time_ns", 0, "q"), Field("position", 8, "q"))
HEADER: Final = (
    Field("magic", 0, "q"),
    Field("version", 8, "i"),
    Field("source", 12, "i"),
    Field("generation", 16, "q"),
    Field("recording_id", 24, "q"),
    Field("start_timestamp", 32, "q"),
    Field("start_position", 40, "q"),
    Field("initial_term_id", 48, "i"),
    Field("term_length", 52, "i"),
    Field("control_session_id", 56, "q"),
    Field("correlation_id", 64, "q"),
    Field("first_block", 72, "q"),
    Field("rebuilt", 80, "i"),
    Field("joined", 84, "i"),
    Field("checksum", 124, "i"),
)
TRAILER: Final = (
    Field("count", 4032, "i"),
    Field("runs_before", 4036, "i"),
    Field("runs_after", 4040, "i"),
    Field("identity", 4044, "i"),
    Field("number", 4048, "q"),
    Field("recording_id", 4056, "q"),
    Field("prior_max_ns", 4064, "q"),
    Field("min_ns", 4072, "q"),
    Field("max_ns", 4080, "q"),
    Field("sample", 4088, "i"),
    Field("checksum", 4092, "i"),
)

SOURCE_CLOCK: Final = "clock"
SOURCE_CHANNEL: Final = "channel"
_SOURCES: Final = (SOURCE_CLOCK, SOURCE_CHANNEL)
_HEADER: Final = packer(HEADER, HEADER_COPY_LENGTH)
_CHECKSUM_AT: Final = HEADER_COPY_LENGTH - 4


def index_name(recording_id: int) -> str:
    """Name of a recording's index file."""
    return f"{recording_id}{INDEX_SUFFIX}"


def times_dir(archive_dir: str | Path) -> str:
    """The folder of the index files in an archive's folder."""
    return str(Path(archive_dir) / SIDE_FOLDER / TIMES_FOLDER)


def index_path(archive_dir: str | Path, recording_id: int) -> str:
    """Path of a recording's index file, whether it exists or not."""
    return str(Path(times_dir(archive_dir)) / index_name(recording_id))


def _checksum(data: bytes) -> int:
    checksum = checksum_for(CRC32C_NAME)
    assert isinstance(checksum, Checksum)
    return int(checksum.compute(data))


def _signed_32(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHeader:
    """The header of an index: its recording, and the origin of its times.

    Attributes:
        source: ``clock`` for the archive's clock, ``channel`` for times in the messages.
        generation: how often the header was written; the copy with the higher number is valid.
        start_timestamp: the descriptor's start timestamp, epoch milliseconds.
        start_position: the position from which on the index knows times.
        control_session_id: the session that started or last extended the recording, as is
            correlation_id.
        first_block: the first block that is kept; earlier blocks were released with their data.
        rebuilt: whether the index was made after the recording.
        joined: whether segments of another recording came into it, so that the times of the
            descriptor do not bound those of its entries.
    """

    source: str = SOURCE_CLOCK
    generation: int = 1
    recording_id: int
    start_timestamp: int
    start_position: int
    initial_term_id: int
    term_length: int
    control_session_id: int = 0
    correlation_id: int = 0
    first_block: int = 0
    rebuilt: bool = False
    joined: bool = False

    @classmethod
    def of(cls, descriptor: RecordingDescriptor, **values: Any) -> Self:
        """Make the header of a recording's index."""
        facts: dict[str, Any] = {
            "recording_id": descriptor.recording_id,
            "start_timestamp": descriptor.start_timestamp,
            "start_position": descriptor.start_position,
            "initial_term_id": descriptor.initial_term_id,
            "term_length": descriptor.term_buffer_length,
            "control_session_id": descriptor.control_session_id,
            "correlation_id": descriptor.correlation_id,
        }
        return cls(**(facts | values))

    @property
    def identity(self) -> int:
        """A number that each block repeats, so that a block of another index is noticed."""
        return _signed_32(self.start_timestamp ^ (self.initial_term_id << 7))

    @property
    def is_bounded(self) -> bool:
        """Whether the recording's start and stop timestamps bound the times of the entries."""
        return self.source == SOURCE_CLOCK and not self.joined

    def with_changes(self, **changes: Any) -> Self:
        """The header of the next generation."""
        return replace(self, generation=self.generation + 1, **changes)

    def encode(self) -> bytes:
        """Encode one copy of the header."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {
            "magic": MAGIC,
            "version": VERSION,
            "source": _SOURCES.index(self.source),
            "rebuilt": int(self.rebuilt),
            "joined": int(self.joined),
            "checksum": 0,
        }
        data = _HEADER.pack(*(values[field.name] for field in HEADER))
        return data[:_CHECKSUM_AT] + _checksum(data[:_CHECKSUM_AT]).to_bytes(
            4, "little", signed=True
        )

    def encode_block(self) -> bytes:
        """Encode the first block of a file, which has both copies."""
        return self.encode().ljust(HEADER_COPIES[1], b"\0") * len(HEADER_COPIES)

    @classmethod
    def decode(cls, block: bytes) -> Self:
        """Decode the valid copy with the highest generation.

        Args:
            block: the first block of a file, which may be incomplete.

        Raises:
            FileFormatError: neither copy is valid, or the index has another version.
        """
        found = [
            copy
            for copy in (
                cls._decode_copy(block[at : at + HEADER_COPY_LENGTH]) for at in HEADER_COPIES
            )
            if copy is not None
        ]
        if not found:
            raise FileFormatError("the header is damaged, or is none of a time index")
        return max(found, key=lambda header: header.generation)

    @classmethod
    def _decode_copy(cls, data: bytes) -> Self | None:
        if len(data) < HEADER_COPY_LENGTH:
            return None
        values = dict(zip((field.name for field in HEADER), _HEADER.unpack(data), strict=True))
        if values.pop("magic") != MAGIC or values.pop("checksum") != _checksum(data[:_CHECKSUM_AT]):
            return None
        version, source = values.pop("version"), values.pop("source")
        if version != VERSION or not 0 <= source < len(_SOURCES):
            raise FileFormatError(f"version {version} of a time index is not known here")
        flags = {name: bool(values[name]) for name in ("rebuilt", "joined")}
        return cls(source=_SOURCES[source], **(values | flags))

    def why_foreign(self, descriptor: RecordingDescriptor) -> str | None:
        """The reason why the index does not belong to the recording as it is now, else None."""
        if self.recording_id != descriptor.recording_id:
            return f"it is of recording {self.recording_id}"
        if (self.start_timestamp, self.initial_term_id, self.term_length) != (
            descriptor.start_timestamp,
            descriptor.initial_term_id,
            descriptor.term_buffer_length,
        ):
            return "it is of another recording that had this id"
        if (self.control_session_id, self.correlation_id) != (
            descriptor.control_session_id,
            descriptor.correlation_id,
        ):
            return "the recording was extended later by an archive that keeps no index"
        return None
