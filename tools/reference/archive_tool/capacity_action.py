"""``capacity`` and ``max-entries``: the length of the catalog file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from aerolog.archive.format.layout import CATALOG_HEADER_LENGTH, MAX_I32
from aerolog.tools.archive_files.checked_files import open_catalog
from aerolog.transport.config.values import parse_size
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

_DEPRECATED = "max-entries is deprecated please use capacity."


def capacity(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Shows the catalog's capacity in bytes, or makes it at least as long as asked."""
    wanted = _wanted(arguments)
    with open_catalog(folder) as catalog:
        path, present = catalog.path, catalog.capacity
    result = max(present, wanted)
    if result > present and not terminal.dry_run:
        with RealFileSystem().open_data_file(path, writable=True) as file:
            # Somebody may have made it longer meanwhile: never shorter.
            if Path(path).stat().st_size < result:
                file.set_length(result)
    text = f"{present} -> {result}" if result > present else str(present)
    terminal.result({"path": path, "before": present, "capacity": result}, text)
    return 0


def _wanted(arguments: Sequence[str]) -> int:
    if not arguments:
        return 0
    try:
        wanted = parse_size("capacity", arguments[0])
    except ConfigurationError as error:
        raise typer.BadParameter(str(error)) from error
    if not CATALOG_HEADER_LENGTH <= wanted <= MAX_I32:
        raise typer.BadParameter(
            f"a catalog has {CATALOG_HEADER_LENGTH} to {MAX_I32} bytes, not {wanted}"
        )
    return wanted


def max_entries(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Says what to use instead."""
    del folder, arguments
    terminal.result({"problem": _DEPRECATED}, _DEPRECATED)
    return 0


classic_max_entries: Final = max_entries
