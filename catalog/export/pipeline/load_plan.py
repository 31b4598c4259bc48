"""The plan of a run: which ranges of recordings are new, and which are lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.catalog.arrow.record_times import settled_times
from aerolog.catalog.export.lineage import first_change
from aerolog.catalog.export.pipeline.errors import PipelineError
from aerolog.catalog.export.pipeline.units import Slice, Unit
from aerolog.catalog.export.sources import FolderRecording
from aerolog.catalog.index.models import READABLE, State
from aerolog.catalog.locations import OpenPlaces, local_folder, open_place
from aerolog.catalog.times import FROM_INDEX, TimeSource
from aerolog.transport.errors import AerologError
from aerolog.transport.secrets import repr_without_secrets, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aerolog.archive.format.archive_folder import ArchiveFolder, Recording
    from aerolog.catalog.export.manifest import RangeEntry
    from aerolog.catalog.index.search import FoundRecording

_DAY_MS: Final = 24 * 60 * 60 * 1000
#: A unit has at most this many recordings, since its result names each of them.
SLICES_MAX: Final = 1000

NEW: Final = "new"
EXTENDED: Final = "extended"
UNCHANGED: Final = "unchanged"
PURGED: Final = "purged"
LOST: Final = "lost"
SHORTENED: Final = "shortened"
UNREADABLE: Final = "unreadable"


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class PlannedRecording:
    """What a run does with one recording.

    Attributes:
        place: of the recording's archive.
        recording_id: the recording's id in that archive.
        stream_id: of the recording.
        status: ``new``, ``extended`` (more of it), ``unchanged``, ``purged`` (after all of it was
            loaded), ``lost`` (some of it was purged before it was loaded), ``shortened`` (it was
            truncated below the mark, and maybe extended then; what was loaded stays in the
            output), ``unreadable``.
        from_position: where loading begins.
        until_position: where it ends.
        remark: what a person should know, empty when there is nothing.
    """

    place: str
    recording_id: int
    stream_id: int
    status: str
    from_position: int
    until_position: int
    remark: str = ""

    @property
    def length(self) -> int:
        """How many bytes of the stream are loaded."""
        return max(self.until_position - self.from_position, 0)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run will do.

    Attributes:
        recordings: that meet the job's conditions, by place and id.
        units: of work; empty when nothing is new.
    """

    recordings: tuple[PlannedRecording, ...] = ()
    units: tuple[Unit, ...] = ()

    @property
    def length(self) -> int:
        """How many bytes of the streams are loaded."""
        return sum(unit.length for unit in self.units)

    def remarks(self) -> list[str]:
        """What a person should know, a line each."""
        return [
            f"recording {one.recording_id} of {without_secrets(one.place)}: {one.remark}"
            for one in self.recordings
            if one.remark
        ]

    def counts(self) -> dict[str, int]:
        """Recordings by status."""
        found: dict[str, int] = {}
        for one in self.recordings:
            found[one.status] = found.get(one.status, 0) + 1
        return found


def make_plan(
    found: Iterable[FoundRecording],
    loaded: Mapping[tuple[str, int], RangeEntry],
    *,
    unit_bytes: int,
    time_source: TimeSource = FROM_INDEX,
) -> Plan:
    """Compare what there is with what was loaded.

    Args:
        found: recordings that the job's conditions choose.
        loaded: the last range of each that was loaded, by place and recording id.
        unit_bytes: of a unit, about; a long recording is cut between terms, where no message goes
            across, and in an object store between segments, which are fetched whole.
        time_source: of rows' times.

    Raises:
        PipelineError: an archive cannot be read at all.
    """
    planner = _Planner(loaded, unit_bytes, time_source)
    with planner.places:
        for one in sorted(found, key=lambda one: (one.place, one.stream_id, one.recording_id)):
            planner.add(one)
    return planner.plan()


@repr_without_secrets
@dataclass(slots=True)
class _Gathered:
    """Slices of one archive and stream that are not a unit yet."""

    place: str = ""
    stream_id: int = 0
    slices: list[Slice] = field(default_factory=list)
    length: int = 0


