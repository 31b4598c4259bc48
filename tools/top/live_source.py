"""Looks at a live driver and its archive: opens their files, follows when they go and come."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.tools.top.companion_text import (
    health_words,
    index_words,
    is_bad,
    is_failed,
    retention_words,
)
from aerolog.tools.top.measurement import (
    ArchiveFigures,
    CycleHistogram,
    DriverFigures,
    DriverState,
    Reading,
)
from aerolog.tools.top.running_sessions import (
    ReplayFinder,
    recordings_of,
    stopped_recordings,
)
from aerolog.tools.top.stream_tracker import StreamsFollower
from aerolog.tools.top.text_lines import clean
from aerolog.tools.views.archive_view import ArchiveView
from aerolog.tools.views.driver_view import DriverView, map_readonly
from aerolog.tools.views.errors import ViewError
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.aeron_directory import unconfigured_aeron_dir
from aerolog.transport.memory.cycle_histograms import FILE_NAME as CYCLES_FILE
from aerolog.transport.memory.cycle_histograms import read_cycles
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.tools.views.archive_view import RecordingView
    from aerolog.tools.views.companion_views import HealthView, IndexView, RetentionView
    from aerolog.tools.views.driver_view import LossEntry, ObservedError
    from aerolog.transport.memory.mapped_file import MappedFile

#: Seconds between two readings of errors and losses, which change seldom.
_SELDOM_S: Final = 2.0
#: Seconds between two readings of a catalog, and the least of the time that it may take.
_CATALOG_S: Final = 3.0
_CATALOG_SHARE: Final = 50


class LiveSource:
    """Readings of the driver that runs in a directory, and of an archive's folder.

    A driver that dies leaves its last counters; one that starts anew is opened by itself.

    Args:
        aeron_dir: the driver's directory; a driver's default when None.
        archive_dir: the archive's folder, None when there is none to look at.
        clock: tells the time; the machine's by default.
    """

    def __init__(
        self,
        aeron_dir: str | Path | None = None,
        archive_dir: str | Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.aeron_dir = str(unconfigured_aeron_dir() if aeron_dir is None else aeron_dir)
        self._clock = clock or SystemClock()
        self._view: DriverView | None = None
        self._follower = StreamsFollower()
        self._replays = ReplayFinder()
        self._archive = None if archive_dir is None else _Archive(str(archive_dir), self._clock)
        self._cycles_file: MappedFile | None = None
        self._seldom_ns: int | None = None
        self._errors: Sequence[ObservedError] = ()
        self._archive_errors: Sequence[ObservedError] = ()
        self._losses: Sequence[LossEntry] = ()

    def look(self) -> Reading:
        """One look; a directory without a driver is told in the reading, not raised."""
        at_ns, wall_ms = self._clock.now_ns(), self._clock.now_epoch_ms()
        try:
            view = self._opened()
        except ViewError as error:
            absent = DriverFigures(self.aeron_dir, DriverState.ABSENT, trouble=str(error))
            return Reading(at_ns, wall_ms, absent)
        driver = _driver(view, wall_ms)
        snapshot = view.counters()
        self._follower.take(snapshot)
        self._look_seldom(view, at_ns)
        catalog = self._archive.look() if self._archive is not None else _NO_CATALOG
        health = {recording_id: one.state for recording_id, one in catalog.health.items()}
        recordings = recordings_of(snapshot, catalog.descriptors, catalog.archive_id, health)
        written = {
            one.recording_id: one.position
            for one in recordings
            if one.archive_id in {catalog.archive_id, None}
        }
        return Reading(
            at_ns,
            wall_ms,
            driver,
            snapshot,
            self._follower.streams,
            self._follower.before,
            len(snapshot.rows_of({CounterType.CLIENT_HEARTBEAT})),
            self._errors,
            self._losses,
            self._cycles(),
            recordings,
            self._replays.replays(
                snapshot, self._follower.streams, catalog.descriptors.values(), written
            ),
            self._archive.figures(wall_ms, catalog, written) if self._archive is not None else None,
            self._archive_errors,
            stopped_recordings(catalog.descriptors, catalog.archive_id, written, health),
        )

    def _opened(self) -> DriverView:
        """The driver's files; opened anew when the directory has others by now."""
        view = self._view
        if view is not None and not view.is_replaced():
            return view
        if view is not None:
            view.close()
        self._view = None
        self._view = DriverView.open(self.aeron_dir)
        self._follower.forget()
        self._seldom_ns = None
        self._cycles_file = _cycles_file(self._view.aeron_dir)
        return self._view

    def _cycles(self) -> list[CycleHistogram]:
        """Histograms, where the driver keeps some; those of a file that is damaged are none."""
        if self._cycles_file is None:
            return []
        try:
            found = read_cycles(self._cycles_file)
        except FileFormatError:
            return []
        return [CycleHistogram(clean(one.agent), one.counts) for one in found]

    def _look_seldom(self, view: DriverView, at_ns: int) -> None:
        if self._seldom_ns is None or (at_ns - self._seldom_ns) / NS_PER_S >= _SELDOM_S:
            self._errors, self._losses, self._seldom_ns = view.errors(), view.losses(), at_ns
            if self._archive is not None:
                self._archive_errors = self._archive.errors()

    def close(self) -> None:
        """Lets go of the files."""
        if self._view is not None:
            self._view.close()
        if self._archive is not None:
            self._archive.close()


