"""All sources of one process, collected one after the other into one set of metrics."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from aerolog._version import __version__
from aerolog.tools.metrics.archive_metrics import ArchiveSource
from aerolog.tools.metrics.driver_metrics import DriverReader, DriverSource, MetricSource
from aerolog.tools.metrics.samples import Collected, Samples
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.resource import Resource
from aerolog.transport.secrets import repr_without_secrets
from aerolog.transport.time_units import NS_PER_S

#: Label sets of a kind that are told apart, by default.
DEFAULT_LIMIT = 200
#: How often a folder with recordings, or a database, is read at most, by default.
DEFAULT_INTERVAL_S = 15.0


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class MetricSources:
    """What to collect from.

    Attributes:
        aeron_dirs: the directories of drivers.
        archive_dirs: the folders of archives; their drivers are found by them.
        catalogs: URLs of SQL catalogs.
        limit: label sets of a kind that are told apart.
        interval_s: how often folders with recordings, and databases, are read at most.
    """

    aeron_dirs: tuple[str, ...] = ()
    archive_dirs: tuple[str, ...] = ()
    catalogs: tuple[str, ...] = ()
    limit: int = DEFAULT_LIMIT
    interval_s: float = DEFAULT_INTERVAL_S


class Exporter(Resource):
    """Collects; threads may share it. A context manager.

    Attributes:
        clock: tells the time of what is collected.
    """

    def __init__(self, watched: MetricSources, clock: Clock | None = None) -> None:
        self.clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._limit = watched.limit
        self._readers: dict[str, DriverReader] = {}
        interval_ms = round(watched.interval_s * 1000)
        self._sources: list[MetricSource] = [
            DriverSource(self._reader(one), watched.limit)
            for one in dict.fromkeys(watched.aeron_dirs)
        ]
        self._sources += [
            ArchiveSource(one, self._reader, watched.limit, interval_ms)
            for one in dict.fromkeys(watched.archive_dirs)
        ]
        if watched.catalogs:
            from aerolog.tools.metrics.catalog_metrics import CatalogSource

            self._sources += [
                CatalogSource(one, watched.limit, interval_ms)
                for one in dict.fromkeys(watched.catalogs)
            ]

    def _reader(self, aeron_dir: str) -> DriverReader:
        return self._readers.setdefault(aeron_dir, DriverReader(aeron_dir))

    def collect(self) -> list[Collected]:
        """All metrics as they are now."""
        with self._lock:
            begin_ns = self.clock.now_ns()
            samples = Samples(self.clock.now_epoch_ms())
            for source in self._sources:
                source.collect(samples)
            samples.add("exporter_info", 1, __version__)
            samples.add("exporter_label_limit", self._limit)
            samples.add("exporter_collect_seconds", (self.clock.now_ns() - begin_ns) / NS_PER_S)
            return list(samples.collected())

    def close(self) -> None:
        """Lets go of all sources."""
        with self._lock:
            for source in self._sources:
                source.close()
            for reader in self._readers.values():
                reader.close()
