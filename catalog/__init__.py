"""Recordings to look into: Arrow batches, Parquet files, pandas and Polars frames.

Needs the optional packages of ``aerolog[arrow]`` (``[pandas]``, ``[polars]``, ``[spark]``), which
are imported when they are first used.
"""

from aerolog.catalog.arrow import ArrowRecording, open_recording, record_batches
from aerolog.catalog.export import (
    ExportProgress,
    ExportResult,
    export_recording,
    export_recordings,
    parquet_name,
)
from aerolog.catalog.schema import arrow_schema

__all__ = [
    "ArrowRecording",
    "ExportProgress",
    "ExportResult",
    "arrow_schema",
    "export_recording",
    "export_recordings",
    "open_recording",
    "parquet_name",
    "record_batches",
]