def _cycles_file(aeron_dir: str) -> MappedFile | None:
    try:
        return map_readonly(str(Path(aeron_dir) / CYCLES_FILE), 1, missing="")
    except ViewError:  # not one of ours, or deleted: nothing depends on it
        return None


def _driver(view: DriverView, wall_ms: int) -> DriverFigures:
    if view.is_closed():
        state, age = DriverState.CLOSED, 0
    else:
        age = max(view.heartbeat_age_ms(wall_ms), 0)
        state = DriverState.LIVE if view.is_alive(wall_ms) else DriverState.SILENT
    return DriverFigures(view.aeron_dir, state, view.pid, view.start_ms, age)


@dataclass(frozen=True, slots=True)
class _Catalog:
    """What was read of an archive's folder."""

    descriptors: Mapping[int, RecordingDescriptor]
    archive_id: int | None = None
    recorded_bytes: int = 0
    indexes: Mapping[int, IndexView] = field(default_factory=dict)
    health: Mapping[int, HealthView] = field(default_factory=dict)
    retention: RetentionView | None = None
    trouble: str = ""


_NO_CATALOG: Final = _Catalog({})


class _Archive:
    """An archive's folder, read in the background: a catalog may be long."""

    def __init__(self, archive_dir: str, clock: Clock) -> None:
        self._dir = archive_dir
        self._clock = clock
        self._view: ArchiveView | None = None
        self._known = _NO_CATALOG
        self._due_ns = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="catalog")
        self._reading: Future[_Catalog] | None = None

    def look(self) -> _Catalog:
        """What was read last; begins to read again when it is time."""
        if self._reading is not None and self._reading.done():
            self._known, self._reading = self._reading.result(), None
        if self._reading is None and self._clock.now_ns() >= self._due_ns:
            self._reading = self._worker.submit(self._read)
        return self._known

    def _read(self) -> _Catalog:
        started_ns = self._clock.now_ns()
        try:
            if self._view is None:
                self._view = ArchiveView.open(self._dir)
            found = _catalog(self._view, self._view.recordings())
        except ViewError as error:
            self._forget()
            found = _Catalog({}, trouble=str(error))
        ended_ns = self._clock.now_ns()
        pause_ns = max(int(_CATALOG_S * NS_PER_S), (ended_ns - started_ns) * _CATALOG_SHARE)
        self._due_ns = ended_ns + pause_ns
        return found

    def _forget(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None

    def errors(self) -> Sequence[ObservedError]:
        """The errors in the archive's log."""
        return () if self._view is None else self._view.errors()

    def figures(self, wall_ms: int, known: _Catalog, written: Mapping[int, int]) -> ArchiveFigures:
        """What the page shows above."""
        view = self._view
        if known.trouble:
            return ArchiveFigures(self._dir, trouble=known.trouble)
        if view is None:
            return ArchiveFigures(self._dir, state="reading")
        state = "archive live" if view.is_alive(wall_ms) else "archive not running"
        active = 0
        for recording_id, position in written.items():
            one = known.descriptors.get(recording_id)
            if one is not None:
                active += max(position - one.start_position, 0)
        try:
            disk = view.disk()
        except OSError as error:
            return ArchiveFigures(self._dir, trouble=f"{self._dir}: {error.strerror}")
        return ArchiveFigures(
            self._dir,
            state,
            len(known.descriptors),
            known.recorded_bytes + active,
            disk.usable,
            disk.total,
            index=index_words(len(known.descriptors), known.indexes),
            health=health_words(known.health),
            is_sound=not any(is_bad(one.state) for one in known.health.values()),
            retention=retention_words(known.retention, wall_ms),
            has_failed=is_failed(known.retention),
        )

    def close(self) -> None:
        """Waits for a reading that runs, and lets go of the files."""
        self._worker.shutdown(wait=True)
        self._forget()


def _catalog(view: ArchiveView, recordings: Sequence[RecordingView]) -> _Catalog:
    valid = [one.descriptor for one in recordings if one.is_valid]
    recorded = sum(
        max(one.stop_position - one.start_position, 0) for one in valid if not one.is_active
    )
    return _Catalog(
        {one.recording_id: one for one in valid},
        view.archive_id,
        recorded,
        view.companions.indexes(recordings),
        view.companions.health(recordings),
        view.companions.retention(),
    )
