"""Which range of a recording is to be exported, given what a target has of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.catalog.export.errors import TargetMismatchError
from aerolog.catalog.export.layout import ROWS, Folders, recording_key
from aerolog.catalog.export.manifest import RecordingState
from aerolog.catalog.export.sources import last_message_end
from aerolog.transport.concurrent.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aerolog.catalog.export.manifest import FileEntry, Manifest, RangeEntry
    from aerolog.catalog.export.options import ExportOptions
    from aerolog.catalog.export.report import ExportProgress, Purged
    from aerolog.catalog.export.sources import Source, SourceRecording
    from aerolog.catalog.export.store import Store
    from aerolog.transport.concurrent.clock import Clock

#: What two recordings with the same id hardly have in common.
_IDENTITY: Final = ("start_timestamp", "initial_term_id", "term_buffer_length", "stream_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be exported.

    Attributes:
        until_positions: by recording id, where to end before the recording does.
        incremental: go on where the target ends; False: write whole recordings' files anew.
        progress: called after every row group.
        clock: of the report and of how often the manifest is saved.
    """

    until_positions: Mapping[int, int] = field(default_factory=dict)
    incremental: bool = True
    progress: Callable[[ExportProgress], object] | None = None
    clock: Clock = field(default_factory=SystemClock)

    def seconds_since(self, begun_ns: int) -> float:
        """Seconds on the clock."""
        return (self.clock.now_ns() - begun_ns) / 1_000_000_000


@dataclass(slots=True)
class Job:
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
    purged: list[Purged] = field(default_factory=list)
    begun_ns: int = 0

    @property
    def is_ahead(self) -> bool:
        """Whether there may be something to write."""
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

    def plan(self, source: Source, recording: SourceRecording) -> Job:
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
        options = self._options.as_dict()
        state = self._manifest.recordings.get(key)
        resumed = state is not None and state.until_position is not None
        if state is None:
            state = RecordingState(
                recording_id=descriptor.recording_id,
                archive_id=source.archive_id,
                options=options,
                descriptor=asdict(descriptor),
                position=recording.start_position,
                until_position=self.end_of(recording, recording.start_position),
                times=recording.settled_times().to_json(),
            )
            self._manifest.recordings[key] = state
            self._manifest.touch()
        elif self._options.partitioned:
            self._check_same(state, descriptor, options)
        elif not self._is_whole(key, recording, options):
            state.options, state.descriptor = options, asdict(descriptor)
            state.until_position = self.end_of(recording, recording.start_position)
            state.times = recording.settled_times().to_json()
            self._manifest.touch()
        # The folder of what was exported before, whatever the catalog's entry says by now.
        described = RecordingDescriptor(**state.descriptor)
        values = self._options.partition_values(described, state.archive_id)
        folders = Folders(descriptor.recording_id, values, self._decoded)
        job = Job(source, recording, archive, folders, state, resumed, start=state.position)
        if self._options.partitioned:
            self._see_truncation(job)
        return job

    def end_of(self, recording: SourceRecording, from_position: int) -> int:
        """How far to export a recording now; a partitioned export ends behind a message."""
        end = recording.end_position
        limit = self._request.until_positions.get(recording.descriptor.recording_id)
        until = end if limit is None else min(limit, end)
        if until <= from_position:
            return from_position
        growing = recording.descriptor.is_active or until < end
        if self._options.partitioned and self._options.assemble and growing:
            return last_message_end(recording, from_position, until)
        return until

    def _check_same(
        self, state: RecordingState, descriptor: RecordingDescriptor, options: dict[str, Any]
    ) -> None:
        for name in _IDENTITY:
            before, now = state.descriptor[name], getattr(descriptor, name)
            if before != now:
                raise TargetMismatchError(
                    f"recording {descriptor.recording_id} is another one than that in"
                    f" {self._target.shown}: its {name} is {now} and was {before}; use another"
                    " target, or partition by archive_id as well"
                )
        for name in options | state.options:
            wanted = options.get(name)
            if state.options.get(name) != wanted:
                raise TargetMismatchError(
                    f"recording {descriptor.recording_id} was exported to {self._target.shown} with"
                    f" {name} {state.options.get(name)}, not {wanted}: use another target, or the"
                    " same options"
                )

    def _is_whole(self, key: str, recording: SourceRecording, options: dict[str, Any]) -> bool:
        """Whether a recording's one file is what would be written now."""
        state = self._manifest.recordings[key]
        if not self._request.incremental or state.until_position is not None:
            return False
        return (
            state.position == self.end_of(recording, recording.start_position)
            and state.descriptor == asdict(recording.descriptor)
            and state.options == options
            and any(
                file.table == ROWS
                and one.from_position == recording.start_position
                and self._target.size(file.path) == file.bytes
                for one, file in self._manifest.files_of(key)
            )
        )

    def _see_truncation(self, job: Job) -> None:
        """A recording that became shorter than what was exported, or was to be."""
        state, end = job.state, job.recording.end_position
        if state.until_position is not None and state.until_position > end:
            state.until_position = max(state.position, end)
            self._manifest.touch()
        if state.position > end:
            job.damage = (
                f"recording {job.recording_id} ends at position {end} and was exported up to"
                f" {state.position}: it was truncated; export it to another target"
            )
