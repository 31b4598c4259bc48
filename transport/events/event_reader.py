"""The thread that writes the events in the ring as lines of text.

A process has one such thread for each file, as long as a component logs to that file.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TextIO

from aerolog.transport.events.event_codes import split_code
from aerolog.transport.events.event_log import EventLog
from aerolog.transport.memory.error_text import format_time
from aerolog.transport.secrets import without_secrets
from aerolog.transport.text_output import write_text
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.concurrent.clock import Clock

    #: Makes the name and text of an event from its number and the bytes that were kept of it.
    Dissect = Callable[[int, bytes], tuple[str, str]]

_PAUSE_S: Final = 0.001
_BATCH: Final = 256
# Control characters in a client's channel or reason are escaped, so that they begin no new line.
_ESCAPES: Final = {code: f"\\x{code:02x}" for code in (*range(32), 127)}


def time_text(time_ns: int) -> str:
    """Format nanoseconds as seconds with nine decimals."""
    return f"{time_ns // NS_PER_S}.{time_ns % NS_PER_S:09d}"


class Output(Protocol):
    """The output for lines."""

    def write(self, text: str, /) -> int:
        """Write a text."""

    def flush(self) -> None:
        """Hand on what was written."""


class LineWriter:
    """Writes events as lines.

    Args:
        output: the output for the lines.
        components: for each number, the name with which lines begin, and the function that reads
            the component's events.
    """

    def __init__(self, output: Output, components: dict[int, tuple[str, Dissect]]) -> None:
        self._output = output
        self._components = components
        self._broken = False

    def started(self, time_ns: int, epoch_ms: int) -> None:
        """Write the line with which a log begins; it gives the time of day."""
        self.write(f"[{time_text(time_ns)}] log started {format_time(epoch_ms)}\n")

    def event(self, code: int, time_ns: int, length: int, kept: bytes) -> None:
        """Write the line of one event."""
        if self._broken:
            return
        component, event = split_code(code)
        name, dissect = self._components[component]
        event_name, text = dissect(event, kept)
        text = text.translate(_ESCAPES)
        self.write(f"[{time_text(time_ns)}] {name}: {event_name} [{len(kept)}/{length}]: {text}\n")

    def lost(self, time_ns: int, count: int) -> None:
        """Write a line that says how many events were lost because the ring was full."""
        self.write(f"[{time_text(time_ns)}] {count} events lost: the event buffer was full\n")

    def write(self, text: str) -> None:
        """Write text to the output; a failure is reported on stderr and ends all writing."""
        if self._broken:
            return
        try:
            self._output.write(without_secrets(text))
        except (OSError, ValueError) as error:
            self.give_up(error)

    def flush(self) -> None:
        """Hand on what was written."""
        if self._broken:
            return
        try:
            self._output.flush()
        except (OSError, ValueError) as error:
            self.give_up(error)

    def give_up(self, error: BaseException) -> None:
        """Write nothing any more, and say so on stderr."""
        self._broken = True
        write_text(f"WARNING: events are logged no more: {error}\n")


class EventReader:
    """The thread that writes the events in the ring as lines."""

    def __init__(
        self, log: EventLog, filename: str, components: dict[int, tuple[str, Dissect]], clock: Clock
    ) -> None:
        self._log = log
        self._clock = clock
        self._file = open_output(filename)
        self._writer = LineWriter(self._file or _Stdout(), components)
        self._stop = threading.Event()
        self._writer.started(clock.now_ns(), clock.now_epoch_ms())
        self._writer.flush()
        self._thread = threading.Thread(target=self._run, name="event-log-reader", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write the remaining events and end the thread."""
        self._stop.set()
        self._thread.join()
        if self._file is not None:
            self._file.close()

    def _run(self) -> None:
        while True:
            stopping = self._stop.is_set()
            if self._turn() == 0:
                if stopping:
                    return
                time.sleep(_PAUSE_S)

    def _turn(self) -> int:
        try:
            return self._write()
        except BaseException as error:  # noqa: BLE001 - the ring is emptied all the same
            self._writer.give_up(error)
            return 1

    def _write(self) -> int:
        count = self._log.read(self._writer.event, _BATCH)
        lost = self._log.take_lost()
        if lost > 0:
            self._writer.lost(self._clock.now_ns(), lost)
        if count or lost:
            self._writer.flush()
        return count


class _Stdout:
    """Standard output, which is looked up for each write because a program may replace it."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()


def open_output(filename: str) -> TextIO | None:
    """Open the file to append to; None stands for standard output.

    Raises:
        OSError: if the file cannot be opened.
    """
    if not filename:
        return None
    return Path(filename).open("a", encoding="utf-8", errors="backslashreplace")


@dataclass
class _Shared:
    """A log of this process with its reader, and the number of holds on it."""

    log: EventLog
    reader: EventReader
    components: dict[int, tuple[str, Dissect]]
    holders: int = 0
    pid: int = field(default_factory=os.getpid)


_lock: Final = threading.Lock()
_open: Final[dict[str, _Shared]] = {}


class HeldLog:
    """A hold on the log of a file; when the last hold is closed, the log's thread ends.

    A driver and an archive in one process that log to the same file share a log, so that its lines
    are in order.

    Args:
        filename: file to append to; empty for standard output.
        length: bytes of the ring; only the first hold of a log uses it.
        clock: gives the times of events; only the first hold of a log uses it.
        component: number of the component that holds the log.
        name: the name with which the component's lines begin.
        dissect: makes the name and text of the component's events.

    Attributes:
        log: the log for the component's events.

    Raises:
        ConfigurationError: if the ring cannot have this length.
        OSError: if the file cannot be opened.
    """

    def __init__(
        self,
        filename: str,
        length: int,
        clock: Clock,
        *,
        component: int,
        name: str,
        dissect: Dissect,
    ) -> None:
        self._key = str(Path(filename).absolute()) if filename else ""
        self._closed = False
        with _lock:
            shared = _open.get(self._key)
            if shared is not None and shared.pid != os.getpid():
                shared = None  # it belongs to the parent, whose thread does not run in this process
            if shared is None:
                log = EventLog(length, clock)
                components = {component: (name, dissect)}
                shared = _Shared(log, EventReader(log, filename, components, clock), components)
                _open[self._key] = shared
            shared.components[component] = (name, dissect)
            shared.holders += 1
            self._shared = shared
        self.log = shared.log

    def close(self) -> None:
        """Release the hold; further calls do nothing."""
        with _lock:
            if self._closed or self._shared.pid != os.getpid():
                return
            self._closed = True
            self._shared.holders -= 1
            if self._shared.holders > 0:
                return
            if _open.get(self._key) is self._shared:
                del _open[self._key]
        self._shared.reader.close()
