"""The columns of a recording's rows, the same in Arrow batches, Parquet files and frames.

New columns are only ever appended. Times are UTC, in microseconds.

========================  =====================  ==================================================
column                    type                   meaning
========================  =====================  ==================================================
``recording_id``          int64                  the recording's id in its archive
``position``              int64                  the position *after* the message
``term_id``               int32                  that of the message's first frame
``term_offset``           int32                  that of the message's first frame
``session_id``            int32                  the publication's; where a record checksum has
                                                 replaced it, that of the recording
``stream_id``             int32                  the recording's stream id
``flags``                 int16                  0xC0 for a whole message; all fragments' together
``reserved_value``        int64                  that of the message's first frame
``payload``               binary                 the message's bytes
``record_time``           timestamp[us, UTC]     when its first frame was recorded; null where there
                                                 is no time index, see ``TimeSource``
========================  =====================  ==================================================
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from aerolog.archive.format.archive_folder import Recording

SCHEMA_VERSION = 1

# Each column is a name, an Arrow type, and whether the column may be null.
COLUMNS = (
    ("recording_id", "int64", False),
    ("position", "int64", False),
    ("term_id", "int32", False),
    ("term_offset", "int32", False),
    ("session_id", "int32", False),
    ("stream_id", "int32", False),
    ("flags", "int16", False),
    ("reserved_value", "int64", False),
    ("payload", "binary", False),
    ("record_time", "timestamp", True),
)
COLUMN_NAMES = tuple(name for name, _, _ in COLUMNS)

METADATA_SCHEMA_VERSION = b"aerolog.schema_version"
METADATA_RECORDING = b"aerolog.recording"
METADATA_ROWS_ARE = b"aerolog.rows_are"
METADATA_FROM_POSITION = b"aerolog.from_position"
METADATA_UNTIL_POSITION = b"aerolog.until_position"
METADATA_TOTALS = b"aerolog.totals"


def arrow_schema(columns: tuple[str, ...] = COLUMN_NAMES) -> pa.Schema:
    """The Arrow schema of the named columns, in the table's order.

    Raises:
        MissingExtraError: Arrow is not installed.
        ValueError: a column does not exist.
    """
    unknown = [name for name in columns if name not in COLUMN_NAMES]
    if unknown:
        raise ValueError(f"no such column: {unknown[0]}; there are {', '.join(COLUMN_NAMES)}")
    return schema_of(column for column in COLUMNS if column[0] in columns)


def schema_of(columns: Iterable[tuple[str, str, bool]]) -> pa.Schema:
    """The Arrow schema of columns in the form of ``COLUMNS``."""
    pyarrow = require("pyarrow", "reading recordings as Arrow data")
    times = pyarrow.timestamp("us", tz="UTC")
    return pyarrow.schema(
        [
            pyarrow.field(
                name, times if kind == "timestamp" else getattr(pyarrow, kind)(), nullable=nullable
            )
            for name, kind, nullable in columns
        ]
    )


def recording_metadata(
    recording: Recording, *, assemble: bool, from_position: int, until_position: int
) -> dict[bytes, bytes]:
    """A file's metadata about the recording of its rows; values are JSON or numbers."""
    descriptor = asdict(recording.descriptor)
    return {
        METADATA_SCHEMA_VERSION: str(SCHEMA_VERSION).encode(),
        METADATA_RECORDING: json.dumps(descriptor, sort_keys=True).encode(),
        METADATA_ROWS_ARE: b"messages" if assemble else b"fragments",
        METADATA_FROM_POSITION: str(from_position).encode(),
        METADATA_UNTIL_POSITION: str(until_position).encode(),
    }
