"""A small text file, maintained by an operator, that is read again when it has changed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.filesystem import read_at_most
from aerolog.transport.memory.regular_file import open_regular
from aerolog.transport.text_output import logger
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.concurrent.clock import Clock

T = TypeVar("T")

LENGTH_MAX: Final = 1 << 20
CHECK_INTERVAL_S: Final = 1.0
_LOG = logger("aerolog.security")


class WatchedFile(Generic[T]):
    """The parsed contents of a file.

    When the file becomes unusable, the contents read before stay in force and one message is
    logged.

    Args:
        path: path of the file.
        parse: returns the contents for the file's text; raises ConfigurationError.
        private: whether only the owner may read the file. Only the owner may write it in any case.
        check_interval_s: shortest time between checks for a changed file, seconds.
        clock: measures that time, the system's by default.

    Raises:
        ConfigurationError: the file is unusable from the start.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        parse: Callable[[str], T],
        *,
        private: bool,
        check_interval_s: float = CHECK_INTERVAL_S,
        clock: Clock | None = None,
    ) -> None:
        self._path = Path(path)
        self._parse = parse
        self._forbidden = stat.S_IWGRP | stat.S_IWOTH
        if private:
            self._forbidden |= stat.S_IRGRP | stat.S_IROTH
        self._check_interval_ns = int(check_interval_s * NS_PER_S)
        self._clock = clock or SystemClock()
        self._next_check_ns = self._clock.now_ns() + self._check_interval_ns
        self._signature: tuple[int, int, int] | None = None
        self._contents = self._read()

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self._path

    def current(self) -> T:
        """Return the present contents, or those from when the file was last usable."""
        now_ns = self._clock.now_ns()
        if now_ns >= self._next_check_ns:
            self._next_check_ns = now_ns + self._check_interval_ns
            try:
                if self._signature_now() != self._signature:
                    self._contents = self._read()
            except (OSError, ConfigurationError) as error:
                self._complain(error)
        return self._contents

    def _signature_now(self) -> tuple[int, int, int]:
        found = self._path.stat()
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> T:
        try:
            with open(self._path, "rb", opener=open_regular) as file:
                found = os.fstat(file.fileno())
                # Stored first, so that an unusable file is read and logged only once.
                self._signature = found.st_mtime_ns, found.st_size, found.st_ino
                content = file.read(LENGTH_MAX + 1)
        except OSError as error:
            raise ConfigurationError(f"{self._path}: {error.strerror or error}") from error
        if found.st_mode & self._forbidden:
            raise ConfigurationError(
                f"{self._path}: mode {stat.S_IMODE(found.st_mode):04o} gives others too much;"
                f" chmod {stat.S_IMODE(found.st_mode) & ~self._forbidden:04o} would do"
            )
        if len(content) > LENGTH_MAX:
            raise ConfigurationError(f"{self._path}: longer than {LENGTH_MAX} bytes")
        return parsed(self._path, content, self._parse)

    def _complain(self, error: Exception) -> None:
        if self._signature is not None or isinstance(error, ConfigurationError):
            _LOG.warning("%s; what was read before stays in force", error)
        if isinstance(error, OSError):
            self._signature = None  # a missing file is logged once and read when it is back


def parsed(path: Path, content: bytes, parse: Callable[[str], T]) -> T:
    """Parse the content of a file.

    Raises:
        ConfigurationError: the content is no text, or ``parse`` raises it; the file is named.
    """
    try:
        return parse(content.decode())
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}:{error}") from error


def parsed_file(path: Path, parse: Callable[[str], T]) -> T:
    """Parse a file as it is now.

    Raises:
        ConfigurationError: it is too long, no text, or ``parse`` raises it; the file is named.
        OSError: the file cannot be read.
    """
    return parsed(path, read_at_most(path, LENGTH_MAX), parse)


def lines_of(text: str) -> list[tuple[int, str]]:
    """Return number and text of each line that is neither blank nor a ``#`` comment."""
    found = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in found if line and not line.startswith("#")]
