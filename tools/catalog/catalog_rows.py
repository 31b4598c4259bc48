"""Recordings of a SQL catalog as commands show them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerolog.catalog.index.search import FoundRecording


#: Columns of what a search prints; JSON has the rest as well.
COLUMNS: Final = (
    "recording_id",
    "stream_id",
    "session_id",
    "state",
    "size_bytes",
    "start_time",
    "stop_time",
    "names",
    "tags",
    "channel",
)
RIGHT: Final = ("recording_id", "stream_id", "session_id", "size_bytes")


def as_json(found: FoundRecording) -> dict[str, Any]:
    """All that a search finds of a recording."""
    values = asdict(found)
    return {**values, "state": str(found.state), "names": list(found.names)}


def cells(found: FoundRecording) -> dict[str, Any]:
    """The same as people read it, by column."""
    values = as_json(found)
    return {
        **values,
        "start_time": shown_time(found.start_time_ms),
        "stop_time": shown_time(found.stop_time_ms),
        "names": ", ".join(found.names),
        "tags": shown_tags(found.tags),
    }


def shown_time(time_ms: int | None) -> str | None:
    """UTC, ISO 8601; the number of milliseconds where there is no such date."""
    from aerolog.transport.config.times import format_time

    if time_ms is None:
        return None
    try:
        return format_time(time_ms * NS_PER_MS)
    except (ValueError, OverflowError, OSError):
        return f"{time_ms} ms"


def shown_tags(tags: Mapping[str, str]) -> str:
    """Keys and values in one line."""
    return " ".join(f"{key}={value}" for key, value in sorted(tags.items()))
