"""A small text file of an operator's, read again when it has changed."""

from __future__ import annotations

import logging
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

LENGTH_MAX: Final = 1 << 20
CHECK_INTERVAL_S: Final = 1.0
_LOG = logging.getLogger("aerolog.archive")


class WatchedFile(Generic[T]):
    """The contents of a file, parsed.

    A file that cannot be used any more leaves what was read before in force, and is logged once.

    Args:
        path: of the file.
        parse: from its text to its contents; raises ConfigurationError.
        private: whether only its owner may read it. Nobody else may write it in any case.
        check_interval_s: how often, at most, it is looked at.

    Raises:
        ConfigurationError: it cannot be used from the start.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        parse: Callable[[str], T],
        *,
        private: bool,
        check_interval_s: float = CHECK_INTERVAL_S,
    ) -> None:
        self._path = Path(path)
        self._parse = parse
        self._forbidden = stat.S_IWGRP | stat.S_IWOTH
        if private:
            self._forbidden |= stat.S_IRGRP | stat.S_IROTH
        self._check_interval_s = check_interval_s
        self._next_check_s = time.monotonic() + check_interval_s
        self._signature: tuple[int, int, int] | None = None
        self._contents = self._read()

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._path

    def current(self) -> T:
        """What the file says now, or said when it was last usable."""
        now_s = time.monotonic()
        if now_s >= self._next_check_s:
            self._next_check_s = now_s + self._check_interval_s
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
            with self._path.open("rb") as file:
                found = os.fstat(file.fileno())
                # Remembered first, so that a bad file is read and complained about once.
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
        try:
            return self._parse(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{self._path}: is not UTF-8") from error
        except ConfigurationError as error:
            raise ConfigurationError(f"{self._path}:{error}") from error

    def _complain(self, error: Exception) -> None:
        if self._signature is not None or isinstance(error, ConfigurationError):
            _LOG.warning("%s; what was read before stays in force", error)
        if isinstance(error, OSError):
            self._signature = None  # it has gone: said once, and read again when it is back


def lines_of(text: str) -> list[tuple[int, str]]:
    """Number and text of the lines that say something: no blank ones, no ``#`` comments."""
    found = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in found if line and not line.startswith("#")]
