"""An archive of ours that runs in the test's process, with little of everything."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from aerolog.archive.service import ArchivingMediaDriver
from aerolog.transport.config.sources import Properties

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STREAM_ID = 77
CHANNEL = "aeron:ipc?term-length=64k"
SETTINGS = (
    "aeron.counters.buffer.length=1m",
    "aeron.ipc.term.buffer.length=64k",
    "aeron.archive.segment.file.length=64k",
    "aeron.archive.control.channel.enabled=false",
    "aeron.archive.recording.events.enabled=false",
    "aeron.archive.replication.channel=aeron:ipc",
)


def until(
    done: Callable[[], object],
    what: str = "what was to come",
    *,
    patience_s: float = 30.0,
    pause_s: float = 0.001,
) -> None:
    """Wait for a condition; fails when it does not come in time."""
    deadline = time.monotonic() + patience_s
    while not done():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(pause_s)


def archiving(aeron_dir: Path, archive_dir: Path, *more: str) -> ArchivingMediaDriver:
    """A driver with an archive; further settings as on a command line, without ``-D``."""
    properties = Properties.from_command_line([f"-D{setting}" for setting in (*SETTINGS, *more)])
    return ArchivingMediaDriver(aeron_dir, archive_dir, properties=properties)
