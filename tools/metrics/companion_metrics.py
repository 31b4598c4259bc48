"""What lies beside an archive's recordings: time indexes, health, retention."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aerolog.tools.metrics.samples import Samples
    from aerolog.tools.views.archive_view import ArchiveView, RecordingView
    from aerolog.tools.views.companion_views import HealthView, IndexView, RetentionView
    from aerolog.tools.views.stream_views import RecordingPosition

_INDEX_STATES: Final = ("whole", "faulty", "missing")
_HEALTH_STATES: Final = ("sound", "unchecked", "unreadable", "changed", "missing", "damaged")


class CompanionMetrics:
    """What was read beside an archive's recordings, to be told until it is read again."""

    def __init__(self) -> None:
        self._recordings: list[RecordingView] = []
        self._indexes: Mapping[int, IndexView] = {}
        self._health: Mapping[int, HealthView] = {}
        self._retention: RetentionView | None = None
        self._keeps_times = False
        self._is_verified = False

    def read(self, view: ArchiveView, recordings: Iterable[RecordingView]) -> None:
        """Reads it."""
        self._recordings = [one for one in recordings if one.is_valid]
        self._keeps_times = view.companions.keeps_times
        self._is_verified = view.companions.is_verified
        self._indexes = view.companions.indexes(self._recordings)
        self._health = view.companions.health(self._recordings)
        self._retention = view.companions.retention()

    def add(self, samples: Samples, where: str) -> None:
        """Adds what was read; nothing of what the archive does not have."""
        if self._keeps_times:
            self._add_indexes(samples, where)
        if self._is_verified:
            self._add_health(samples, where)
        if self._retention is not None:
            _add_retention(samples, where, self._retention)

    def add_positions(
        self, samples: Samples, where: str, positions: Iterable[RecordingPosition]
    ) -> None:
        """Adds what is told by the positions of recordings that are written."""
        for one in positions:
            index = self._indexes.get(one.recording_id)
            if index is not None and index.end_position is not None:
                behind = max(one.position - index.end_position, 0)
                samples.add("archive_index_behind_bytes", behind, where)

    def _add_indexes(self, samples: Samples, where: str) -> None:
        states: Counter[str] = Counter()
        for one in self._recordings:
            index = self._indexes.get(one.recording_id)
            if index is None:
                states["missing"] += 1
            else:
                states["faulty" if index.problems else "whole"] += 1
        for state in _INDEX_STATES:
            samples.add("archive_index_recordings", states[state], where, state)
        indexes = self._indexes.values()
        samples.add("archive_index_entries", sum(one.entries for one in indexes), where)
        samples.add("archive_index_bytes", sum(one.size_bytes for one in indexes), where)

    def _add_health(self, samples: Samples, where: str) -> None:
        recordings: Counter[str] = Counter()
        segments: Counter[str] = Counter()
        for one in self._recordings:
            health = self._health.get(one.recording_id)
            recordings["unchecked" if health is None else health.state] += 1
            if health is not None:
                segments.update(health.segments)
                if health.oldest_ms is not None:
                    oldest_s = health.oldest_ms / 1000
                    samples.add("archive_health_oldest_time_seconds", oldest_s, where)
        for state in _HEALTH_STATES:
            samples.add("archive_health_recordings", recordings[state], where, state)
            samples.add("archive_health_segments", segments[state], where, state)


def _add_retention(samples: Samples, where: str, seen: RetentionView) -> None:
    last = seen.last_run
    samples.add("archive_retention_running", seen.is_running, where)
    samples.add("archive_retention_runs_total", seen.runs, where)
    samples.add("archive_retention_segments_total", seen.files, where)
    samples.add("archive_retention_bytes_total", seen.bytes, where)
    if last is not None:
        was_cut = last.end_ms is None and not seen.is_running
        samples.add("archive_retention_failed", was_cut or last.error is not None, where)
        samples.add("archive_retention_refused", last.refused, where)
        if last.end_ms is not None:
            samples.add("archive_retention_last_time_seconds", last.end_ms / 1000, where)
    ended = sum(one.is_over(samples.now_ms) for one in seen.holds)
    samples.add("archive_retention_holds", len(seen.holds) - ended, where, "active")
    samples.add("archive_retention_holds", ended, where, "ended")
