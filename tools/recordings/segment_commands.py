"""Segment files: ``detach``, ``attach``, ``delete-detached``, ``purge-segments``, ``migrate``."""

from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ArchiveOptions,
    ChangeOptions,
    DryRunOption,
    JsonOption,
    RecordingArgument,
    grouped,
)
from aerolog.tools.recordings.recordings_group import app
from aerolog.tools.retention.options import RecordingRemovalOptions

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive
    from aerolog.tools.recordings.change_plans import RecordingPlan

StartArgument = Annotated[
    int,
    typer.Argument(
        metavar="POSITION", help="Where a segment begins: the new start.", min=0, show_default=False
    ),
]


def _detachment(
    client: "AeronArchive", recording_id: int, position: int, delete: bool
) -> "RecordingPlan":
    from aerolog.tools.recordings.change_plans import detachment
    from aerolog.tools.recordings.recording_rows import known_recording

    recording = known_recording(client, recording_id)
    end = client.max_recorded_position(recording_id)
    return detachment(
        recording, recording.start_position if end is None else end, position, delete=delete
    )


@command(
    app,
    examples=("recordings detach 7 134217728", "recordings detach 7 134217728 --dry-run --json"),
)
@grouped
def detach(
    recording_id: RecordingArgument,
    position: StartArgument,
    *,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    who: RecordingRemovalOptions,
    archive: ArchiveOptions,
) -> None:
    """Move the start of a recording forward and leave the files before it alone.

    A recording that is active can be shortened like that, too. `attach` takes the files back,
    `delete-detached` deletes them.
    """
    from aerolog.tools.recordings.recording_change import change

    def request(client: "AeronArchive") -> int:
        client.detach_segments(recording_id, position)
        return 0

    change(
        archive,
        ChangeOptions(dry_run=dry_run, as_json=as_json),
        who,
        plan=lambda client: _detachment(client, recording_id, position, delete=False),
        request=request,
        result=lambda _: (
            {"recording_id": recording_id, "start_position": position},
            f"recording {recording_id} starts at position {position}",
        ),
        signals=False,
        asks=False,
    )


@command(app, examples=("recordings attach 7",))
@grouped
def attach(
    recording_id: RecordingArgument,
    *,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Take segment files that lie before a recording's start back into it.

    They are taken from its start backwards as long as there is one.
    """
    from aerolog.tools.recordings.change_plans import attachment
    from aerolog.tools.recordings.recording_change import change
    from aerolog.tools.recordings.recording_rows import known_recording

    start: list[int | None] = []

    def request(client: "AeronArchive") -> int:
        files = client.attach_segments(recording_id)
        start.append(client.start_position(recording_id))
        return files

    change(
        archive,
        ChangeOptions(dry_run=dry_run, as_json=as_json),
        RecordingRemovalOptions(),
        plan=lambda client: attachment(known_recording(client, recording_id)),
        request=request,
        result=lambda files: (
            {"recording_id": recording_id, "segment_files": files, "start_position": start[0]},
            f"{files} segment files attached: recording {recording_id} starts at {start[0]}",
        ),
        signals=False,
        asks=False,
    )


@command(app, "delete-detached", examples=("recordings delete-detached 7 --yes --wait",))
@grouped
def delete_detached(
    recording_id: RecordingArgument,
    *,
    how: ChangeOptions,
    who: RecordingRemovalOptions,
    archive: ArchiveOptions,
) -> None:
    """Delete the segment files before a recording's start, which `detach` left."""
    from aerolog.tools.recordings.change_plans import deletion_of_detached
    from aerolog.tools.recordings.recording_change import change
    from aerolog.tools.recordings.recording_rows import known_recording

    change(
        archive,
        how,
        who,
        plan=lambda client: deletion_of_detached(known_recording(client, recording_id)),
        request=lambda client: client.delete_detached_segments(recording_id),
        result=lambda files: (
            {"recording_id": recording_id, "segment_files": files},
            f"recording {recording_id}: {files} detached segment files deleted",
        ),
    )


@command(
    app,
    "purge-segments",
    examples=(
        "recordings purge-segments 7 134217728 --dry-run",
        "recordings purge-segments 7 134217728 --yes --wait",
    ),
)
@grouped
def purge_segments(
    recording_id: RecordingArgument,
    position: StartArgument,
    *,
    how: ChangeOptions,
    who: RecordingRemovalOptions,
    archive: ArchiveOptions,
) -> None:
    """Move the start of a recording forward and delete the files before it.

    A recording that is active can be shortened like that, too.
    """
    from aerolog.tools.recordings.recording_change import change

    change(
        archive,
        how,
        who,
        plan=lambda client: _detachment(client, recording_id, position, delete=True),
        request=lambda client: client.purge_segments(recording_id, position),
        result=lambda files: (
            {"recording_id": recording_id, "start_position": position, "segment_files": files},
            f"recording {recording_id} starts at {position}; {files} segment files deleted",
        ),
    )


@command(app, examples=("recordings migrate 8 7 --dry-run", "recordings migrate 8 7 --yes"))
@grouped
def migrate(
    source_id: Annotated[
        int,
        typer.Argument(metavar="SOURCE", help="Recording to move from.", min=0, show_default=False),
    ],
    destination_id: Annotated[
        int,
        typer.Argument(
            metavar="DESTINATION", help="Recording to move to.", min=0, show_default=False
        ),
    ],
    *,
    how: ChangeOptions,
    who: RecordingRemovalOptions,
    archive: ArchiveOptions,
) -> None:
    """Move the segment files of one recording to the beginning or end of another.

    One has to end where the other starts, at the beginning of a segment. The source is left empty.
    """
    from aerolog.tools.recordings.change_plans import migration
    from aerolog.tools.recordings.recording_change import change
    from aerolog.tools.recordings.recording_rows import known_recording

    change(
        archive,
        how,
        who,
        plan=lambda client: migration(
            known_recording(client, source_id), known_recording(client, destination_id)
        ),
        request=lambda client: client.migrate_segments(source_id, destination_id),
        result=lambda files: (
            {
                "src_recording_id": source_id,
                "dst_recording_id": destination_id,
                "segment_files": files,
            },
            f"{files} segment files moved from recording {source_id} to {destination_id}",
        ),
        goes_on="the archive deletes the empty rest now",
    )
