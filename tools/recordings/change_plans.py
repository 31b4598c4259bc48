"""What an operation on recordings would change, worked out before it is asked for.

An archive checks all of it again; this lets people see first what they are about to do.
Facts: spec archive-protocol 14.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.retention.needs import Removal
from aerolog.tools.terminal.confirmation import Plan
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor

_MUST_MATCH: Final = (
    ("segment_file_length", "segment file length"),
    ("term_buffer_length", "term buffer length"),
    ("initial_term_id", "initial term id"),
    ("stream_id", "stream id"),
    ("mtu_length", "mtu length"),
)


@dataclass(frozen=True, slots=True)
class Change:
    """A field of a recording before and after."""

    recording_id: int
    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class RecordingPlan(Plan):
    """What would be done to recordings.

    Attributes:
        changes: the fields of the catalog that change, with both values.
        files: segment files concerned, at most: some may be missing.
        file_bytes: their length together, at most.
        fate: what becomes of the files: "deleted", "moved", ...
        removal: what readers of the recording lose, None when they lose nothing.
    """

    changes: tuple[Change, ...] = field(default=())
    files: int = 0
    file_bytes: int = 0
    fate: str = "deleted"
    removal: Removal | None = None

    def lines(self) -> list[str]:
        """The plan as people read it."""
        shown = [self.what]
        shown += [
            f"  recording {one.recording_id}: {one.name} {_text(one.before)} -> {_text(one.after)}"
            for one in self.changes
        ]
        if self.files:
            plural = "" if self.files == 1 else "s"
            shown.append(
                f"  up to {self.files} segment file{plural}, {self.file_bytes} bytes, {self.fate}"
            )
        return shown

    def row(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {
            "dry_run": True,
            "refusal": self.refusal,
            "changes": [
                {
                    "recording_id": c.recording_id,
                    "field": c.name,
                    "before": c.before,
                    "after": c.after,
                }
                for c in self.changes
            ],
            "segment_files_at_most": self.files,
            "segment_bytes_at_most": self.file_bytes,
            "segment_files_are": self.fate,
        }


def truncation(recording: RecordingDescriptor, position: int) -> RecordingPlan:
    """Cutting a recording off at a position."""
    stop = recording.stop_position
    files = 0
    if not recording.is_active and position < stop:
        base = recording.segment_base(position)
        files = (recording.segment_base(stop) - base) // recording.segment_file_length
        files += position in {base, recording.start_position}
    return RecordingPlan(
        f"truncate {_name(recording)} to position {position}",
        (Change(recording.recording_id, "stop_position", _stop(recording), position),),
        files,
        files * recording.segment_file_length,
        removal=_all_of(recording) if position < stop else None,
        refusal=_truncation_refusal(recording, position),
    )


def _truncation_refusal(recording: RecordingDescriptor, position: int) -> str | None:
    if recording.is_active:
        return _still_active(recording)
    start, stop = recording.start_position, recording.stop_position
    if not start <= position <= stop:
        return f"position {position} is outside the recording, which has {start} to {stop}"
    if position % FRAME_ALIGNMENT:
        return f"position {position} is no multiple of {FRAME_ALIGNMENT}: no frame begins there"
    return None


def purge(recording: RecordingDescriptor) -> RecordingPlan:
    """The plan to remove a recording."""
    files = 0
    if not recording.is_active:
        first = recording.segment_base(recording.start_position)
        last = recording.segment_base(recording.stop_position)
        files = (last - first) // recording.segment_file_length + 1
    return RecordingPlan(
        f"remove {_name(recording)}, {recording.start_position} to {_text(_stop(recording))}",
        (Change(recording.recording_id, "state", "VALID", "DELETED"),),
        files,
        files * recording.segment_file_length,
        removal=_all_of(recording),
        refusal=_still_active(recording) if recording.is_active else None,
    )


def detachment(
    recording: RecordingDescriptor, end: int, position: int, *, delete: bool
) -> RecordingPlan:
    """Moving the start of a recording forward.

    Args:
        recording: the recording whose segments are detached.
        end: how far it is recorded.
        position: the new start.
        delete: whether the files before it are deleted.
    """
    first = recording.segment_base(recording.start_position)
    files = max(0, position - first) // recording.segment_file_length
    what = "delete the segments of" if delete else "detach the segments of"
    return RecordingPlan(
        f"{what} {_name(recording)} before position {position}",
        (Change(recording.recording_id, "start_position", recording.start_position, position),),
        files,
        files * recording.segment_file_length,
        "deleted" if delete else "left in the archive's folder, outside the recording",
        removal=Removal(recording_id=recording.recording_id, before=position),
        refusal=_detachment_refusal(recording, end, position),
    )


def _detachment_refusal(recording: RecordingDescriptor, end: int, position: int) -> str | None:
    length = recording.segment_file_length
    first = recording.segment_base(recording.start_position)
    lowest, highest = first + length, recording.segment_base(end)
    if lowest > highest:
        return f"recording {recording.recording_id} has one segment, and keeps its last one"
    if (position - first) % length == 0 and lowest <= position <= highest:
        return None
    # The nearest one that would do is what somebody who counts in bytes needs to know.
    nearest = min(max(first + (position - first) // length * length, lowest), highest)
    return (
        f"position {position} is not where a segment begins, after the first and up to the last "
        f"one: {nearest} is, and so is every {length} from {lowest} to {highest}"
    )


def deletion_of_detached(recording: RecordingDescriptor) -> RecordingPlan:
    """Deleting what lies before the start of a recording."""
    files = _files_before(recording)
    return RecordingPlan(
        f"delete the files of {_name(recording)} before its start {recording.start_position}",
        (),
        files,
        files * recording.segment_file_length,
        removal=Removal(
            recording_id=recording.recording_id,
            before=recording.segment_base(recording.start_position),
        )
        if files
        else None,
    )


def attachment(recording: RecordingDescriptor) -> RecordingPlan:
    """Moving the start of a recording back over detached files."""
    files = _files_before(recording)
    lowest = (
        recording.segment_base(recording.start_position) - files * recording.segment_file_length
    )
    change = Change(
        recording.recording_id, "start_position", recording.start_position, max(0, lowest)
    )
    return RecordingPlan(
        f"attach the files of {_name(recording)} that lie before its start, as far as they go",
        (change,) if files else (),
        files,
        files * recording.segment_file_length,
        "attached",
    )


def migration(source: RecordingDescriptor, destination: RecordingDescriptor) -> RecordingPlan:
    """Moving the segments of a recording to the beginning or end of another."""
    start, stop = source.start_position, source.stop_position
    refusal = _migration_refusal(source, destination)
    changes: tuple[Change, ...] = ()
    files = 0
    if refusal is None:
        prepends = stop == destination.start_position
        moved = (
            Change(destination.recording_id, "start_position", stop, start)
            if prepends
            else Change(destination.recording_id, "stop_position", start, stop)
        )
        changes = (Change(source.recording_id, "stop_position", stop, start), moved)
        length = source.segment_file_length
        files = (stop - source.segment_base(start) + length - 1) // length
    return RecordingPlan(
        f"move the segments of {_name(source)} to recording {destination.recording_id}; "
        f"recording {source.recording_id} is left empty",
        changes,
        files,
        files * source.segment_file_length,
        "moved",
        removal=_all_of(source),
        refusal=refusal,
    )


def _migration_refusal(source: RecordingDescriptor, destination: RecordingDescriptor) -> str | None:
    if source.is_active:
        return _still_active(source)
    for name, text in _MUST_MATCH:
        ours, theirs = getattr(source, name), getattr(destination, name)
        if ours != theirs:
            return f"the recordings differ in {text}: {ours} and {theirs}"
    start, stop = source.start_position, source.stop_position
    ends = ((stop, destination.start_position), (start, _stop(destination)))
    seam = next((ours for ours, theirs in ends if ours == theirs), None)
    if seam is None:
        return (
            f"the recordings do not join: {start} to {stop}, and "
            f"{destination.start_position} to {_text(_stop(destination))}"
        )
    if any(seam != one.segment_base(seam) for one in (source, destination)):
        return f"they join at position {seam}, where no segment begins"
    return None


def _all_of(recording: RecordingDescriptor) -> Removal:
    return Removal(recording_id=recording.recording_id, stop_position=_stop(recording))


def _files_before(recording: RecordingDescriptor) -> int:
    length = recording.segment_file_length
    return (recording.segment_base(recording.start_position) + length - 1) // length


def _stop(recording: RecordingDescriptor) -> int | None:
    return None if recording.is_active else recording.stop_position


def _still_active(recording: RecordingDescriptor) -> str:
    return (
        f"recording {recording.recording_id} is active: stop it first "
        f"(aerolog recordings stop {recording.recording_id})"
    )


def _name(recording: RecordingDescriptor) -> str:
    return (
        f"recording {recording.recording_id} "
        f"({recording.original_channel} stream {recording.stream_id})"
    )


def _text(value: Any) -> str:
    return "none" if value is None else str(value)
