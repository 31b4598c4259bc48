"""What the parts of an archive share, and what they ask of each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from aerolog.archive.format.catalog_file import CatalogFile
    from aerolog.archive.service.counters import ArchiveCounters
    from aerolog.archive.service.properties import ArchiveConfig
    from aerolog.archive.service.recorder.time_indexes import Times
    from aerolog.archive.service.reporter import Reporter
    from aerolog.archive.service.session_table import Doorbell
    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.filesystem import FileSystem


@dataclass(slots=True)
class ArchiveContext:
    """The archive's surroundings, given to each of its parts.

    Attributes:
        archive_id: of the archive.
        aeron: the archive's client, turned by the conductor.
        doorbell: rung by recorder and replayer for the conductor.
        random: for ids of sessions and replay tokens.
        times: the time indexes of recordings.
    """

    archive_id: int
    config: ArchiveConfig
    aeron: Aeron
    clock: Clock
    files: FileSystem
    catalog: CatalogFile
    counters: ArchiveCounters
    reporter: Reporter
    doorbell: Doorbell
    random: Random
    times: Times

    def now_ms(self) -> int:
        """Wall-clock time, epoch milliseconds."""
        return self.clock.now_epoch_ms()

    def now_ns(self) -> int:
        """Monotonic time."""
        return self.clock.now_ns()
