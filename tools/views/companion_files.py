"""Reads what lies beside an archive's recordings, and keeps it for as long as its files stay."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.retention.errors import RetentionError
from aerolog.archive.retention.holds import Holds
from aerolog.archive.retention.journal import Journal
from aerolog.archive.retention.retention_folder import folder_path, is_running
from aerolog.archive.time_index import TimeIndex
from aerolog.archive.time_index.layout import INDEX_SUFFIX, times_dir
from aerolog.archive.verification.closed_spans import closed_spans
from aerolog.archive.verification.health_file import read_health
from aerolog.archive.verification.layout import HEALTH_FOLDER, HEALTH_SUFFIX, SegmentState
from aerolog.tools.views.companion_views import HealthView, IndexView, RetentionView, SegmentHealth
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.retention.holds import Hold
    from aerolog.archive.verification.layout import SegmentRecord
    from aerolog.tools.views.archive_view import RecordingView

T = TypeVar("T")
Signature = tuple[int, int]

_GOOD: Final = frozenset({SegmentState.SOUND, SegmentState.UNCHECKED})


class _Kept(Generic[T]):
    """What was made of a file of each recording, until the file or the recording changes."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[tuple[Signature, int, RecordingDescriptor], T]] = {}

    def made(
        self,
        files: Mapping[int, Signature],
        recordings: Iterable[RecordingView],
        end_of: Callable[[RecordingView], int],
        make: Callable[[RecordingView, int], T],
    ) -> dict[int, T]:
        """What there is of valid recordings, by id; of one without a file there is nothing.

        Args:
            files: what tells the file of a recording from what it was, by recording id.
            recordings: those asked about; all others are forgotten.
            end_of: up to where it counts: what was made is made anew when that is another place.
            make: makes it, of a recording and its end.
        """
        known = {}
        for one in recordings:
            signature = files.get(one.recording_id)
            if signature is None or not one.is_valid:
                continue
            end = end_of(one)
            now = (signature, end, one.descriptor)
            before = self._known.get(one.recording_id)
            made = before[1] if before is not None and before[0] == now else make(one, end)
            known[one.recording_id] = (now, made)
        self._known = known
        return {recording_id: made for recording_id, (_, made) in known.items()}


class CompanionFiles:
    """The folder beside an archive's recordings.

    Args:
        archive_dir: the archive's folder.
    """

    def __init__(self, archive_dir: str) -> None:
        self.archive_dir = archive_dir
        self._files = RealFileSystem()
        self._times_dir = times_dir(archive_dir)
        self._health_dir = str(Path(archive_dir) / HEALTH_FOLDER)
        self._indexes: _Kept[IndexView] = _Kept()
        self._health: _Kept[HealthView] = _Kept()

    @property
    def keeps_times(self) -> bool:
        """Whether there are time indexes, or were."""
        return Path(self._times_dir).is_dir()

    @property
    def is_verified(self) -> bool:
        """Whether somebody verifies the recordings, or did."""
        return Path(self._health_dir).is_dir()

    def indexes(
        self, recordings: Iterable[RecordingView], *, deep: bool = False
    ) -> dict[int, IndexView]:
        """The time indexes of recordings, by id; one without an index is left out.

        Args:
            recordings: the archive's recordings.
            deep: read them from beginning to end for damage.
        """
        return self._indexes.made(
            _listed(self._times_dir, INDEX_SUFFIX),
            recordings,
            lambda _: -1 if deep else 0,
            lambda one, _: self._index(one.descriptor, deep),
        )

    def _index(self, descriptor: RecordingDescriptor, deep: bool) -> IndexView:
        end = MAX_I64 if descriptor.is_active else descriptor.stop_position
        start = descriptor.start_position
        with TimeIndex.beside(self.archive_dir, descriptor, start, end, self._files) as index:
            entries = index.entries
            return IndexView(
                source=index.source,
                entries=entries,
                size_bytes=index.size_bytes,
                first_time_ns=index.first_time_ns if entries else None,
                last_time_ns=index.last_time_ns if entries else None,
                end_position=index.last_position if entries else None,
                is_rebuilt=index.is_rebuilt,
                problems=index.check() if deep else index.problems,
                is_unreadable=index.error is not None,
            )

    def health(self, recordings: Iterable[RecordingView]) -> dict[int, HealthView]:
        """What verification knows of recordings, by id; one of which it knows nothing is left out.

        Args:
            recordings: the archive's recordings.
        """
        files = _listed(self._health_dir, HEALTH_SUFFIX)
        return self._health.made(files, recordings, _closed_up_to, self._health_of)

    def _health_of(self, one: RecordingView, end: int) -> HealthView:
        descriptor = one.descriptor
        records = read_health(self._files, self.archive_dir, descriptor)
        try:
            descriptor.check()
            spans = list(closed_spans(descriptor, end))
        except FileFormatError:
            spans = []
        states: Counter[SegmentState] = Counter()
        faults, verified = [], []
        for span in spans:
            record = records.by_base.get(span.base)
            if record is None or record.length != span.length:
                states[SegmentState.UNCHECKED] += 1
                continue
            states[record.state] += 1
            verified.append(record.verified_ms)
            if record.state not in _GOOD:
                faults.append(SegmentHealth(span.base, record.state.name.lower(), _said(record)))
        worst = max(states, default=SegmentState.UNCHECKED)
        return HealthView(
            state=worst.name.lower(),
            segments={state.name.lower(): count for state, count in sorted(states.items())},
            faults=tuple(faults),
            oldest_ms=min(verified, default=None),
            problems=tuple(records.problems),
        )

    def retention(self) -> RetentionView | None:
        """What retention has done; None where nobody ever used it."""
        if not Path(folder_path(self.archive_dir)).is_dir():
            return None
        problems: list[str] = []
        try:
            state = Journal.open(self.archive_dir, self._files).state
        except (RetentionError, OSError) as error:
            return RetentionView(problems=(str(error),))
        problems += state.problems
        holds: tuple[Hold, ...] = ()
        try:
            holds = tuple(Holds.open(self.archive_dir, self._files))
        except (RetentionError, OSError) as error:
            problems.append(str(error))
        last = state.last_run
        # Looking at the lock means taking it for a moment: only where a run has not said its end.
        is_open = last is not None and last.end_ms is None
        return RetentionView(
            is_running=is_open and is_running(self.archive_dir, self._files),
            last_run=last,
            runs=state.runs,
            files=state.files,
            bytes=state.bytes,
            holds=holds,
            problems=tuple(problems),
        )


def _closed_up_to(one: RecordingView) -> int:
    """Position up to which a recording's segments are closed, as far as its files tell."""
    descriptor = one.descriptor
    if not descriptor.is_active:
        return descriptor.stop_position
    return max((file.base_position for file in one.segments), default=descriptor.start_position)


def _said(record: SegmentRecord) -> str:
    if record.kind is None:
        return ""
    return f"{record.kind}, position {record.position}" if record.position >= 0 else record.kind


def _listed(folder: str, suffix: str) -> dict[int, Signature]:
    """Time of change and length of the files of recordings in a folder, by recording id."""
    found = {}
    try:
        with os.scandir(folder) as listed:
            for item in listed:
                name = item.name.removesuffix(suffix)
                if name == item.name or not (name.isascii() and name.isdecimal()):
                    continue
                try:
                    status = item.stat()
                except FileNotFoundError:
                    continue  # deleted meanwhile
                found[int(name)] = status.st_mtime_ns, status.st_size
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return found
