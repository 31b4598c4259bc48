"""The journal of retention: a line of JSON before and after each step, and for each hold.

Each line is durable before the action that it announces begins, and ends with its own checksum, so
that a line that a crash truncated is ignored. A process that appends holds the step lock
(`aerolog.archive.retention.holds.step_lock`). A journal that has become too long is replaced by one
line that summarises it. The format is described in docs/archive/retention.md.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from aerolog.archive.retention.errors import JournalDamagedError, NoRoomError
from aerolog.archive.retention.retention_folder import (
    folder_path,
    journal_path,
    make_folder,
    with_room,
)
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERSION: Final = 1
#: Bytes above which the next run replaces the journal by a summary.
LENGTH_MAX: Final = 4 * 1024 * 1024
#: Most bytes in a line; a longer one is damaged.
LINE_MAX: Final = 1024 * 1024

RUN_BEGIN: Final = "run-begin"
RUN_END: Final = "run-end"
STEP_BEGIN: Final = "step-begin"
STEP_END: Final = "step-end"
HOLD: Final = "hold"
RELEASE: Final = "release"
SUMMARY: Final = "summary"

#: Outcomes of a step.
DONE: Final = "done"
REFUSED: Final = "refused"
HELD: Final = "held"
NOT_DONE: Final = "not done"

_CRC: Final = ',"crc":"'


@dataclass(slots=True)
class Run:
    """A run, with its times and what it deleted.

    Attributes:
        run: the run's number.
        begin_ms: when it began, epoch milliseconds.
        end_ms: when it ended, None when it was interrupted or is active.
        files: number of deleted segment files.
        bytes: length of these files.
        refused: number of steps that the archive refused.
        error: why it ended early, None when it did not.
        boot: the machine's boot id when it began, see ``clock``.
        uptime_ns: the machine's uptime when it began.
    """

    run: int
    begin_ms: int
    end_ms: int | None = None
    files: int = 0
    bytes: int = 0
    refused: int = 0
    error: str | None = None
    boot: str = ""
    uptime_ns: int = 0


@dataclass(slots=True)
class JournalState:
    """The state that results from all lines of a journal.

    Attributes:
        last_ms: the latest time in it, None for an empty journal.
        last_run: the latest run.
        runs: number of runs.
        files: number of files deleted in all runs.
        bytes: length of these files.
        unfinished: steps that have begun but not ended, by their numbers.
        holds: fields of holds that were added and not released, by recording and reason.
        steps: number of steps begun.
        problems: descriptions of damaged lines.
    """

    last_ms: int | None = None
    last_run: Run | None = None
    runs: int = 0
    files: int = 0
    bytes: int = 0
    unfinished: dict[int, dict[str, Any]] = field(default_factory=dict)
    holds: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)
    steps: int = 0
    problems: list[str] = field(default_factory=list)

    def take(self, line: dict[str, Any]) -> None:
        """Update the state with a line.

        Raises:
            KeyError, TypeError, ValueError: the line is not a journal line.
        """
        at_ms = line["at_ms"]
        if not isinstance(at_ms, int):
            raise TypeError("at_ms")
        self._TAKERS[line["event"]](self, line)
        self.last_ms = at_ms if self.last_ms is None else max(self.last_ms, at_ms)

    def _run_begin(self, line: dict[str, Any]) -> None:
        self.last_run = Run(
            int(line["run"]),
            line["at_ms"],
            boot=str(line["boot"]),
            uptime_ns=int(line["uptime_ns"]),
        )
        self.runs = max(self.runs, self.last_run.run)

    def _run_end(self, line: dict[str, Any]) -> None:
        run = self.last_run
        if run is not None and run.run == line["run"]:
            run.end_ms = line["at_ms"]
            run.error = line.get("error")

    def _step_begin(self, line: dict[str, Any]) -> None:
        self.steps = max(self.steps, int(line["step"]))
        self.unfinished[int(line["step"])] = line

    def _step_end(self, line: dict[str, Any]) -> None:
        self.unfinished.pop(int(line["step"]), None)
        files, size = int(line["files"]), int(line["bytes"])
        self.files += files
        self.bytes += size
        if self.last_run is not None:
            self.last_run.files += files
            self.last_run.bytes += size
            self.last_run.refused += line["outcome"] == REFUSED

    def _hold(self, line: dict[str, Any]) -> None:
        self.holds[int(line["recording_id"]), str(line["reason"])] = {
            name: line[name] for name in ("recording_id", "reason", "until_ms", "since_ms")
        }

    def _release(self, line: dict[str, Any]) -> None:
        recording_id, reason = int(line["recording_id"]), line["reason"]
        for key in list(self.holds):
            if key[0] == recording_id and reason in (None, key[1]):
                del self.holds[key]

    def _summary(self, line: dict[str, Any]) -> None:
        self.runs, self.steps = int(line["runs"]), int(line["steps"])
        self.files, self.bytes = int(line["files"]), int(line["bytes"])
        run = line["last_run"]
        self.last_run = None if run is None else Run(**run)
        self.unfinished = {int(one["step"]): one for one in line["unfinished"]}
        self.holds = {(int(h["recording_id"]), str(h["reason"])): h for h in line["holds"]}

    def summary(self) -> dict[str, Any]:
        """Return the fields of a line that summarises all lines so far."""
        run = self.last_run
        fields = {} if run is None else {name: getattr(run, name) for name in Run.__slots__}
        return {
            "runs": self.runs,
            "steps": self.steps,
            "files": self.files,
            "bytes": self.bytes,
            "last_run": None if run is None else fields,
            "unfinished": list(self.unfinished.values()),
            "holds": list(self.holds.values()),
        }

    #: What takes a line, by the line's event.
    _TAKERS: ClassVar[dict[str, Callable[[JournalState, dict[str, Any]], None]]] = {
        RUN_BEGIN: _run_begin,
        RUN_END: _run_end,
        STEP_BEGIN: _step_begin,
        STEP_END: _step_end,
        HOLD: _hold,
        RELEASE: _release,
        SUMMARY: _summary,
    }


class Journal:
    """The journal of a folder; a folder need not have one.

    Attributes:
        path: path of the file.
        state: the state that results from the lines read so far.
    """

    def __init__(self, archive_dir: str | Path, files: FileSystem) -> None:
        self.path = journal_path(archive_dir)
        self._archive_dir = archive_dir
        self._files = files
        self._end = 0
        self.state = JournalState()
        self.catch_up()

    @classmethod
    def open(cls, archive_dir: str | Path, files: FileSystem | None = None) -> Self:
        """Read the journal of a folder; a missing journal is not created.

        Raises:
            JournalDamagedError: the journal has an unknown version.
            OSError: the journal cannot be read.
        """
        return cls(archive_dir, files or RealFileSystem())

    def catch_up(self) -> None:
        """Read the lines that other processes have appended."""
        try:
            size = self._files.size(self.path)
            with self._files.open_data_file(self.path) as file:
                data = file.read_at(max(size - self._end, 0), self._end) if size else b""
        except FileNotFoundError:
            return
        whole = data.rfind(b"\n") + 1
        for raw in data[:whole].splitlines():
            self._take(raw)
        self._end += whole

    def _take(self, raw: bytes) -> None:
        line = _decoded(raw)
        if line is not None and line.get("v") != VERSION:
            raise JournalDamagedError(
                f"{self.path} has lines of version {line.get('v')}, this aerolog reads {VERSION}:"
                " install a newer one"
            )
        try:
            if line is None:
                raise ValueError("checksum")
            self.state.take(line)
        except (KeyError, TypeError, ValueError):
            if raw.strip():
                self.state.problems.append(f"{self.path}: a line is damaged: {raw[:80]!r}")

    def append(self, event: str, at_ms: int, **fields: Any) -> None:
        """Append a line and make it durable; the caller holds the step lock.

        Args:
            event: name of the event.
            at_ms: time of the event, epoch milliseconds.
            **fields: fields of the event, plain values.

        Raises:
            NoRoomError, JournalDamagedError: the line could not be written; the caller must not
                go on.
        """
        try:
            make_folder(self._archive_dir, self._files)
            self.catch_up()
            line = _encoded({"v": VERSION, "at_ms": at_ms, "event": event, **fields})
            with_room(self._archive_dir, self._files, lambda: self._write(line))
        except NoRoomError:
            raise
        except OSError as error:
            raise JournalDamagedError(
                f"{self.path} cannot be written: {error.strerror or error}; without it nothing is"
                " deleted: make room, or make the folder writable"
            ) from error
        self._end += len(line)
        self._take(line[:-1])

    def _write(self, line: bytes) -> None:
        created = not self._files.exists(self.path)
        with self._files.open_data_file(self.path, writable=True, create=True) as file:
            if file.file_size() > self._end:
                file.set_length(self._end)  # drop a line that a crash truncated
            try:
                file.write_at(line, self._end)
                file.flush(2)
            except OSError:
                file.set_length(self._end)
                raise
        if created:
            self._files.sync_dir(folder_path(self._archive_dir))

    def shorten(self, at_ms: int, length_max: int = LENGTH_MAX) -> bool:
        """Replace a journal that is too long by a summary; the caller holds the step lock.

        Returns:
            Whether the journal was too long.

        Raises:
            NoRoomError, JournalDamagedError: the new journal could not be written; the old one
                remains.
        """
        self.catch_up()
        if self._end <= length_max:
            return False
        line = _encoded({"v": VERSION, "at_ms": at_ms, "event": SUMMARY, **self.state.summary()})
        new = self.path + ".new"
        try:
            if self._files.exists(new):
                self._files.remove(new)
            with_room(self._archive_dir, self._files, lambda: self._write_new(new, line))
            self._files.rename(new, self.path)
            self._files.sync_dir(folder_path(self._archive_dir))
        except NoRoomError:
            raise
        except OSError as error:
            raise JournalDamagedError(
                f"{new} cannot be written: {error.strerror or error}: make room, or make the folder"
                " writable"
            ) from error
        self._end = len(line)
        return True

    def _write_new(self, path: str, line: bytes) -> None:
        with self._files.open_data_file(path, writable=True, create=True) as file:
            file.write_at(line, 0)
            file.flush(2)


def _encoded(line: dict[str, Any]) -> bytes:
    body = json.dumps(line, separators=(",", ":"))
    return f'{body[:-1]}{_CRC}{zlib.crc32(body.encode()):08x}"}}\n'.encode()


def _decoded(raw: bytes) -> dict[str, Any] | None:
    """Return the fields of a line without its checksum, None when it is damaged."""
    text = raw.decode("utf-8", "replace")
    head, found, tail = text.rpartition(_CRC)
    if not found or len(raw) > LINE_MAX or tail != f'{zlib.crc32((head + "}").encode()):08x}"}}':
        return None
    try:
        line = json.loads(head + "}")
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None
