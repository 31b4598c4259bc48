"""An archive's folder, opened by a command of ours: what is wrong with it, and what to do."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.layout import CATALOG_NAME, MARK_FILE_NAME
from aerolog.archive.format.mark_file import mark_file_dir, running_archive
from aerolog.archive.format.read_errors import is_unreadable
from aerolog.tools.command_line.java_error import JavaError
from aerolog.transport.errors import AerologError, FileFormatError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator


def open_catalog(folder: str) -> CatalogReader:
    """The catalog of a folder, read-only.

    Raises:
        AerologError: it cannot be read, in words that say what to do.
    """
    _check_regular(Path(folder) / CATALOG_NAME)
    try:
        return CatalogReader.open(folder)
    except FileNotFoundError as error:
        raise AerologError(
            f"{folder} has no {CATALOG_NAME}: name the folder of an archive (aeron.archive.dir), or"
            " mount the file system that it is on"
        ) from error
    except FileFormatError as error:
        raise AerologError(f"{error}: {_remedy(error, folder)}") from error
    except OSError as error:
        raise _unreadable(f"{folder}/{CATALOG_NAME}", error) from error


def running_pid(folder: str) -> int | None:
    """Process id of the archive that runs in a folder, None when none is known to.

    Raises:
        AerologError: nobody can tell, as its mark file cannot be read.
    """
    try:
        mark = running_archive(folder)
    except OSError as error:
        path = error.filename or f"{mark_file_dir(folder)}/{MARK_FILE_NAME}"
        if not is_unreadable(error, path, RealFileSystem()):
            return None
        raise AerologError(
            f"{path} cannot be read: {error.strerror}: whether an archive runs in {folder} is not"
            " known: run this as the user that owns it"
        ) from error
    return None if mark is None else mark.header.pid


def refuse_running(folder: str, why: str) -> None:
    """Refuse what harms an archive that runs.

    Raises:
        AerologError: one does.
    """
    pid = running_pid(folder)
    if pid is not None:
        raise AerologError(
            f"{folder}: an archive runs there, process {pid}: {why}: stop it first, then do this"
            " again, ten seconds later at most"
        )


@contextmanager
def in_words(folder: str, *, any_version: bool = False) -> Iterator[None]:
    """Says what is wrong with a folder in words of ours, with a remedy.

    Args:
        folder: the archive's folder.
        any_version: whether the catalog may be of an older version.

    Raises:
        AerologError: instead of what the reference throws.
    """
    if not any_version:
        open_catalog(folder).close()
    try:
        yield
    except JavaError as error:
        text = (error.message or error.java_class).removeprefix("ERROR - ")
        if "no recording found" in text:
            raise AerologError(
                f"{folder}: {text}: aerolog explain {folder}/{CATALOG_NAME} lists all"
            ) from error
        raise AerologError(f"{folder}: {text}") from error


def _unreadable(path: str, error: OSError) -> AerologError:
    is_permission = isinstance(error, PermissionError)
    remedy = "run as a user who may read it" if is_permission else "look at the disk and its mount"
    return AerologError(f"{path} cannot be read: {error.strerror or error}: {remedy}")


def _check_regular(path: Path) -> None:
    """Opening a pipe waits for somebody who writes to it."""
    if path.exists() and not path.is_file():
        raise AerologError(
            f"{path} cannot be read: it is no regular file: name the folder of an archive"
        )


def _remedy(error: FileFormatError, folder: str) -> str:
    if "incompatible catalog file version" in str(error):
        return f"an older one is brought up by: aerolog recordings upgrade --archive-dir {folder}"
    return (
        "restore it from a copy, or see what can still be read:"
        f" aerolog recordings list --archive-dir {folder}"
    )
