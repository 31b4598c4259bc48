"""An archive folder opened for tables and JSON: what is wrong with it, and what to do about it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.layout import CATALOG_NAME, MARK_FILE_NAME
from aerolog.archive.format.mark_file import ArchiveMarkFile, mark_file_dir
from aerolog.transport.errors import AerologError, FileFormatError

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


@contextmanager
def explained(folder: str) -> Iterator[None]:
    """Adds the remedy to what turns out to be wrong with a catalog while it is read.

    Raises:
        AerologError: instead of a FileFormatError.
    """
    try:
        yield
    except FileFormatError as error:
        raise AerologError(f"{error}: {_remedy(error, folder)}") from error


def open_mark(folder: str) -> ArchiveMarkFile:
    """The mark file of a folder, read-only, without waiting for it.

    Raises:
        AerologError: it cannot be read, in words that say what to do.
    """
    _check_regular(Path(mark_file_dir(folder)) / MARK_FILE_NAME)
    try:
        return ArchiveMarkFile.open(folder)
    except FileNotFoundError as error:
        raise AerologError(
            f"{error.filename}: there is no {MARK_FILE_NAME}: no archive has run in this folder, or"
            " its archive-mark.lnk names another one"
        ) from error
    except FileFormatError as error:
        raise AerologError(
            f"{error}: it is written anew when an archive starts in this folder"
        ) from error
    except OSError as error:
        raise _unreadable(f"{folder}/{MARK_FILE_NAME}", error) from error


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
        return f"an older one is brought up by: aerolog archive-tool {folder} migrate"
    return (
        "restore it from a copy, or see what can still be read:"
        f" aerolog recordings list --archive-dir {folder}"
    )
