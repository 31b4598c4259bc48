"""What an archive's folder gives, with what its driver's counters say of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import MARK_FILE_NAME
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.metrics.companion_metrics import CompanionMetrics
from aerolog.tools.metrics.driver_metrics import (
    ALIVE,
    CLOSED,
    DEAD,
    DriverReader,
    DriverReading,
    add_errors,
    add_overflow,
)
from aerolog.tools.metrics.samples import OTHER, Bound, Samples, Totals
from aerolog.tools.metrics.stream_metrics import channel_name
from aerolog.tools.views.archive_view import ArchiveView
from aerolog.tools.views.driver_view import file_identity
from aerolog.tools.views.errors import ViewError
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.mark_file import TERMINATED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.tools.views.archive_view import ArchiveCounters, RecordingView
    from aerolog.tools.views.stream_views import RecordingPosition

_NS: Final = 1e-9
_ERROR_CLASSES: Final = 20
_UNKNOWN: Final = "unknown"

#: Counter type (spec counters 7, and ours) -> metric and its unit in that of the counter.
_COUNTERS: Final[dict[int, tuple[str, float]]] = {
    ArchiveCounterType.ERRORS: ("archive_errors_total", 1),
    ArchiveCounterType.CONTROL_SESSIONS: ("archive_control_sessions", 1),
    ArchiveCounterType.MAX_WRITE_TIME: ("archive_write_time_max_seconds", _NS),
    ArchiveCounterType.WRITTEN_BYTES: ("archive_written_bytes_total", 1),
    ArchiveCounterType.WRITE_TIME: ("archive_write_seconds_total", _NS),
    ArchiveCounterType.MAX_READ_TIME: ("archive_read_time_max_seconds", _NS),
    ArchiveCounterType.READ_BYTES: ("archive_read_bytes_total", 1),
    ArchiveCounterType.READ_TIME: ("archive_read_seconds_total", _NS),
    ArchiveCounterType.RECORDING_SESSIONS: ("archive_recording_sessions", 1),
    ArchiveCounterType.REPLAY_SESSIONS: ("archive_replay_sessions", 1),
    ArchiveCounterType.TIME_INDEX_ENTRIES: ("archive_index_written_entries_total", 1),
    ArchiveCounterType.TIME_NOTES_LOST: ("archive_index_lost_notes_total", 1),
    ArchiveCounterType.VERIFIED_BYTES: ("archive_verified_bytes_total", 1),
    ArchiveCounterType.VERIFIED_SEGMENTS: ("archive_verified_segments_total", 1),
    ArchiveCounterType.BAD_SEGMENTS: ("archive_bad_segments", 1),
    ArchiveCounterType.WAITING_SEGMENTS: ("archive_waiting_segments", 1),
}
#: The same for those whose label begins with the agent.
_OF_AGENTS: Final[dict[int, tuple[str, float]]] = {
    ArchiveCounterType.MAX_CYCLE_TIME: ("archive_cycle_time_max_seconds", _NS),
    ArchiveCounterType.CYCLE_TIME_EXCEEDED: ("archive_cycle_time_exceeded_total", 1),
}
_AGENTS: Final = {"archive-conductor", "archive-recorder", "archive-replayer"}


class ArchiveSource:
    """Metrics of an archive.

    The folder is read whole at most as often as ``interval_ms`` says: it may hold very many files.
    """

    def __init__(
        self,
        archive_dir: str,
        reader_of: Callable[[str], DriverReader],
        limit: int,
        interval_ms: int,
    ) -> None:
        self._archive_dir = archive_dir
        self._reader_of = reader_of
        self._interval_ms = interval_ms
        self._view: ArchiveView | None = None
        self._mark: tuple[int, int] | None = None
        self._state = ""
        self._awaited: set[int] = set()
        self._recordings: list[RecordingView] = []
        self._read_ms: int | None = None
        self._streams = Bound(limit)
        self._errors = Bound(_ERROR_CLASSES)
        self._totals = Totals()
        self._companions = CompanionMetrics()

    def collect(self, samples: Samples) -> None:
        """Adds what there is now."""
        where = self._archive_dir
        try:
            view = self._opened(samples.now_ms)
            self._read(view, samples.now_ms)
        except (ViewError, OSError) as error:
            self.close()
            self._state = error.trouble.value if isinstance(error, ViewError) else "unreadable"
            samples.add("archive_up", 0, where)
            samples.add("archive_state", 1, where, self._state)
            return
        state = self._state = _state(view, samples.now_ms)
        samples.add("archive_up", state == ALIVE, where)
        samples.add("archive_state", 1, where, state)
        age = view.activity_age_ms(samples.now_ms)
        if age is not None:
            samples.add("archive_activity_age_seconds", max(age, 0) / 1000, where)
        archive_id = "" if view.archive_id is None else str(view.archive_id)
        samples.add("archive_info", 1, where, archive_id, view.aeron_dir or "")
        self._add_folder(samples, view)
        add_errors(samples, "archive", where, view.errors(), self._errors)
        self._add_counters(samples, view, alive=state == ALIVE)
        add_overflow(samples, where, "recorded streams", self._streams)
        add_overflow(samples, where, "errors", self._errors)

    def _opened(self, now_ms: int) -> ArchiveView:
        """The view; opened anew when an archive has started on the folder since."""
        view, mark = self._view, file_identity(Path(self._archive_dir, MARK_FILE_NAME))
        if view is not None:
            has_come_back = self._state != ALIVE and view.is_alive(now_ms)
            if has_come_back or mark != self._mark:
                self.close()
        if self._view is None:
            self._mark = mark
            self._view = ArchiveView.open(self._archive_dir)
        return self._view

    def _read(self, view: ArchiveView, now_ms: int) -> None:
        due = self._read_ms is None or not 0 <= now_ms - self._read_ms < self._interval_ms
        if due:
            self._recordings = view.recordings()
            self._companions.read(view, self._recordings)
            self._read_ms = now_ms

    def _add_folder(self, samples: Samples, view: ArchiveView) -> None:
        where = self._archive_dir
        files = [segment for recording in self._recordings for segment in recording.segments]
        for state in ("active", "stopped", "invalid", "deleted", OTHER):
            samples.add("archive_recordings", 0, where, state)
        for recording in self._recordings:
            samples.add("archive_recordings", 1, where, _state_of(recording))
        samples.add("archive_segments", len(files), where)
        samples.add("archive_segment_bytes", sum(file.length for file in files), where)
        samples.add("archive_segment_disk_bytes", sum(file.disk_length for file in files), where)
        samples.add("archive_missing_segments", _missing(self._recordings), where)
        samples.add("archive_damages", len(view.damages), where)
        disk = view.disk()
        samples.add("archive_disk_bytes", disk.total, where)
        samples.add("archive_disk_free_bytes", disk.usable, where)
        self._companions.add(samples, where)

    def _add_counters(self, samples: Samples, view: ArchiveView, *, alive: bool) -> None:
        look = (
            self._reader_of(view.aeron_dir).look(samples)
            if view.aeron_dir
            else DriverReading(_UNKNOWN)
        )
        active = [r.recording_id for r in self._recordings if _state_of(r) == "active"]
        if look.snapshot is None or not alive:
            samples.add("archive_recordings_without_writer", len(active), self._archive_dir)
            self._totals.finish(samples)
            return
        found = view.recording_counters(look.snapshot)
        new = set(found.recordings) - {one.recording_id for one in self._recordings}
        if new - self._awaited:
            # Begun since the folder was read: read it again next time, at once.
            self._awaited = new
            self._read_ms = None
        without = [one for one in active if one not in found.recordings]
        samples.add("archive_recordings_without_writer", len(without), self._archive_dir)
        self._add_own(samples, found)
        self._companions.add_positions(samples, self._archive_dir, found.recordings.values())
        self._add_recordings(samples, found.recordings.values(), look)

    def _add_own(self, samples: Samples, found: ArchiveCounters) -> None:
        for counter in found.counters:
            if counter.type_id in _COUNTERS:
                name, scale = _COUNTERS[counter.type_id]
                samples.add(name, max(counter.value, 0) * scale, self._archive_dir)
            elif counter.type_id in _OF_AGENTS:
                name, scale = _OF_AGENTS[counter.type_id]
                agent = counter.label.partition(" ")[0]
                shown = agent.removeprefix("archive-") if agent in _AGENTS else OTHER
                samples.add(name, max(counter.value, 0) * scale, self._archive_dir, shown)

    def _add_recordings(
        self, samples: Samples, positions: Iterable[RecordingPosition], look: DriverReading
    ) -> None:
        """What is being recorded, by stream; its channel and lag from the driver's streams."""
        heads = {
            recording.counter_id: stream
            for stream in look.streams
            for recording in stream.recordings
        }
        known = {recording.recording_id: recording for recording in self._recordings}
        listed = []
        for position in positions:
            recording = known.get(position.recording_id)
            stream = heads.get(position.counter_id)
            if recording is not None:
                channel = recording.descriptor.stripped_channel
            else:
                channel = stream.channel if stream is not None else _UNKNOWN
            labels = str(position.stream_id), channel_name(channel)
            begin = None if recording is None else recording.descriptor.start_position
            listed.append((labels, position, stream, begin))
        shown = self._streams.admit(labels for labels, *_ in listed)
        for labels, position, stream, begin in listed:
            where = (self._archive_dir, *shown[labels])
            samples.add("recording_sessions", 1, *where)
            source = position.recording_id, position.counter_id
            self._totals.add(
                "recording_recorded_bytes_total", where, source, position.position, begin
            )
            if stream is not None:
                lag = max(stream.position - position.position, 0)
                samples.add("recording_lag_bytes", lag, *where)
        self._totals.finish(samples)

    def close(self) -> None:
        """Lets go of the files."""
        if self._view is not None:
            self._view.close()
        self._view = None
        self._read_ms = None
        self._recordings = []


def _state(view: ArchiveView, now_ms: int) -> str:
    if view.is_alive(now_ms):
        return ALIVE
    return CLOSED if view.activity_ms() in {TERMINATED, None} else DEAD


def _state_of(recording: RecordingView) -> str:
    if recording.is_valid:
        return "active" if recording.descriptor.is_active else "stopped"
    names = {RecordingState.INVALID: "invalid", RecordingState.DELETED: "deleted"}
    return next((name for state, name in names.items() if recording.state == state), OTHER)


def _missing(recordings: Iterable[RecordingView]) -> int:
    """Segment files that should be there; those of a descriptor that makes no sense are not."""
    count = 0
    for recording in recordings:
        if recording.is_valid and not recording.descriptor.is_active:
            try:
                count += len(recording.missing_segments())
            except AerologError:
                continue
    return count
