"""The options of an export: everything that decides which bytes are in which file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.arrow.schema import COLUMN_NAMES
from aerolog.catalog.times import FROM_INDEX, TimeSource
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor

MIB: Final = 1024 * 1024
ROW_GROUP_LENGTH: Final = 64 * MIB
FILE_LENGTH: Final = 512 * MIB
COMPRESSION: Final = "zstd"
COMPRESSION_LEVEL: Final = 1

#: Codecs of Parquet files, and the levels that each takes.
CODECS: Final = {
    "zstd": range(1, 23),
    "snappy": range(0),
    "gzip": range(1, 10),
    "brotli": range(12),
    "lz4": range(1, 13),
    "none": range(0),
}

#: Keys of partitions. A key that is also a column of the schema is left out of the files.
PARTITION_KEYS: Final = ("archive_id", "recording_id", "stream_id", "date")
_LENGTH_MIN: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """How recordings are laid out in files.

    Attributes:
        partition_by: keys of the folders ``key=value``, outermost first; empty: one file for each
            recording, ``recording-<id>.parquet``, which is whole.
        assemble: rows are messages; False: fragments as they were sent.
        compression: of the Parquet files.
        compression_level: level of the codec; None for the codec's default.
        row_group_length: a row group ends where the position reaches a multiple of this, bytes.
        file_length: likewise a file, in a partitioned layout; at least a term, bytes.
        time_source: of ``record_time``, see `aerolog.catalog.times.TimeSource`.
    """

    partition_by: tuple[str, ...] = ("recording_id",)
    assemble: bool = True
    compression: str = COMPRESSION
    compression_level: int | None = COMPRESSION_LEVEL
    row_group_length: int = ROW_GROUP_LENGTH
    file_length: int = FILE_LENGTH
    time_source: TimeSource = FROM_INDEX

    def __post_init__(self) -> None:
        check_compression(self.compression, self.compression_level)
        for key in self.partition_by:
            if key not in PARTITION_KEYS:
                raise ConfigurationError(
                    f"recordings cannot be partitioned by {key!r}, only by"
                    f" {', '.join(PARTITION_KEYS)}"
                )
        if len(set(self.partition_by)) != len(self.partition_by):
            raise ConfigurationError(f"a key is given twice: {','.join(self.partition_by)}")
        if self.partition_by and "recording_id" not in self.partition_by:
            raise ConfigurationError(
                "a partitioned layout needs recording_id among its keys: the names of the files in"
                " a folder are positions of one recording"
            )
        for name in ("row_group_length", "file_length"):
            if getattr(self, name) < _LENGTH_MIN:
                raise ConfigurationError(
                    f"{name} must be at least {_LENGTH_MIN} bytes, not {getattr(self, name)}"
                )

    @property
    def partitioned(self) -> bool:
        """Whether there are folders of files that are named by positions."""
        return bool(self.partition_by)

    @property
    def dropped_columns(self) -> frozenset[str]:
        """Columns that are left out of the files, because the path has their values."""
        return frozenset(self.partition_by) & frozenset(COLUMN_NAMES)

    def as_dict(self) -> dict[str, Any]:
        """The options as the manifest holds them."""
        return {
            "partition_by": list(self.partition_by),
            "rows_are": "messages" if self.assemble else "fragments",
            "compression": self.compression,
            "compression_level": self.compression_level,
            "row_group_length": self.row_group_length,
            "file_length": self.file_length if self.partitioned else None,
            "time_source": str(self.time_source),
        }

    def partition_values(
        self, descriptor: RecordingDescriptor, archive_id: int | None
    ) -> dict[str, str]:
        """The values of a recording's folder, in the order of the keys.

        Raises:
            ConfigurationError: the archive's id is wanted, and nobody knows it.
        """
        if archive_id is None and "archive_id" in self.partition_by:
            raise ConfigurationError(
                "the archive's id is not known, as there is no mark file; leave archive_id out of"
                " what to partition by"
            )
        started = datetime.fromtimestamp(descriptor.start_timestamp / 1000, UTC)
        values = {
            "archive_id": str(archive_id),
            "recording_id": str(descriptor.recording_id),
            "stream_id": str(descriptor.stream_id),
            "date": f"{started:%Y-%m-%d}",
        }
        return {key: values[key] for key in self.partition_by}


def check_compression(codec: str, level: int | None) -> None:
    """Check that Parquet files can be compressed in a way.

    Args:
        codec: its name.
        level: None for the codec's default.

    Raises:
        ConfigurationError: there is no such codec, or it has no such level.
    """
    levels = CODECS.get(codec)
    if levels is None:
        raise ConfigurationError(
            f"there is no compression {codec!r}; there are {', '.join(CODECS)}"
        )
    if level is None or level in levels:
        return
    if not levels:
        raise ConfigurationError(f"compression {codec} has no levels, and {level} was asked for")
    raise ConfigurationError(
        f"compression {codec} has the levels {levels[0]} to {levels[-1]}, not {level}"
    )
