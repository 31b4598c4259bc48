"""A catalog without the entries that are not valid, and without their segments.

The new catalog is written beside the old one and replaces it in one step, after the segments are
gone: whenever the work is cut short there is a whole catalog, and nothing that it calls a recording
has lost a file. To do it again finishes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import CATALOG_HEADER_LENGTH, CATALOG_NAME, ENTRY_HEADER_LENGTH
from aerolog.tools.archive_files.catalog_editor import check_state
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.archive_files.segment_names import remove_segment, segments_by_id
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from aerolog.tools.archive_files.catalog_editor import EditableCatalog, Entry

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
