"""Properties and their sources; the one parser for sizes, durations, times and numbers."""

from aerolog.transport.config.definition import Declare, Infer, Property, PropertyKind
from aerolog.transport.config.settings import Settings
from aerolog.transport.config.sources import Properties
from aerolog.transport.config.times import parse_time_ns
from aerolog.transport.config.values import (
    format_duration,
    format_size,
    parse_duration_ns,
    parse_long_duration_ns,
    parse_size,
)

__all__ = [
    "Declare",
    "Infer",
    "Properties",
    "Property",
    "PropertyKind",
    "Settings",
    "format_duration",
    "format_size",
    "parse_duration_ns",
    "parse_long_duration_ns",
    "parse_size",
    "parse_time_ns",
]
