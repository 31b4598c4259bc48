"""``migrate``: a folder that an older archive has left becomes one of this version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.format.layout import SEMANTIC_VERSION
from aerolog.tools.archive_files.catalog_editor import EditableCatalog
from aerolog.tools.archive_files.migration_steps import (
    MigrationError,
    stamp,
    steps_from,
    store_version,
)
from aerolog.tools.archive_files.raw_mark import RawMark
from aerolog.tools.command_line.java_error import JavaError, java_error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aerolog.tools.reference.tool_terminal import Terminal


def migrate(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Migrate, after the reference's question; it ends with 0 where a step fails, too."""
    del arguments
    if not terminal.agrees(
        "please ensure archive is not running and that a backup has been taken of the"
        " archive directory before attempting migration(s)."
    ):
        return 0
    lines: list[str] = []
    say = lines.append if terminal.as_json else terminal.line
    problem: str | None = None
    try:
        _migrate(folder, say)
    except MigrationError as error:
        for line in error.lines:
            say(line)
        if error.remark is not None:
            terminal.out.flush()
            terminal.remark(error.remark)
        problem = str(error)
    except (JavaError, OSError) as error:
        problem = str(java_error_of(error))
    if terminal.as_json:
        terminal.document({"steps": lines, "problem": problem})
    elif problem is not None:
        terminal.line(problem)
    return 0


def _migrate(folder: str, say: Callable[[str], None]) -> None:
    mark = RawMark.open(folder, check_version=False)
    with EditableCatalog.open(folder, check_version=False) as catalog:
        say(f"MarkFile version={_shown(mark.version)}")
        say(f"Catalog version={_shown(catalog.version)}")
        say(f"Latest version={_shown(SEMANTIC_VERSION)}")
    for step in steps_from(mark.version):
        say(f"Migration step to {_shown(step.version)}")
        stamp(folder, mark.version, step.version)
        with EditableCatalog.open(folder, check_version=False) as catalog:
            step.run(folder, catalog, say)
        store_version(folder, mark, step.version)


def _shown(version: int) -> str:
    major, minor, patch = version >> 16 & 0xFF, version >> 8 & 0xFF, version & 0xFF
    return f"{version}(Major {major} Minor {minor} Patch {patch})"
