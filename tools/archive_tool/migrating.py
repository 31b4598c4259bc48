"""``migrate``: a folder that an older archive has left becomes one of this version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.files.layout import MARK_BLOCK, SEMANTIC_VERSION, offsets
from aerolog.tools.archive_tool.editing import EditableCatalog
from aerolog.tools.archive_tool.migration_steps import (
    MigrationError,
    stamp,
    steps_from,
)
from aerolog.tools.archive_tool.raw_mark import RawMark
from aerolog.tools.archive_tool.uncaught import UncaughtError, uncaught
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.archive_tool.terminal import Terminal

_VERSION_AT: Final = offsets(MARK_BLOCK)["version"]


def classic_migrate(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Migrates as the reference does, after its question; what goes wrong is told, and 0."""
    del arguments
    terminal.write(
        "WARNING: please ensure archive is not running and that a backup has been taken of the"
        " archive directory before attempting migration(s)."
    )
    if not terminal.ask("Continue? (y/n)"):
        return 0
    try:
        _migrate(folder, terminal)
    except MigrationError as error:
        for line in error.lines:
            terminal.line(line)
        if error.remark is not None:
            terminal.out.flush()
            terminal.err.write(error.remark + "\n")
        terminal.line(str(error))
    except (UncaughtError, OSError) as error:
        terminal.line(str(uncaught(error)))
    return 0


def _migrate(folder: str, terminal: Terminal) -> None:
    mark = RawMark.open(folder, check_version=False)
    catalog = EditableCatalog.open(folder, check_version=False)
    with catalog:
        terminal.line(f"MarkFile version={_shown(mark.version)}")
        terminal.line(f"Catalog version={_shown(catalog.version)}")
        terminal.line(f"Latest version={_shown(SEMANTIC_VERSION)}")
    for step in steps_from(mark.version):
        terminal.line(f"Migration step to {_shown(step.version)}")
        stamp(folder, mark.version, step.version)
        with EditableCatalog.open(folder, check_version=False) as catalog:
            step.run(folder, catalog, terminal.line)
        store_version(folder, mark, step.version)


def store_version(folder: str, mark: RawMark, version: int) -> None:
    """Store the version that a folder has now, the mark file's last."""
    with EditableCatalog.open(folder, check_version=False) as catalog:
        if catalog.version != version:
            catalog.store_version(version)
            catalog.sync()
    mapped = RealFileSystem().open_mapped(mark.path)
    mapped.store_i32(mark.base + _VERSION_AT, version)
    mapped.flush()


def _shown(version: int) -> str:
    major, minor, patch = version >> 16 & 0xFF, version >> 8 & 0xFF, version & 0xFF
    return f"{version}(Major {major} Minor {minor} Patch {patch})"
