"""The objects that all parts of an archive use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from aerolog.archive.format.catalog_file import CatalogFile
    from aerolog.archive.service.counters import ArchiveCounters
    from aerolog.archive.service.properties import ArchiveConfig
    from aerolog.archive.service.recorder.time_indexes import Times
    from aerolog.archive.service.reporter import ArchiveReporter
    from aerolog.transport.agents.doorbell import Doorbell
    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.filesystem import FileSystem


@dataclass(slots=True)
class ArchiveContext:
    """The clients, files, clocks and settings that each part of an archive is given.

    Attributes:
        archive_id: the archive's id, which its counters carry.
        aeron: the archive's client, whose duty cycle the conductor runs.
        doorbell: rung by recorder and replayer to wake the conductor.
        random: source of session ids and replay tokens.
        times: the time indexes of recordings.
    """

    archive_id: int
    config: ArchiveConfig
    aeron: Aeron
    clock: Clock
    files: FileSystem
    catalog: CatalogFile
    counters: ArchiveCounters
    reporter: ArchiveReporter
    doorbell: Doorbell
    random: Random
    times: Times

    def now_ms(self) -> int:
        """Return the wall-clock time, epoch milliseconds."""
        return self.clock.now_epoch_ms()

    def now_ns(self) -> int:
        """Return the monotonic time, nanoseconds."""
        return self.clock.now_ns()
