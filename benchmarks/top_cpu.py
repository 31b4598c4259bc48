"""What the dashboard costs at a thousand streams that all move: processor time of its process.

The driver's files are real and its streams made up, so that the figure has no driver in it. The
dashboard runs in a pseudo-terminal that is read as fast as it writes.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.cnc_header import CncHeader, CncLengths
from aerolog.transport.memory.filesystem import RealFileSystem
from benchmarks.folders import memory_folder, temporary_folder
from benchmarks.processes import processor_share
from benchmarks.result import BenchmarkFailedError, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.transport.memory.counters import CountersManager

STREAMS = 1000
LIMIT = 5.0
WARM_UP_S = 5.0
MEASURED_S = 20.0
STARTED_S = 30.0
STEP_S = 0.1
SIZES = ((80, 24), (160, 50))
SYSTEM_COUNTERS = 46
CLIENT_LIVENESS_NS = 10_000_000_000
#: Type and name of every counter of a network stream with both ends in one driver.
COUNTERS = (
    (12, "pub-pos (concurrent)"),
    (1, "pub-lmt"),
    (2, "snd-pos"),
    (9, "snd-lmt"),
    (13, "snd-bpe"),
    (19, "snd-naks-received"),
    (4, "sub-pos"),
    (3, "rcv-hwm"),
    (5, "rcv-pos"),
    (20, "rcv-naks-sent"),
)
EVENTS = frozenset({13, 19, 20})


def watch() -> list[Result]:
    """Percent of a core at each size of the terminal, looking once a second."""
    results = []
    for columns, lines in SIZES:
        with temporary_folder(memory_folder()) as folder:
            driver = MadeUpDriver(folder, STREAMS)
            with driver.running(), _dashboard(folder, columns, lines) as screen:
                screen.wait_for(f"Streams {STREAMS / 1000:.2f}k", STARTED_S)
                time.sleep(WARM_UP_S)
                share = screen.processor_share(MEASURED_S)
        name = f"top-{columns}x{lines}"
        results.append(Result(name, "% of a core", share, LIMIT, "the limit", True))
    return results


class MadeUpDriver:
    """Files of a driver with that many streams, and a thread that moves all of them.

    Args:
        folder: the driver's directory.
        streams: how many.
    """

    def __init__(self, folder: str, streams: int) -> None:
        header = CncHeader(
            CncLengths(), CLIENT_LIVENESS_NS, time.time_ns() // 1_000_000, os.getpid()
        )
        self._cnc = CncFile.create(RealFileSystem(), folder, header)
        self._moving: list[tuple[int, int]] = []
        counters = self._cnc.counters_manager(SystemClock())
        self._counters = counters
        for counter in range(SYSTEM_COUNTERS):
            label, key = f"system counter {counter}", struct.pack("<i", counter)
            counters.allocate(CounterType.SYSTEM, label, key, counter, -1)
        for stream in range(streams):
            self._add_stream(counters, stream)
        self._beat()
        self._cnc.publish()
        self._stop = threading.Event()

    def _add_stream(self, counters: CountersManager, stream: int) -> None:
        registration, session, stream_id = 10 * stream + 100, 7_000_000 + stream, 1000 + stream
        channel = "aeron:udp?endpoint=224.20.30.39:54326|interface=10.0.0.0/8"
        text = channel.encode()
        for type_id, name in COUNTERS:
            of_image = type_id in {
                CounterType.RECEIVER_HWM,
                CounterType.SUBSCRIBER_POSITION,
                CounterType.RECEIVER_POSITION,
                CounterType.RECEIVER_NAKS_SENT,
            }
            number = registration + (
                2 if type_id == CounterType.SUBSCRIBER_POSITION else 1 if of_image else 0
            )
            key = struct.pack("<qiii", number, session, stream_id, len(text)) + text
            label = f"{name}: {number} {session} {stream_id} {channel}"
            reference = registration + 1 if type_id == CounterType.SUBSCRIBER_POSITION else 0
            counter = counters.allocate(type_id, label, key, number, 1, reference)
            step = stream % 3 if type_id in EVENTS else 1_408 * (stream + 1)
            self._moving.append((counter, step))

    def _beat(self) -> None:
        self._cnc.to_driver.consumer_heartbeat_ms = time.time_ns() // 1_000_000

    @contextmanager
    def running(self) -> Iterator[None]:
        """Moves all streams while the block runs."""
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        while not self._stop.wait(STEP_S):
            self._beat()
            for counter, step in self._moving:
                self._counters.get_and_add(counter, step)


@contextmanager
def _dashboard(folder: str, columns: int, lines: int) -> Iterator[Screen]:
    """The dashboard on a terminal of that size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    command = [str(Path(sys.executable).with_name("aerolog")), "top", "--aeron-dir", folder]
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    screen = Screen(ours, process)
    try:
        yield screen
    finally:
        process.terminate()
        process.wait()
        screen.close()


class Screen:
    """What the dashboard writes, read by a thread of its own."""

    def __init__(self, terminal: int, process: subprocess.Popen[bytes]) -> None:
        self._terminal = terminal
        self._process = process
        self._written = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                self._written += os.read(self._terminal, 65_536)
            except OSError:  # the other side is closed
                return

    def wait_for(self, text: str, seconds: float) -> None:
        """Waits until this was written."""
        deadline = time.monotonic() + seconds
        while text.encode() not in self._written:
            if time.monotonic() > deadline or self._process.poll() is not None:
                shown = self._written[-500:].decode(errors="replace")
                raise BenchmarkFailedError(f"top did not show {text!r}: {shown!r}")
            time.sleep(STEP_S)

    def processor_share(self, seconds: float) -> float:
        """Percent of a core over that time."""
        return processor_share(self._process.pid, seconds)

    def close(self) -> None:
        """Ends the reading; the process has ended before."""
        self._reader.join()
        os.close(self._terminal)
