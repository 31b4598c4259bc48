"""The files of a recording by their names, the way an archive that purges it looks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import NULL_POSITION, SEGMENT_SUFFIX
from aerolog.archive.format.segment import parse_segment_name
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.transport.memory.filesystem import FileSystem

#: Older archives rename a file before they delete it.
DELETED_SUFFIX: Final = ".del"


def names_of(files: FileSystem, folder: str | Path, recording_id: int) -> list[str]:
    """Names of all files of a recording, those renamed before deleting included."""
    prefix = f"{recording_id}-"
    return [
        name
        for name in files.scan_dir(str(folder))
        if name.startswith(prefix) and name.endswith((SEGMENT_SUFFIX, DELETED_SUFFIX))
    ]


def base_of(name: str) -> int:
    """Position at which a file begins by its name, -1 when the name has none."""
    try:
        return parse_segment_name(name.removesuffix(DELETED_SUFFIX)).base_position
    except FileFormatError:
        return NULL_POSITION
