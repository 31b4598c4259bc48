"""Drivers in the test's process, and the lines that they have logged."""

from __future__ import annotations

import re
import shutil
import time
from typing import TYPE_CHECKING

import pytest
from peer.streams import free_port
from shared_memory import memory_path

from aerolog.transport.client import Aeron
from aerolog.transport.driver import MediaDriver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE_S = 30.0
LINE = re.compile(r"\[\d+\.\d{9}\] (DRIVER|ARCHIVE): (\w+) \[(\d+)/(\d+)\]: (.*)")


class Logged:
    """A driver that logs to a file, with a client.

    Attributes:
        driver: of the test's process.
        aeron: its client.
        path: the file.
    """

    def __init__(self, path: Path, directory: Path, **options: object) -> None:
        self.path = path
        self.driver = MediaDriver(
            directory,
            threading_mode="SHARED",
            counters_buffer_length="1m",
            term_buffer_length="64k",
            ipc_term_buffer_length="64k",
            timer_interval=0.05,
            publication_linger_timeout=0.05,
            image_liveness_timeout=2,
            event_log_filename=path,
            **options,
        )
        self.aeron = Aeron.connect(str(directory))

    def lines(self) -> list[tuple[str, str]]:
        """Name and text of every line of an event."""
        matches = [LINE.fullmatch(line) for line in self.path.read_text().splitlines()]
        return [(match[2], match[5]) for match in matches if match]

    def of(self, name: str) -> list[str]:
        """Texts of the lines of one event."""
        return [text for found, text in self.lines() if found == name]

    def wait(self, name: str, part: str = "") -> str:
        """The first line of an event that contains a text; fails when it does not come."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = [text for text in self.of(name) if part in text]
            if found:
                return found[0]
            assert time.monotonic() < deadline, f"no {name} with {part!r} in {self.lines()}"
            time.sleep(0.002)

    def close(self) -> None:
        """End client and driver; all lines are written then."""
        self.aeron.close()
        self.driver.close()


@pytest.fixture
def directory() -> Iterator[Path]:
    """An Aeron directory that is not there yet."""
    path = memory_path("events")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def logged(tmp_path: Path, directory: Path) -> Iterator[Callable[..., Logged]]:
    """Starts a driver with properties by keyword."""
    made: list[Logged] = []

    def make(**options: object) -> Logged:
        made.append(Logged(tmp_path / "events.log", directory, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def endpoint() -> str:
    """An address that nobody listens on now."""
    return f"127.0.0.1:{free_port()}"
