"""A mark file as the reference's tool opens it: waits for one that is being made, and its words.

Rules: spec archive-tool 3.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Self

from aerolog.archive.format.layout import MARK_FILE_NAME, VERSION_MAJOR
from aerolog.archive.protocol.mark_header import MarkFileHeader
from aerolog.tools.archive_files.raw_catalog import file_in, major, size_of_file
from aerolog.tools.command_line.java_error import (
    ILLEGAL_ARGUMENT,
    ILLEGAL_STATE,
    JavaError,
    out_of_bounds,
)
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.memory.error_log import read_error_log
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.memory.mark_file import LIVENESS_TIMEOUT_MS, linked_folder
from aerolog.transport.protocol.mark_header import MARK_HEADER_LENGTH
from aerolog.transport.protocol.sbe import HEADER_LENGTH

if TYPE_CHECKING:
    from aerolog.tools.reference.tool_terminal import Terminal
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.error_log import ErrorObservation
    from aerolog.transport.protocol.sbe import Message

_WAIT_S: Final = 5.0
_LOOK_S: Final = 0.016
_LOOKED_AT: Final = 8


class RawMark:
    """An open mark file of an archive; what is special in it stands in the attributes of the class.

    Attributes:
        HEADER: the message at its start.
        MAJOR: the major version that is understood.
        path: the path of the file, relative where the folder was given so.
        base: the offset at which the fields begin.
    """

    HEADER: ClassVar[type[Message]] = MarkFileHeader
    NAME: ClassVar[str] = MARK_FILE_NAME
    MAJOR: ClassVar[int] = VERSION_MAJOR

    def __init__(self, path: str, mapped: MappedFile | None) -> None:
        self.path = path
        self._mapped = mapped
        self._length = 0 if mapped is None else mapped.length
        if self._length < _LOOKED_AT:
            raise out_of_bounds(0, _LOOKED_AT, self._length)
        ids = (self._i32(2) & 0xFFFF, self._i32(4) & 0xFFFF)
        layout = self.HEADER.LAYOUT
        self.base = HEADER_LENGTH if ids == (layout.template_id, layout.schema.id) else 0
        self._at = {field.name: self.base + field.offset for field in layout.fixed}

    @classmethod
    def open(
        cls,
        folder: str,
        terminal: Terminal | None = None,
        *,
        name: str | None = None,
        check_version: bool = True,
        wait_s: float = _WAIT_S,
    ) -> Self:
        """Open the mark file of a folder.

        Args:
            folder: the owner's folder, as it was given.
            terminal: gets a line with the path, None for no line.
            name: name of the file where it is not `NAME`.
            check_version: refuse other major versions than this one.
            wait_s: how long an owner that is starting is waited for.

        Raises:
            OSError: it cannot be opened.
            JavaError: there is none, it is damaged, not made yet, or of another version.
        """
        name = name or cls.NAME
        path = file_in(linked_folder(folder, name), name)
        if not Path(path).exists():
            raise JavaError(ILLEGAL_STATE, f"missing file for {name} : {Path(path).absolute()}")
        empty = size_of_file(path) == 0
        mark = cls(path, None if empty else MappedFile.open(path, writable=False))
        if terminal is not None:
            terminal.line(f"INFO: mark file exists: {path}")
        mark._wait("version", f"mark file is created but not initialised: {path}", wait_s)
        if check_version and major(mark.version) != cls.MAJOR:
            raise mark.wrong_version()
        mark._wait(
            "activity_timestamp", f"no non-zero timestamp detected: {path}", wait_s, wide=True
        )
        start, length = mark.error_range
        if length < 0 or start < 0 or start + length > mark._length:
            raise out_of_bounds(start, length, mark._length)
        return mark

    def wrong_version(self) -> JavaError:
        """What the reference throws at another major version."""
        return JavaError(
            ILLEGAL_ARGUMENT,
            f"mark file ({Path(self.path).absolute()}) major version {major(self.version)} does not"
            f" match software: {self.MAJOR}",
        )

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
        return self._i32(self._at["version"])

    @property
    def pid(self) -> int:
        """Process id of the archive that made it."""
        return self._i64(self._at["pid"])

    @property
    def start_timestamp(self) -> int:
        """When the archive started, epoch milliseconds."""
        return self._i64(self._at["start_timestamp"])

    @property
    def activity_timestamp(self) -> int:
        """The archive's last sign of life, epoch milliseconds; -1 ended."""
        return self._i64(self._at["activity_timestamp"])

    def is_active(self, clock: Clock) -> bool:
        """Whether its owner gives signs of life."""
        return clock.now_epoch_ms() - self.activity_timestamp < LIVENESS_TIMEOUT_MS

    @property
    def error_range(self) -> tuple[int, int]:
        """The offset and the length of the error log."""
        start = self._i32(self._at["header_length"]) or MARK_HEADER_LENGTH
        return start, self._i32(self._at["error_buffer_length"])

    def errors(self) -> list[ErrorObservation]:
        """The entries of the error log."""
        start, length = self.error_range
        return read_error_log(self.mapped, start, length) if length else []

    def _wait(self, field: str, problem: str, wait_s: float, *, wide: bool = False) -> None:
        deadline = Deadline(wait_s)
        at = self._at[field]
        while (self._i64(at) if wide else self._i32(at)) == 0:
            if deadline.is_over:
                raise JavaError(ILLEGAL_STATE, problem)
            time.sleep(_LOOK_S)

    def _i32(self, at: int) -> int:
        if at + 4 > self._length:
            raise out_of_bounds(at, 4, self._length)
        return int.from_bytes(self.data[at : at + 4], "little", signed=True)

    def _i64(self, at: int) -> int:
        if at + 8 > self._length:
            raise out_of_bounds(at, 8, self._length)
        return int.from_bytes(self.data[at : at + 8], "little", signed=True)
