"""The text of the configuration that the driver prints at its start (spec configuration 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.config.definition import Infer, PropertyKind
from aerolog.transport.memory.cnc import VERSION, cnc_path, version_text

if TYPE_CHECKING:
    from aerolog.transport.config.settings import Settings

_UNITS = {PropertyKind.DURATION: "Ns", PropertyKind.MILLIS: "Ms"}


def format_configuration(directory: str, settings: Settings) -> str:
    """Return all settings, one a line, with camel case names and raw bytes and nanoseconds."""
    lines = [
        "MediaDriver.Context",
        "{",
        f"    cncVersion={version_text(VERSION)}",
        f"    aeronDirectoryName='{directory}'",
        f"    cncFile={cnc_path(directory)}",
    ]
    for prop, value in settings:
        first, *rest = prop.keyword.split("_")
        name = first + "".join(word.capitalize() for word in rest) + _UNITS.get(prop.kind, "")
        lines.append(f"    {name}={_text(value)}")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Infer):
        return value.name
    return "null" if value is None else str(value)
