"""The contents of recordings as Arrow batches, Parquet files, and pandas and Polars frames.

The package needs the optional packages of ``aerolog[arrow]`` (``[pandas]``, ``[polars]``,
``[spark]``), which are imported when they are first used.
"""

from aerolog.catalog.arrow.arrow_recording import ArrowRecording, open_recording, record_batches
from aerolog.catalog.arrow.schema import arrow_schema
from aerolog.catalog.export import (
    CheckReport,
    ExportError,
    ExportOptions,
    ExportProgress,
    ExportReport,
    ExportResult,
    check_export,
    export_parquet,
    export_recordings,
    parquet_name,
)

__all__ = [
    "ArrowRecording",
    "CheckReport",
    "ExportError",
    "ExportOptions",
    "ExportProgress",
    "ExportReport",
    "ExportResult",
    "arrow_schema",
    "check_export",
    "export_parquet",
    "export_recordings",
    "open_recording",
    "parquet_name",
    "record_batches",
]
