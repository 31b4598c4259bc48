"""The folder of an archive in which our own files are, beside the reference's."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import SIDE_FOLDER
from aerolog.transport.errors import NoRegularFileError

if TYPE_CHECKING:
    from aerolog.transport.memory.filesystem import FileSystem


def make_side_folder(folder: str | Path, files: FileSystem) -> None:
    """Create a folder below an archive's side folder, unless it is there.

    Args:
        folder: its path, which ends in ``aerolog/NAME``.
        files: the file system to use.

    Raises:
        NoRegularFileError: it, or the side folder, is a link: what is written there would lie
            somewhere else, where nothing belongs to the archive.
        OSError: it cannot be created.
    """
    for path in (Path(folder).parent, Path(folder)):
        if files.is_link(str(path)):
            raise NoRegularFileError(
                errno.ELOOP,
                "it is a link, and the files of an archive are not kept elsewhere: remove it",
                str(path),
            )
    assert Path(folder).parent.name == SIDE_FOLDER, folder
    files.make_dirs(str(folder))
