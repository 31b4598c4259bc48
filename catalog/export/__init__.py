"""Parquet export: recordings to files that are complete or not there, in bounded memory.

Needs the optional packages of ``aerolog[arrow]``, which are imported when they are first used.
"""

from aerolog.catalog.export.check import CheckReport, check_export
from aerolog.catalog.export.errors import (
    ExportError,
    ExportUnderWayError,
    ManifestError,
    TargetMismatchError,
    TargetUnreachableError,
)
from aerolog.catalog.export.layout import parquet_name
from aerolog.catalog.export.manifest import MANIFEST_NAME
from aerolog.catalog.export.options import ExportOptions
from aerolog.catalog.export.parquet import export_parquet, export_recordings
from aerolog.catalog.export.report import ExportProgress, ExportReport, ExportResult, MissingRange

__all__ = [
    "MANIFEST_NAME",
    "CheckReport",
    "ExportError",
    "ExportOptions",
    "ExportProgress",
    "ExportReport",
    "ExportResult",
    "ExportUnderWayError",
    "ManifestError",
    "MissingRange",
    "TargetMismatchError",
    "TargetUnreachableError",
    "check_export",
    "export_parquet",
    "export_recordings",
    "parquet_name",
]
