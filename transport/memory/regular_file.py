"""Opening of files that have to be regular ones, which never waits.

To open a pipe is to wait for its other end, and a device may have no end or do something when it is
opened. Where a file belongs, neither is opened. A folder is: what is read from it is the system's
error.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Final, NoReturn

from aerolog.transport.errors import FileFormatError, NoRegularFileError

if TYPE_CHECKING:
    StrPath = str | os.PathLike[str]

#: The most bytes of a file that is read as a whole.
WHOLE_MAX: Final = 1 << 28
#: Names of what this process has open already: a shell's ``<(command)``, or standard input.
_OPEN_ALREADY: Final = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


def open_regular(path: StrPath, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """Open a regular file, or a folder for reading, as ``os.open`` does; an opener of ``open``.

    The descriptor is not passed to children.

    Raises:
        NoRegularFileError: it is something else, such as a pipe or a device.
        OSError: it cannot be opened.
    """
    try:
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, mode)
    except BlockingIOError:
        # Somebody has a lease on it, as ``FileSystem.is_unused`` for a moment, which will end.
        _check(os.stat(path), path)  # noqa: PTH116 - a link is followed, as open does
        return os.open(path, flags | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a pipe that nobody reads, or a socket
            _refuse(path)
        raise
    try:
        _check(os.fstat(fd), path)
        os.set_blocking(fd, True)
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_whole(file: BinaryIO, path: StrPath) -> bytes:
    """Read a file that is small if it is what its name says.

    Raises:
        FileFormatError: it has more than `WHOLE_MAX` bytes.
    """
    content = file.read(WHOLE_MAX + 1)
    if len(content) > WHOLE_MAX:
        raise FileFormatError(
            f"{os.fspath(path)}: it has over {WHOLE_MAX} bytes, so it is not what its name says"
        )
    return content


def open_named(path: StrPath) -> BinaryIO:
    """Open a file for reading that somebody names, such as settings.

    A pipe is taken that this process has open already, as of a shell's ``<(command)``.

    Raises:
        NoRegularFileError: it is another pipe, or a device.
        OSError: it cannot be opened.
    """
    is_open = os.fspath(path).startswith(_OPEN_ALREADY)
    return open(path, "rb", opener=None if is_open else open_regular)


def _check(found: os.stat_result, path: StrPath) -> None:
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        _refuse(path)


def _refuse(path: StrPath) -> NoReturn:
    raise NoRegularFileError(
        errno.EINVAL, "it is no regular file, but a pipe or a device", os.fspath(path)
    )
