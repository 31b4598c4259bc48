"""The journal: a file of JSON lines in an archive's folder, to which lines are only appended.

The first line identifies the journal. Each further line holds facts that became known together and
ends in a line feed. A line without one is a write that a crash interrupted; its facts were never
reported as noted. Whoever appends, and whoever brings a database up to date from the journal, holds
the file's lock, so that a database gets all lines in their order. The format is described in
docs/catalog/sql.md.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.index.errors import JournalError
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.regular_file import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

JOURNAL_NAME: Final = "aerolog-catalog.journal"
VERSION: Final = 1
#: The longest valid line in bytes; a longer one is damaged.
LINE_MAX: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a journal.

    Attributes:
        end: the offset of the next line.
        facts: the line's facts; empty when the line is damaged.
        problem: what is wrong with the line, None when nothing is.
    """

    end: int
    facts: Sequence[Any] = ()
    problem: str | None = None


class JournalFile:
    """An archive's journal, open and locked; see `locked`.

    Attributes:
        path: the file's path.
        journal_id: the id in the file's first line.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd
        self.journal_id, self._first = self._read_header()

    @classmethod
    @contextmanager
    def locked(
        cls, archive_dir: str | Path, *, create: bool = False
    ) -> Iterator[JournalFile | None]:
        """Open and lock the journal of a folder; None when there is none.

        Args:
            archive_dir: the archive's folder. The call waits for its journal's lock.
            create: whether to start a journal where there is none, and to open it for appending.

        Raises:
            JournalError: the file cannot be opened.
        """
        path = Path(archive_dir) / JOURNAL_NAME
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT if create else os.O_RDONLY
        try:
            fd = open_regular(path, flags, 0o644)
        except FileNotFoundError:
            if not create:
                yield None
                return
            raise JournalError(
                f"the journal {path} cannot be made: there is no such folder here; run this where "
                "the archive's folder is"
            ) from None
        except OSError as error:
            raise JournalError(
                f"the journal {path} cannot be opened: {error.strerror}; tags, names and the like "
                "are kept there, make the folder writable"
            ) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if create:
                try:
                    _begin(path, fd)
                except OSError as error:
                    raise _unwritten(path, error) from error
            yield None if os.fstat(fd).st_size == 0 else cls(path, fd)
        finally:
            os.close(fd)

    def lines(self, start: int = 0) -> Iterator[Line]:
        """The complete lines from an offset on, which must be the beginning of a line, or 0."""
        at = max(start, self._first)
        with os.fdopen(os.dup(self._fd), "rb") as file:
            file.seek(at)
            while True:
                text = file.readline(LINE_MAX)
                at += len(text)
                if text.endswith(b"\n"):
                    yield self._line(text, at)
                elif len(text) == LINE_MAX:
                    at = _pass_over(file, at)
                    if at < 0:
                        return
                    yield Line(at, problem=f"a line is longer than {LINE_MAX} bytes: {self.path}")
                else:
                    return

    def append(self, facts: Sequence[dict[str, Any]], time_ms: int) -> int:
        """Add a line and make it durable; return the offset behind it.

        Raises:
            JournalError: the line could not be written. No part of it is in the file.
        """
        text = json.dumps({"time_ms": time_ms, "facts": facts}, separators=(",", ":"))
        if len(text) >= LINE_MAX:
            raise JournalError(
                f"{len(facts)} facts make a line of {len(text)} bytes, the journal takes {LINE_MAX}"
                "; note them in parts"
            )
        end = _end_of_lines(self._fd)
        try:
            if os.fstat(self._fd).st_size != end:
                os.ftruncate(self._fd, end)
            _write(self._fd, text.encode() + b"\n")
            os.fsync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, end)
            raise _unwritten(self.path, error) from error
        return os.fstat(self._fd).st_size

    def end(self) -> int:
        """The offset behind the last complete line."""
        return _end_of_lines(self._fd)

    def _read_header(self) -> tuple[str, int]:
        text = os.pread(self._fd, 4096, 0)
        line, feed, _ = text.partition(b"\n")
        first = len(line) + 1 if feed else 0
        try:
            header = json.loads(line)
            version, journal_id = header["version"], header["journal"]
        except (ValueError, KeyError, TypeError):
            # The id that a damaged line gets stays the same as long as the line does.
            return f"damaged-{zlib.crc32(line):08x}", first
        if version != VERSION or not isinstance(journal_id, str):
            raise JournalError(
                f"the journal {self.path} is of version {version}, this aerolog reads {VERSION}; "
                "install a newer one"
            )
        return journal_id[:32], first

    def _line(self, text: bytes, end: int) -> Line:
        where = f"{self.path} at offset {end - len(text)}"
        try:
            facts = json.loads(text)["facts"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return Line(end, problem=f"a line is damaged: {where}")
        if not isinstance(facts, list):
            return Line(end, problem=f"a line has no list of facts: {where}")
        return Line(end, facts)


def is_read_only(archive_dir: str | Path) -> bool:
    """Whether nothing can be noted in a folder's journal, which cannot be written or made."""
    path = Path(archive_dir) / JOURNAL_NAME
    return not os.access(path if path.exists() else path.parent, os.W_OK)


def _begin(path: Path, fd: int) -> None:
    """Write the first line of a journal that is new or whose first line was cut off."""
    if _end_of_lines(fd):
        return
    os.ftruncate(fd, 0)
    header = json.dumps({"journal": uuid.uuid4().hex, "version": VERSION})
    _write(fd, header.encode() + b"\n")
    os.fsync(fd)
    RealFileSystem().sync_dir(str(path.parent))


def _unwritten(path: Path, error: OSError) -> JournalError:
    return JournalError(
        f"the journal {path} cannot be written: {error.strerror}; nothing was noted"
    )


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _end_of_lines(fd: int) -> int:
    """The offset behind the last line feed of a file."""
    at = os.fstat(fd).st_size
    while at:
        start = max(at - 4096, 0)
        found = os.pread(fd, at - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        at = start
    return 0


def _pass_over(file: Any, at: int) -> int:
    """The offset behind the line feed that ends an overlong line; -1 when there is none."""
    while text := file.readline(LINE_MAX):
        at += len(text)
        if text.endswith(b"\n"):
            return at
    return -1
