"""The plan of an export: which range of a recording is written, given what a target has of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.catalog.export.errors import TargetMismatchError
from aerolog.catalog.export.layout import ROWS, Folders, recording_key
from aerolog.catalog.export.lineage import first_change, kept_until
from aerolog.catalog.export.manifest import RecordingState
from aerolog.catalog.export.sources import last_message_end
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.secrets import repr_without_secrets
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aerolog.catalog.export.manifest import FileEntry, Manifest, RangeEntry
    from aerolog.catalog.export.options import ExportOptions
    from aerolog.catalog.export.report import ExportProgress, MissingRange
    from aerolog.catalog.export.sources import Source, SourceRecording
    from aerolog.catalog.export.store import Store
    from aerolog.transport.concurrent.clock import Clock

#: Fields of a descriptor that differ, most likely, between two recordings with the same id.
_IDENTITY: Final = ("start_timestamp", "initial_term_id", "term_buffer_length", "stream_id")


_REPLACE: Final = "replace what was exported (--replace)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be exported.

    Attributes:
        until_positions: by recording id, positions at which to end before the recording does.
        replace: True to write the files of the recordings anew, whatever they hold; False to go on
            where the target ends.
        skip_damage: True goes on behind damage, whose gaps become rejects.
        progress: called after every row group.
        clock: measures durations for the report, and when the manifest is saved again.
    """

    until_positions: Mapping[int, int] = field(default_factory=dict)
    replace: bool = False
    skip_damage: bool = False
    progress: Callable[[ExportProgress], object] | None = None
    clock: Clock = field(default_factory=SystemClock)

    def seconds_since(self, begun_ns: int) -> float:
        """Seconds since ``begun_ns``, nanoseconds on the clock."""
        return (self.clock.now_ns() - begun_ns) / NS_PER_S


@repr_without_secrets
@dataclass(slots=True)
class RecordingExport:
    """One recording that is being exported.

    Attributes:
        source: the archive that the recording is read from.
        recording: as it was when the export began, or after it was found purged.
        archive: of the recording in the manifest, see `RangeEntry`.
        folders: where the recording's files are.
        state: the recording's state in the manifest.
        resumed: whether an earlier export of it was killed.
        start: where this export begins.
        ranges: that it read, or that were there.
        files: that have these ranges.
        damage: the damage that ended it early, None when there was none.
        purged: ranges that were purged before they were exported.
        begun_ns: when it began, nanoseconds on the request's clock.
    """

    source: Source
    recording: SourceRecording
    archive: str
    folders: Folders
    state: RecordingState
    resumed: bool
    start: int = 0
    ranges: list[RangeEntry] = field(default_factory=list)
    files: list[FileEntry] = field(default_factory=list)
    damage: str | None = None
    purged: list[MissingRange] = field(default_factory=list)
    begun_ns: int = 0

    @property
    def is_ahead(self) -> bool:
        """Whether there may be something to write for this recording."""
        state = self.state
        return state.until_position is not None or self.recording.end_position > state.position

    @property
    def recording_id(self) -> int:
        """The recording's id."""
        return self.state.recording_id

    @property
    def key(self) -> str:
        """The recording's key in the manifest."""
        return recording_key(self.recording_id, self.archive)


