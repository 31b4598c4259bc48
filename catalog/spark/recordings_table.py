"""The table of recordings: one row for each, with the facts of its descriptor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.catalog.arrow.schema import schema_of
from aerolog.catalog.extras import require
from aerolog.catalog.locations import open_place
from aerolog.catalog.spark.partitions import chosen
from aerolog.transport.errors import ArchiveError, FileFormatError
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    import pyarrow as pa

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.catalog.spark.options import ReadOptions

_MICROSECONDS = 1000
_COLUMNS = (
    ("place", "string", False),
    ("recording_id", "int64", False),
    ("session_id", "int32", False),
    ("stream_id", "int32", False),
    ("channel", "string", False),
    ("source_identity", "string", False),
    ("start_position", "int64", False),
    ("end_position", "int64", False),
    ("is_active", "bool_", False),
    ("start_time", "timestamp", True),
    ("stop_time", "timestamp", True),
    ("segment_length", "int32", False),
    ("term_length", "int32", False),
)


def recordings_schema() -> pa.Schema:
    """The Arrow schema of the table."""
    return schema_of(_COLUMNS)


def recordings_table(options: ReadOptions) -> pa.RecordBatch:
    """Read the table of the selected recordings, with their present positions.

    Raises:
        Exception: whatever ``recordings_of`` and ``open_place`` raise; a recording that cannot be
            opened is an error, or with ``skip_damage`` left out.
    """
    pyarrow = require("pyarrow", "reading recordings in Spark")
    rows: list[dict[str, Any]] = []
    wanted = options.choice.session_ids
    for place, ids in chosen(options).items():
        with open_place(place) as folder:
            for recording_id in ids:
                try:
                    recording = folder.recording(recording_id)
                except (ArchiveError, FileFormatError):
                    if not options.skip_damage:
                        raise
                    continue
                if wanted is None or recording.descriptor.session_id in wanted:
                    rows.append(_row(without_secrets(place), recording))
    return pyarrow.RecordBatch.from_pylist(rows, recordings_schema())


def _row(place: str, recording: Recording) -> dict[str, Any]:
    descriptor = recording.descriptor
    return {
        "place": place,
        "recording_id": descriptor.recording_id,
        "session_id": descriptor.session_id,
        "stream_id": descriptor.stream_id,
        "channel": descriptor.stripped_channel,
        "source_identity": descriptor.source_identity,
        "start_position": recording.start_position,
        "end_position": recording.end_position,
        "is_active": descriptor.is_active,
        "start_time": _time(descriptor.start_timestamp),
        "stop_time": _time(descriptor.stop_timestamp),
        "segment_length": descriptor.segment_file_length,
        "term_length": descriptor.term_buffer_length,
    }


def _time(milliseconds: int) -> int | None:
    return milliseconds * _MICROSECONDS if milliseconds >= 0 else None
