"""Diagnostics of a driver, without being its client: liveness, errors and losses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.transport.client.options import chosen_aeron_dir
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.aeron_directory import AeronDirectory
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.error_log import ErrorObservation
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.loss_report import FILE_NAME, LossEntry, read_loss_report
from aerolog.transport.protocol import commands

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

_NO_CLIENT = -1

__all__ = [
    "ErrorLog",
    "ErrorObservation",
    "LossEntry",
    "LossReport",
    "driver_is_active",
    "request_termination",
]


def driver_is_active(
    dir: str | os.PathLike[str] | None = None,  # noqa: A002 - the property's name
    *,
    timeout: float = 10.0,
) -> bool:
    """Whether a live driver owns a directory.

    Args:
        dir: the directory; the default one of this user when None.
        timeout: seconds, the age of a heartbeat at which its driver counts as dead.
    """
    return AeronDirectory(chosen_aeron_dir(dir), timeout_ms=int(timeout * 1000)).is_driver_active()


def request_termination(
    dir: str | os.PathLike[str] | None = None,  # noqa: A002 - the property's name
    token: bytes = b"",
) -> None:
    """Ask a driver to stop; it does so when its termination validator takes the token.

    Args:
        dir: the driver's directory; the default one of this user when None.
        token: the bytes that the driver's termination validator checks.

    Raises:
        FileNotFoundError: there is no driver directory.
        FileFormatError: its cnc.dat is damaged or of another version.
        AerologError: the driver's command buffer is full.
    """
    cnc = CncFile.open(RealFileSystem(), chosen_aeron_dir(dir), writable=True)
    command = commands.TerminateDriver(
        _NO_CLIENT, cnc.to_driver.next_correlation_id(), bytes(token)
    )
    if not cnc.to_driver.write(command.TYPE_ID, commands.encode_command(command)):
        raise AerologError(f"the command buffer of the driver in {cnc.path} is full")


class ErrorLog:
    """The distinct errors of a driver, alive or not; each iteration reads anew.

    Args:
        dir: the driver's directory; the default one of this user when None.

    Raises:
        FileNotFoundError: there is no driver directory.
        FileFormatError: its cnc.dat is damaged or of another version.
    """

    def __init__(self, dir: str | os.PathLike[str] | None = None) -> None:  # noqa: A002 - the property's name
        self._folder = chosen_aeron_dir(dir)
        self._cnc = CncFile.open(RealFileSystem(), self._folder)

    def since(self, epoch_ms: int) -> list[ErrorObservation]:
        """Errors that were seen at or after a time, in milliseconds since the epoch."""
        return self._cnc.errors(epoch_ms)

    def __iter__(self) -> Iterator[ErrorObservation]:
        return iter(self._cnc.errors())

    def __repr__(self) -> str:
        return f"<ErrorLog {self._folder}>"


class LossReport:
    """The losses of a driver's receivers, per stream; each iteration reads the file anew.

    Args:
        dir: the driver's directory; the default one of this user when None.

    Raises:
        FileNotFoundError: there is no loss report.
    """

    def __init__(self, dir: str | os.PathLike[str] | None = None) -> None:  # noqa: A002 - the property's name
        path = str(Path(chosen_aeron_dir(dir)) / FILE_NAME)
        self._mapped = RealFileSystem().open_mapped(path, writable=False)

    def __iter__(self) -> Iterator[LossEntry]:
        return iter(read_loss_report(self._mapped))

    def __repr__(self) -> str:
        return f"<LossReport {self._mapped.path}>"
