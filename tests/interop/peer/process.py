"""Child processes of tests: started with their output kept, ended by pid and waited for."""

import contextlib
import itertools
import os
import queue
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from peer.artifact import cache_dir
from peer.process_ends import Entries, error_entries, is_crash, undeclared

LOG_LINES = 25
LOG_COLUMNS = 200
_numbers = itertools.count(1)
_started: list["ServerProcess"] = []
_watched: list["ServerProcess"] = []  # those whose end no test was asked about yet
#: What tests have declared and that happened, since somebody emptied it: parts of entries, ENDS.
matched: set[str] = set()
ENDS = "processes_end"


def recent_logs() -> list[tuple[str, str]]:
    """Name and last output of the processes that run, and of the one started last."""
    shown = []
    for process in _started:
        if process.running or process is _started[-1]:
            count = 10 if process.name == "java-client" else LOG_LINES
            lines = [line[:LOG_COLUMNS] for line in process.log().splitlines()[-count:]]
            shown.append((process.name, "\n".join(lines)))
    return shown


def run_quietly(*command: str) -> str:
    """A short command; its output.

    Raises:
        OSError: it is not installed, or it failed, with what it said.
    """
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def complaints(declared: Iterable[str], *, may_end: bool = False) -> list[str]:
    """What processes did since the last call that no test asked for or declared.

    Args:
        declared: parts of the error log entries that the present test expects.
        may_end: whether the present test has processes end by themselves.
    """
    parts = set(declared)
    if may_end:
        for process in _watched:
            if process.has_ended_unasked:
                matched.add(ENDS)
            process.expect_end()
    found = [line for process in _watched for line in process.complaints(parts)]
    _watched[:] = [process for process in _watched if process.running]
    return found


class ServerProcess:
    """A child with a pipe to its input, its standard output read line by line, a log of both.

    The child is expected to end when its input does, or on SIGTERM (``stop_by_signal``), with the
    code 0. Its end and the entries in its error logs are looked at after each test.

    Args:
        name: what messages call the process.
        command: the command line.
        folders: where the process has its error logs.
        env: the environment; this process's when None.
        cwd: the working directory.
        stop_by_signal: whether SIGTERM ends the process in good order.
        on_stop: called once the process has ended.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        *,
        folders: Iterable[Path] = (),
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        stop_by_signal: bool = False,
        on_stop: Iterable[Callable[[], None]] = (),
    ) -> None:
        self.name = name
        self.command = command
        self._stop_by_signal = stop_by_signal
        self._on_stop = list(on_stop)
        folder = cache_dir() / "logs"
        folder.mkdir(exist_ok=True)
        self.log_path = folder / f"{os.getpid()}-{next(_numbers)}-{name}.log"
        _started.append(self)
        _watched.append(self)
        self._folders = tuple(folders)
        self._entries: Entries = error_entries(self._folders)
        self._new: Entries = Counter()
        self._declared: set[str] = set()
        self._is_end_asked = False
        self._may_end = False
        self._bad_code: int | None = None
        self._log = self.log_path.open("ab", buffering=0)
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.on_line: Callable[[str | None], None] = self._lines.put
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=env,
            cwd=cwd,
        )
        self._reader = threading.Thread(target=self._read, name=f"{name}-output", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether the child has not ended."""
        return self.process.poll() is None

    @property
    def has_ended_unasked(self) -> bool:
        """Whether the child has ended, or ended badly, and no test has asked for that."""
        is_bad = self._bad_code is not None and not self._may_end
        return not self.running and (is_bad or not self._is_end_asked)

    def log(self) -> str:
        """Everything the child has printed so far."""
        return self.log_path.read_text(errors="replace")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            self._log.write(raw)
            self.on_line(raw.decode(errors="replace").rstrip("\n"))
        self.on_line(None)

    def next_line(self, timeout: float = 60.0) -> str:
        """The next line of standard output; fails with the log when the child ends first."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(
                f"{self.name} printed no line within {timeout:g} s; its log:\n{self.log()}"
            ) from None
        if line is None:
            self.expect_end()  # whoever waits for the line hears of it here
            self.process.wait(timeout=10)
            raise AssertionError(
                f"{self.name} ended with {self.process.returncode}; its log:\n{self.log()}"
            )
        return line

    def wait_line(self, wanted: str, timeout: float = 60.0) -> str:
        """The first line that contains ``wanted``."""
        deadline = time.monotonic() + timeout
        while wanted not in (line := self.next_line(max(0.01, deadline - time.monotonic()))):
            pass
        return line

    def write_line(self, text: str) -> None:
        """One line to the child's standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def expect_end(self) -> None:
        """Say that the process ends by itself, with any exit code."""
        self._is_end_asked = self._may_end = True

    def complaints(self, declared: set[str]) -> list[str]:
        """What was neither asked for nor declared: an end, an exit code, entries of error logs."""
        self._declared |= declared
        self._look()
        new, self._new = self._new, Counter()
        matched.update(part for part in self._declared for _, text in new if part in text)
        found = [f"{self.name}: {line}" for line in undeclared(new, self._declared)]
        is_unasked = self.has_ended_unasked
        code = self.process.poll()
        if is_unasked or is_crash(code):
            found.append(f"{self.name} ended with {code}; its log:\n{self.log()[-4000:]}")
        return found

    def _look(self) -> None:
        """Note what is new in the error logs."""
        entries = error_entries(self._folders)
        self._new += entries - self._entries
        self._entries |= entries

    def wait(self, timeout: float = 60.0) -> int:
        """The exit code; fails when the child is still running after ``timeout`` seconds."""
        self._is_end_asked = True
        try:
            code = self.process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"{self.name} still runs after {timeout:g} s; its log:\n{self.log()}"
            ) from None
        self._release()
        return code

    def terminate(self, timeout: float = 60.0) -> int:
        """SIGTERM, then the exit code."""
        self.process.terminate()
        return self.wait(timeout)

    def kill(self) -> int:
        """SIGKILL, then the exit code."""
        self.process.kill()
        return self.wait()

    def stop(self, timeout: float = 60.0) -> int:
        """A clean end, by closing the input or by SIGTERM; SIGKILL and a failure when it hangs."""
        was_asked = self._is_end_asked
        if self.running:
            if self._stop_by_signal:
                self.process.terminate()
            else:
                assert self.process.stdin is not None
                with contextlib.suppress(BrokenPipeError):
                    self.process.stdin.close()
        try:
            return self.wait(timeout)
        except AssertionError:
            self.kill()
            raise
        finally:
            if not was_asked:
                self._bad_code = self.process.returncode or None

    def _release(self) -> None:
        self._reader.join(timeout=10)
        self._look()
        for stream in (self.process.stdin, self.process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        while self._on_stop:
            self._on_stop.pop()()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.running:
            self.kill()
        else:
            self.wait()