class _Planner:
    def __init__(
        self,
        loaded: Mapping[tuple[str, int], RangeEntry],
        unit_bytes: int,
        time_source: TimeSource,
    ) -> None:
        self._time_source = time_source
        self.places = OpenPlaces(_opened)
        self._loaded = loaded
        self._unit_bytes = unit_bytes
        self._recordings: list[PlannedRecording] = []
        self._units: list[Unit] = []
        self._gathered = _Gathered()

    def plan(self) -> Plan:
        """The plan of all recordings added so far."""
        self._end_unit()
        return Plan(tuple(self._recordings), tuple(self._units))

    def add(self, found: FoundRecording) -> None:
        """Add one recording to the plan."""
        last = self._loaded.get((found.place, found.recording_id))
        mark = None if last is None else last.until_position
        if found.state in READABLE:
            loaded = mark is not None and found.stop_position == mark
            if found.state == State.STOPPED and loaded and found.start_position <= (mark or 0):
                self._note(found, UNCHANGED, mark or 0, mark or 0)
                return
            self._add_readable(found, last)
            return
        self._add_gone(found, mark)

    def _add_gone(self, found: FoundRecording, mark: int | None) -> None:
        start = found.start_position if mark is None else mark
        stop = found.stop_position
        if stop is None:
            stop = found.start_position + found.size_bytes
        if mark is not None and mark >= stop:
            self._note(found, PURGED, mark, mark)
            return
        word = "marked invalid" if found.state == State.INVALID else str(found.state)
        remark = f"is {word}; from {start} to {stop} it was not loaded"
        self._note(found, LOST, start, start, remark)

    def _add_readable(self, found: FoundRecording, last: RangeEntry | None) -> None:
        mark = None if last is None else last.until_position
        try:
            recording = self.places.folder(found.place).recording(found.recording_id)
        except (AerologError, OSError) as error:
            if isinstance(error, PipelineError):
                raise
            start = mark or 0
            self._note(found, UNREADABLE, start, start, f"cannot be read: {error}")
            return
        first, end = recording.start_position, recording.end_position
        if last is None or mark is None:
            remark = "" if found.start_position >= first else _lost(found.start_position, first)
            self._take(found, recording, first, end, LOST if remark else NEW, remark)
        elif mark > end:
            remark = f"ends at {end}, but was loaded up to {mark}: it was truncated"
            self._note(found, SHORTENED, end, end, remark)
        elif mark < first:
            self._take(found, recording, first, end, LOST, _lost(mark, first))
        elif end > mark and first_change(FolderRecording(recording), [last]) is not None:
            remark = (
                f"was truncated and extended since it was loaded up to {mark}: what it holds now is"
                " not loaded; load it into another place"
            )
            self._note(found, SHORTENED, mark, mark, remark)
        else:
            self._take(found, recording, mark, end, EXTENDED if end > mark else UNCHANGED, "")

    def _take(
        self,
        found: FoundRecording,
        recording: Recording,
        start: int,
        end: int,
        status: str,
        remark: str,
    ) -> None:
        self._note(found, status, start, end, remark)
        if self._gathered.place != found.place or self._gathered.stream_id != found.stream_id:
            self._end_unit()
            self._gathered = _Gathered(found.place, found.stream_id)
        descriptor = recording.descriptor
        is_local = local_folder(found.place) is not None
        grain = descriptor.term_buffer_length if is_local else descriptor.segment_file_length
        step = max(self._unit_bytes // grain, 1) * grain
        times = settled_times(recording, self._time_source).to_json() if start < end else []
        while start < end:
            until = min((start // step + 1) * step, end)
            if self._gathered.slices and self._gathered.length + until - start > self._unit_bytes:
                self._end_unit()
            self._gathered.slices.append(
                Slice(
                    found.recording_id,
                    start,
                    until,
                    descriptor.is_active and until == end,
                    descriptor.start_timestamp // _DAY_MS,
                    tuple(times),
                )
            )
            self._gathered.length += until - start
            if until < end or len(self._gathered.slices) == SLICES_MAX:
                self._end_unit()  # A unit has one slice of a recording at most.
            start = until

    def _end_unit(self) -> None:
        gathered = self._gathered
        if gathered.slices:
            self._units.append(
                Unit(len(self._units), gathered.place, gathered.stream_id, tuple(gathered.slices))
            )
        self._gathered = _Gathered(gathered.place, gathered.stream_id)

    def _note(
        self, found: FoundRecording, status: str, start: int, until: int, remark: str = ""
    ) -> None:
        self._recordings.append(
            PlannedRecording(
                found.place, found.recording_id, found.stream_id, status, start, until, remark
            )
        )


def _opened(place: str) -> ArchiveFolder:
    try:
        return open_place(place)
    except (AerologError, OSError) as error:
        raise PipelineError(
            f"the archive {without_secrets(place)} cannot be read: {error}"
        ) from error


def _lost(start: int, until: int) -> str:
    return f"from {start} to {until} it was purged before it was loaded"
