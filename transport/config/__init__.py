"""Properties and their sources; the one parser for sizes, durations, times and numbers."""

from .definition import Declare, Infer, Kind, Property
from .settings import Settings
from .sources import Properties
from .times import parse_time_ns
from .values import (
    format_duration,
    format_size,
    parse_duration_ns,
    parse_long_duration_ns,
    parse_size,
)

__all__ = [
    "Declare",
    "Infer",
    "Kind",
    "Properties",
    "Property",
    "Settings",
    "format_duration",
    "format_size",
    "parse_duration_ns",
    "parse_long_duration_ns",
    "parse_size",
    "parse_time_ns",
]
