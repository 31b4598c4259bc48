"""The folder that an older archive has left becomes one of this version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.archive_files.catalog_editor import EditableCatalog
from aerolog.tools.archive_files.checked_files import in_words, refuse_running
from aerolog.tools.archive_files.migration_steps import (
    SegmentRename,
    Step,
    stamp,
    stamp_name,
    steps_from,
    store_version,
    write_aligned,
)
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.archive_files.raw_mark import RawMark
from aerolog.tools.archive_files.segment_names import number_of
from aerolog.tools.terminal.table_plan import TablePlan, check_can_ask, is_agreed
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.protocol.sbe import semantic_version_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.archive_files.migration_steps import Renames
    from aerolog.tools.terminal.command_terminal import ChangeTerminal


def upgrade(folder: str, terminal: ChangeTerminal) -> None:
    """Bring a folder of an older version up to this one, after a question.

    Segments are renamed from the last one down, so that none is in the way of another. A step that
    was cut short among them is not repeated: their names do not tell which have been renamed.
    """
    check_can_ask(terminal)
    if not terminal.dry_run:
        refuse_running(folder, "its files would change under it")
    with in_words(folder, any_version=True):
        mark = RawMark.open(folder, check_version=False, wait_s=0.0)
        steps = steps_from(mark.version)
        plan = _plan(folder, mark.version, steps)
        if not steps:
            terminal.result({"dry_run": terminal.dry_run, **plan.details}, plan.what)
            return
        if not is_agreed(plan, terminal):
            return
        for step in steps:
            _do(folder, mark, step)
    terminal.result(
        {"dry_run": False, **plan.details},
        f"{folder} is of version {semantic_version_text(mark.version)} now",
    )


def _plan(folder: str, version: int, steps: Sequence[Step]) -> TablePlan:
    with EditableCatalog.view(folder, check_version=False) as catalog:
        row = {
            "mark_file_version": semantic_version_text(version),
            "catalog_version": semantic_version_text(catalog.version),
            "recordings": len(catalog.raw.offsets),
            "steps": [
                {"to": semantic_version_text(one.version), "what": one.what} for one in steps
            ],
        }
        for step in steps:
            _check_begun(folder, version, step)
            version = step.version
    if not steps:
        what = f"{folder} is of version {row['mark_file_version']}: there is nothing to migrate"
    else:
        what = f"migrate {folder} from version {row['mark_file_version']}"
    return TablePlan(
        what,
        ("to version", "what"),
        [(semantic_version_text(one.version), one.what) for one in steps],
        details=row,
        caution="Make sure that there is a copy of the folder: older archives cannot read it then."
        if steps
        else None,
    )


def _check_begun(folder: str, version: int, step: Step) -> None:
    """Refuse a step on names that was begun before and not finished."""
    path = Path(file_in(folder, stamp_name(version, step.version)))
    if step.renames is not None and path.exists():
        raise AerologError(
            f"{path}: a migration was begun here and cut short; some segments have their new names,"
            " some may not: restore the folder from its copy and migrate that"
        )


def _do(folder: str, mark: RawMark, step: Step) -> None:
    path = Path(file_in(folder, stamp_name(mark.version, step.version)))
    with EditableCatalog.open(folder, check_version=False) as catalog:
        if step.renames is None:
            path.unlink(missing_ok=True)  # cut short: the old catalog is whole, or the new one
            stamp(folder, mark.version, step.version)
            write_aligned(folder, catalog)
        else:
            renamings = _ordered(folder, catalog, step.renames)
            stamp(folder, mark.version, step.version)
            for one in renamings:
                Path(one.old).rename(one.new)
            RealFileSystem().sync_dir(folder)
    store_version(folder, mark, step.version)


def _ordered(folder: str, catalog: EditableCatalog, renames: Renames) -> list[SegmentRename]:
    """All renamings in an order in which none meets a file, checked before any is done.

    Raises:
        AerologError: there is no such order.
    """
    found: list[SegmentRename] = []
    for entry in catalog.entries():
        if entry.state == RecordingState.INVALID:
            continue
        renamings = renames(folder, entry, lambda _: None)
        found += [one for one in renamings or () if one.old != one.new]
    found.sort(key=lambda one: number_of(Path(one.new).name), reverse=True)
    there = {path.name for path in Path(folder).iterdir()}
    for one in found:
        name = Path(one.new).name
        if name in there:
            raise AerologError(f"{one.old} is to become {one.new}, which is there: move it away")
        there.remove(Path(one.old).name)
        there.add(name)
    return found
