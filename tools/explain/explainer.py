"""A file opened, its kind told, its content explained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.tools.archive_files.raw_catalog import size_of_file
from aerolog.tools.explain import (
    archive_files,
    cluster_files,
    companion_sections,
    driver_files,
    file_kinds,
    log_file,
)
from aerolog.tools.explain.explanation import Explanation
from aerolog.transport.errors import AerologError, FileFormatError
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.tools.explain.explanation import Section

_EXPLAINERS: Final[dict[str, Callable[[memoryview, str, int], Iterator[Section]]]] = {
    file_kinds.CNC: driver_files.cnc,
    file_kinds.LOG: log_file.explain,
    file_kinds.LOSS: driver_files.loss,
    file_kinds.CYCLES: driver_files.cycles,
    file_kinds.CATALOG: archive_files.catalog,
    file_kinds.MARK: archive_files.mark,
    file_kinds.LINK: archive_files.text,
    file_kinds.SEGMENT: archive_files.segment,
    file_kinds.REDO: archive_files.redo,
    file_kinds.MIGRATION: archive_files.text,
    file_kinds.ERRORS: archive_files.text,
    file_kinds.TIMES: companion_sections.time_index,
    file_kinds.HEALTH: companion_sections.health,
    file_kinds.RETENTION: archive_files.text,
    file_kinds.RESERVE: companion_sections.reserve,
    file_kinds.CLUSTER_MARK: cluster_files.mark,
    file_kinds.CLUSTER_LINK: archive_files.text,
    file_kinds.RECORDING_LOG: cluster_files.recording_log,
    file_kinds.NODE_STATE: cluster_files.node_state,
    file_kinds.SUMS: archive_files.text,
}


def open_bytes(path: str) -> memoryview:
    """The bytes of a file, mapped read-only.

    Raises:
        AerologError: it cannot be read, in words that say what to do.
    """
    try:
        size = size_of_file(path)
        return MappedFile.open(path, writable=False).view() if size else memoryview(b"")
    except FileNotFoundError as error:
        raise AerologError(f"{path}: there is no such file: check its name") from error
    except IsADirectoryError as error:
        raise AerologError(f"{path} is a folder: name one of its files") from error
    except OSError as error:
        raise AerologError(
            f"{path} cannot be read: {error.strerror or error}: name a file that you may read"
        ) from error


def check_bytes(data: memoryview) -> None:
    """Check that the file of `open_bytes` still had what was read of it.

    Raises:
        FileFormatError: it became shorter.
        OSError: a part of it cannot be read.
    """
    if isinstance(data.obj, MappedFile):
        data.obj.check()


def explain(path: str, limit: int) -> Explanation:
    """Everything about a file, as far as it can be read.

    Args:
        path: the path of the file.
        limit: how many records of a kind are shown, 0 for all.

    Raises:
        AerologError: it cannot be opened, or is no file of the system.
    """
    data, name = open_bytes(path), Path(path).name
    kind = file_kinds.kind_of(name, data)
    if kind is None:
        raise AerologError(
            f"{path} is no file of a driver or an archive: neither its name nor its content tells"
            " of one; give files of archives and drivers the names they had"
        )
    explained = Explanation(path, kind, file_kinds.MEANINGS[kind], len(data))
    try:
        for section in _EXPLAINERS[kind](data, name, limit):
            check_bytes(data)
            explained.sections.append(section)
    except FileFormatError as error:
        explained.damage = str(error)
    try:
        check_bytes(data)
    except FileFormatError as error:
        # What was found in zeros that nobody wrote is no damage of the file's.
        explained.damage = str(error)
    return explained
