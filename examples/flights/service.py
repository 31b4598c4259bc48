"""An archiving driver as a child process, small enough for a 64 MiB ``/dev/shm``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.driver_process import DriverProcess

if TYPE_CHECKING:
    from pathlib import Path

# Everything but the counters' share of cnc.dat at its smallest: 10 MiB in all.
PROPERTIES = {
    "aeron.counters.buffer.length": "1m",
    "aeron.error.buffer.length": "4m",
    "aeron.archive.segment.file.length": "16m",
    "aeron.archive.control.channel.enabled": "false",
    "aeron.archive.recording.events.enabled": "false",
    "aeron.archive.replication.channel": "aeron:ipc",
}


def archiving_driver(archive_dir: Path) -> DriverProcess:
    """A driver with an archive in a folder, which stays."""
    properties = PROPERTIES | {"aeron.archive.dir": str(archive_dir)}
    return DriverProcess("archiving-driver", properties, "aerolog-flights-")
