"""A mark file as the reference's tool opens it: waits for one that is being made, and its words.

Rules: spec archive-tool 3.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import (
    MARK_BLOCK,
    MARK_FILE_NAME,
    MARK_LINK_NAME,
    MARK_MESSAGE_HEADER_LENGTH,
    MARK_SCHEMA_ID,
    MARK_TEMPLATE_ID,
    VERSION_MAJOR,
)
from aerolog.tools.archive_tool.raw_catalog import file_in, major, size_of_file
from aerolog.tools.archive_tool.uncaught_error import (
    ILLEGAL_ARGUMENT,
    ILLEGAL_STATE,
    UncaughtError,
    out_of_bounds,
)
from aerolog.tools.connection.deadlines import Deadline
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol.fixed_layout import offsets
from aerolog.transport.protocol.mark_header import MARK_HEADER_LENGTH

if TYPE_CHECKING:
    from aerolog.tools.archive_tool.tool_terminal import Terminal

_AT = offsets(MARK_BLOCK)
_WAIT_S: Final = 5.0
_LOOK_S: Final = 0.016
_LOOKED_AT: Final = 8


class RawMark:
    """An open mark file.

    Attributes:
        path: the path of the file, relative where the folder was given so.
        base: the offset at which the fields begin.
    """

    def __init__(self, path: str, mapped: MappedFile | None) -> None:
        self.path = path
        self._mapped = mapped
        self._length = 0 if mapped is None else mapped.length
        if self._length < _LOOKED_AT:
            raise out_of_bounds(0, _LOOKED_AT, self._length)
        ids = (self._i32(2) & 0xFFFF, self._i32(4) & 0xFFFF)
        is_message = ids == (MARK_TEMPLATE_ID, MARK_SCHEMA_ID)
        self.base = MARK_MESSAGE_HEADER_LENGTH if is_message else 0

    @classmethod
    def open(
        cls,
        folder: str,
        terminal: Terminal | None = None,
        *,
        check_version: bool = True,
        wait_s: float = _WAIT_S,
    ) -> RawMark:
        """Open the mark file of an archive's folder.

        Args:
            folder: the archive's folder, as it was given.
            terminal: gets a line with the path, None for no line.
            check_version: refuse other major versions than this one.
            wait_s: how long an archive that is starting is waited for.

        Raises:
            OSError: it cannot be opened.
            UncaughtError: there is none, it is damaged, not made yet, or of another version.
        """
        path = file_in(_mark_folder(folder), MARK_FILE_NAME)
        if not Path(path).exists():
            raise UncaughtError(
                ILLEGAL_STATE, f"missing file for {MARK_FILE_NAME} : {Path(path).absolute()}"
            )
        empty = size_of_file(path) == 0
        mark = cls(path, None if empty else MappedFile.open(path, writable=False))
        if terminal is not None:
            terminal.line(f"INFO: mark file exists: {path}")
        mark._wait("version", f"mark file is created but not initialised: {path}", wait_s)
        if check_version and major(mark.version) != VERSION_MAJOR:
            raise UncaughtError(
                ILLEGAL_ARGUMENT,
                f"mark file ({Path(path).absolute()}) major version {major(mark.version)} does not"
                f" match software: {VERSION_MAJOR}",
            )
        mark._wait(
            "activity_timestamp", f"no non-zero timestamp detected: {path}", wait_s, wide=True
        )
        start, length = mark.error_range
        if length < 0 or start < 0 or start + length > mark._length:
            raise out_of_bounds(start, length, mark._length)
        return mark

    @property
    def data(self) -> memoryview:
        """All bytes of the file."""
        assert self._mapped is not None
        return self._mapped.view()

    @property
    def mapped(self) -> MappedFile:
        """The mapped file."""
        assert self._mapped is not None
        return self._mapped

    @property
    def version(self) -> int:
        """The semantic version of the file's layout."""
        return self._i32(self.base + _AT["version"])

    @property
    def pid(self) -> int:
        """Process id of the archive that made it."""
        return self._i64(self.base + _AT["pid"])

    @property
    def start_timestamp(self) -> int:
        """When the archive started, epoch milliseconds."""
        return self._i64(self.base + _AT["start_timestamp"])

    @property
    def activity_timestamp(self) -> int:
        """The archive's last sign of life, epoch milliseconds; -1 ended."""
        return self._i64(self.base + _AT["activity_timestamp"])

    @property
    def error_range(self) -> tuple[int, int]:
        """The offset and the length of the error log."""
        start = self._i32(self.base + _AT["header_length"]) or MARK_HEADER_LENGTH
        return start, self._i32(self.base + _AT["error_buffer_length"])

    def _wait(self, field: str, problem: str, wait_s: float, *, wide: bool = False) -> None:
        deadline = Deadline(wait_s)
        at = self.base + _AT[field]
        while (self._i64(at) if wide else self._i32(at)) == 0:
            if deadline.passed:
                raise UncaughtError(ILLEGAL_STATE, problem)
            time.sleep(_LOOK_S)

    def _i32(self, at: int) -> int:
        if at + 4 > self._length:
            raise out_of_bounds(at, 4, self._length)
        return int.from_bytes(self.data[at : at + 4], "little", signed=True)

    def _i64(self, at: int) -> int:
        if at + 8 > self._length:
            raise out_of_bounds(at, 8, self._length)
        return int.from_bytes(self.data[at : at + 8], "little", signed=True)


def _mark_folder(folder: str) -> str:
    link = Path(file_in(folder, MARK_LINK_NAME))
    if not link.exists():
        return folder
    return link.read_bytes().decode("ascii", "replace").strip()
