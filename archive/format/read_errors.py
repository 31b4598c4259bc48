"""Errors of the file system that say nothing of what a file holds, and so are no damage."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aerolog.transport.memory.filesystem import FileSystem

#: There is no file of that name, or something else than a file is in its place.
_NO_FILE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP})


def is_unreadable(error: OSError, path: str, files: FileSystem) -> bool:
    """Whether a file may be sound and only cannot be read now.

    Permission may be wanting, a disk may fail or be busy, or the place may not be mounted that a
    link leads to. What is only unreadable is neither repaired nor marked.

    Args:
        error: why it was not read.
        path: the file's path.
        files: the file system to use.
    """
    if error.errno == errno.ENOENT:
        return files.is_link(path)
    return error.errno not in _NO_FILE
