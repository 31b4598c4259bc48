"""``compact``: a catalog without the entries that are not valid, and without their segments.

The new catalog is written beside the old one and replaces it in one step, after the segments are
gone: whenever the work is cut short there is a whole catalog, and nothing that it calls a recording
has lost a file. To do it again finishes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import CATALOG_HEADER_LENGTH, CATALOG_NAME, ENTRY_HEADER_LENGTH
from aerolog.archive.format.mark_claim import borrowed_folder
from aerolog.tools.archive_files.catalog_editor import EditableCatalog, Entry, check_state
from aerolog.tools.archive_files.java_error import IO_ERROR, JavaError, java_error_of
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.archive_files.segment_names import (
    NOT_EMPTY_ERROR,
    remove_segment,
    segments_by_id,
)
from aerolog.tools.reference.archive_tool.change_plan import (
    TablePlan,
    check_can_ask,
    in_words,
    is_agreed,
    refuse_running,
)
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

COMPACT_NAME: Final = f"{CATALOG_NAME}.compact"


@dataclass(frozen=True, slots=True)
class Compaction:
    """What is to be done.

    Attributes:
        content: the new catalog, whole.
        removed: entries that are not in it.
        names: their segment files.
    """

    content: bytes
    removed: list[Entry]
    names: list[str]

    @property
    def reclaimed(self) -> int:
        """Bytes of the entries that go."""
        return sum(ENTRY_HEADER_LENGTH + entry.length for entry in self.removed)


def classic_compact(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Compacts as the reference does, after its question."""
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
        terminal.line(str(told))
        return 0
    terminal.line(
        f"Compaction result: deleted {len(done.removed)} records and reclaimed"
        f" {done.reclaimed} bytes"
    )
    return 0


def compact(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Compacts, after a question."""
    del arguments
    check_can_ask(terminal)
    if not terminal.dry_run:
        refuse_running(folder, "it would go on in a catalog that nobody finds any more")
    with in_words(folder), EditableCatalog.view(folder) as catalog:
        planned = plan_compaction(folder, catalog)
        plan = _plan(planned, folder)
        if not is_agreed(plan, terminal):
            return 0
        # An archive may have been started, and have gone again, while the question was open.
        with (
            borrowed_folder(folder, RealFileSystem()),
            EditableCatalog.view(folder) as present,
        ):
            now = plan_compaction(folder, present)
            if (now.content, now.names) != (planned.content, planned.names):
                raise AerologError(f"{folder}: its catalog has changed since the plan: look again")
            # A run that was cut short may have left one.
            Path(file_in(folder, COMPACT_NAME)).unlink(missing_ok=True)
            done = compact_catalog(folder, present)
    terminal.result(
        {"dry_run": False, **plan.details},
        f"removed {len(done.removed)} recordings and {len(done.names)} segment files;"
        f" the catalog is {len(done.content)} bytes",
    )
    return 0


def _plan(planned: Compaction, folder: str) -> TablePlan:
    names = segments_by_id(folder)
    rows = [
        {
            "recording_id": entry.recording_id,
            "state": entry.state_name,
            "segment_files": len(names.get(entry.recording_id, [])),
            "segment_bytes": sum(
                Path(folder, name).stat().st_size for name in names.get(entry.recording_id, [])
            ),
        }
        for entry in planned.removed
    ]
    return TablePlan(
        f"remove {len(rows)} recordings that are not valid, with {len(planned.names)} segment"
        " files, for good",
        ("recording", "state", "files", "bytes"),
        [list(row.values()) for row in rows],
        details={
            "removed": rows,
            "reclaimed_catalog_bytes": planned.reclaimed,
            "catalog_bytes": len(planned.content),
        },
        right=("recording", "files", "bytes"),
        caution="What is removed cannot be brought back.",
    )


def plan_compaction(folder: str, catalog: EditableCatalog) -> Compaction:
    """Work out what a compaction does; changes nothing."""
    entries = catalog.entries()
    for entry in entries:
        check_state(entry)
    kept = [entry for entry in entries if entry.is_valid]
    removed = [entry for entry in entries if not entry.is_valid]
    parts = [catalog.raw.frame(0, CATALOG_HEADER_LENGTH)]
    parts += [catalog.raw.frame(one.offset, one.frame_length) for one in kept]
    names = segments_by_id(folder)
    gone = [name for entry in removed for name in names.get(entry.recording_id, [])]
    # Whole frames: the reference leaves out the fill that an entry's length does not cover, and
    # cannot read what it has written.
    return Compaction(b"".join(parts), removed, gone)


def compact_catalog(folder: str, catalog: EditableCatalog) -> Compaction:
    """Compact a catalog; the mapping of the old one stays, and is that of a file without a name.

    Raises:
        OSError: a file cannot be written or removed; the old catalog is still there.
    """
    files = RealFileSystem()
    path = file_in(folder, COMPACT_NAME)
    try:
        with files.open_data_file(path, writable=True, create=True, exclusive=True) as file:
            planned = plan_compaction(folder, catalog)
            file.write_at(planned.content, 0)
            file.flush(2)
        for name in planned.names:
            remove_segment(file_in(folder, name))
        files.rename(path, catalog.path)
        files.sync_dir(folder)
    finally:
        Path(path).unlink(missing_ok=True)
    return planned