class Planner:
    """Plans the exports to one target."""

    def __init__(
        self,
        target: Store,
        manifest: Manifest,
        options: ExportOptions,
        request: Request,
        *,
        decoded: bool,
    ) -> None:
        self._target = target
        self._manifest = manifest
        self._options = options
        self._request = request
        self._decoded = decoded

    def plan(self, source: Source, recording: SourceRecording) -> RecordingExport:
        """Note how far the export of a recording is to go, unless one under way has done so.

        Raises:
            TargetMismatchError: the target has another recording of that id, or other files of it.
        """
        descriptor = recording.descriptor
        by_archive = "archive_id" in self._options.partition_by
        values = self._options.partition_values(
            descriptor, source.archive_id if by_archive else None
        )
        archive = values.get("archive_id", "")
        key = recording_key(descriptor.recording_id, archive)
        if self._request.replace and self._options.partitioned:
            self._manifest.drop(key)
            self._manifest.recordings.pop(key, None)
        state = self._manifest.recordings.get(key)
        known, resumed = state is not None, state is not None and state.until_position is not None
        if state is None:
            state = RecordingState(
                recording_id=descriptor.recording_id,
                archive_id=source.archive_id,
                options={},
                descriptor=asdict(descriptor),
                position=recording.start_position,
            )
            self._manifest.recordings[key] = state
        # The folder of what was exported before, whatever the catalog's entry says by now.
        described = RecordingDescriptor(**state.descriptor)
        values = self._options.partition_values(described, state.archive_id)
        folders = Folders(descriptor.recording_id, values, self._decoded)
        job = RecordingExport(
            source, recording, archive, folders, state, resumed, start=state.position
        )
        if not known:
            self._begin(job)
        elif self._options.partitioned:
            self._check_identity(job)
            self._check_options(job)
            self._see_changes(job)
        elif not self._keeps_file(job):
            self._begin(job)
        return job

    def _begin(self, job: RecordingExport) -> None:
        """Note that an export is under way, from the recording's start to its end now."""
        state, recording = job.state, job.recording
        state.options, state.descriptor = self._options.as_dict(), asdict(recording.descriptor)
        state.until_position = self.end_of(recording, recording.start_position)
        state.times = recording.settled_times().to_json()
        self._manifest.touch()

    def end_of(self, recording: SourceRecording, from_position: int) -> int:
        """How far to export a recording now; a partitioned export ends behind a message."""
        end = recording.end_position
        limit = self._request.until_positions.get(recording.descriptor.recording_id)
        until = end if limit is None else min(limit, end)
        if until <= from_position:
            return from_position
        growing = recording.descriptor.is_active or until < end
        if self._options.partitioned and self._options.assemble and growing:
            skips = self._request.skip_damage
            return last_message_end(recording, from_position, until, skip_damage=skips)
        return until

    def _check_identity(self, job: RecordingExport) -> None:
        for name in _IDENTITY:
            before, now = job.state.descriptor[name], getattr(job.recording.descriptor, name)
            if before != now:
                raise TargetMismatchError(
                    f"recording {job.recording_id} is another one than that in"
                    f" {self._target.shown}: its {name} is {now} and was {before}; use another"
                    f" target, partition by archive_id as well, or {_REPLACE}"
                )

    def _check_options(self, job: RecordingExport) -> None:
        options, before = self._options.as_dict(), job.state.options
        for name in options | before:
            wanted = options.get(name)
            if before.get(name) != wanted:
                raise TargetMismatchError(
                    f"recording {job.recording_id} was exported to {self._target.shown} with"
                    f" {name} {before.get(name)}, not {wanted}: use another target, or the"
                    " same options"
                )

    def _keeps_file(self, job: RecordingExport) -> bool:
        """Whether a recording's one file stays: it is whole, or has what the recording has not."""
        state, recording = job.state, job.recording
        listed = self._manifest.files_of(job.key)
        paths = [file.path for _, file in listed if file.table == ROWS]
        if self._request.replace or not any(map(self._target.size, paths)):
            return False
        self._check_identity(job)
        self._see_changes(job)
        purged = listed[0][0].from_position < recording.start_position
        new = (
            state.position != self.end_of(recording, recording.start_position)
            or state.options != self._options.as_dict()
        )
        if purged and new and job.damage is None:
            job.damage = (
                f"recording {job.recording_id} was purged up to position"
                f" {recording.start_position} since it was exported, and its file has what is"
                f" gone; export it to another target, or {_REPLACE}"
            )
        same = (
            not new
            and not job.resumed
            and state.descriptor == asdict(recording.descriptor)
            and all(self._target.size(file.path) == file.bytes for _, file in listed)
        )
        if job.damage is None and not same and not purged:
            return False
        if job.resumed:
            state.until_position = None
            self._manifest.touch()
        return True

    def _see_changes(self, job: RecordingExport) -> None:
        """A recording that became shorter than what was exported, or was to be, or another one."""
        state, end = job.state, job.recording.end_position
        ranges = self._manifest.ranges.get(job.key, [])
        if state.until_position is not None and state.until_position > end:
            state.until_position = max(state.position, end)
            self._manifest.touch()
        if state.position > end:
            kept = kept_until(job.recording, ranges)
            known = "" if kept is None else f", and the files are known to be true up to {kept}"
            job.damage = (
                f"recording {job.recording_id} ends at position {end} and was exported up to"
                f" {state.position}: it was truncated{known}; export it to another target, or"
                f" {_REPLACE}"
            )
            return
        changed = first_change(job.recording, ranges)
        if changed is not None:
            job.damage = (
                f"recording {job.recording_id} was truncated and extended since it was exported:"
                f" behind position {changed.from_position} it holds other messages than the files;"
                f" export it to another target, or {_REPLACE}"
            )
