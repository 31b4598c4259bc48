"""``compact``: a catalog without the entries that are not valid, and without their segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.tools.archive_files.catalog_editor import EditableCatalog
from aerolog.tools.archive_files.compaction import compact_catalog
from aerolog.tools.command_line.java_error import (
    IO_ERROR,
    NOT_EMPTY_ERROR,
    JavaError,
    java_error_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal


def compact(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Compact the catalog, after the reference's question."""
    del arguments
    if not terminal.agrees(
        "Compacting the Catalog is non-recoverable operation! All non-ACTIVE recordings"
        " will be deleted along with the corresponding segment files."
    ):
        return 0
    try:
        with EditableCatalog.view(folder) as catalog:
            done = compact_catalog(folder, catalog)
    except (JavaError, OSError) as error:
        told = java_error_of(error)
        if isinstance(error, JavaError) and told.java_class not in {IO_ERROR, NOT_EMPTY_ERROR}:
            raise
        terminal.result({"deleted": None, "problem": str(told)}, str(told))
        return 0
    terminal.result(
        {"deleted": [entry.recording_id for entry in done.removed], "bytes": done.reclaimed},
        f"Compaction result: deleted {len(done.removed)} records and reclaimed"
        f" {done.reclaimed} bytes",
    )
    return 0
