"""Recordings cut or removed: ``truncate``, ``purge``."""

from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ArchiveOptions,
    ChangeOptions,
    RecordingArgument,
    grouped,
)
from aerolog.tools.recordings.recordings_group import app
from aerolog.tools.retention.options import RecordingRemovalOptions

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive
    from aerolog.tools.recordings.change_plans import RecordingPlan

PositionArgument = Annotated[
    int,
    typer.Argument(
        metavar="POSITION", help="Position in the stream, bytes.", min=0, show_default=False
    ),
]


@command(
    app,
    examples=(
        "recordings truncate 7 1048576 --dry-run",
        "recordings truncate 7 1048576 --yes --wait",
    ),
)
@grouped
def truncate(
    recording_id: RecordingArgument,
    position: PositionArgument,
    *,
    how: ChangeOptions,
    who: RecordingRemovalOptions,
    archive: ArchiveOptions,
) -> None:
    """Cut a stopped recording off at a position; what lies behind it is lost.

    The position has to be one after a message, as replay --format json shows it, or the start.
    """
    from aerolog.tools.recordings.change_plans import truncation
    from aerolog.tools.recordings.recording_change import after_replays, change, with_frame_checked
    from aerolog.tools.recordings.recording_rows import known_recording

    def plan(client: "AeronArchive") -> "RecordingPlan":
        recording = known_recording(client, recording_id)
        return with_frame_checked(client, recording, truncation(recording, position))

    change(
        archive,
        how,
        who,
        plan=plan,
        request=lambda client: after_replays(
            client, lambda: client.truncate_recording(recording_id, position)
        ),
        result=lambda files: (
            {"recording_id": recording_id, "stop_position": position, "segment_files": files},
            f"recording {recording_id} ends at position {position}; {files} segment files deleted",
        ),
    )


@command(app, examples=("recordings purge 7 --dry-run", "recordings purge 7 --yes --wait"))
@grouped
def purge(
    recording_id: RecordingArgument,
    *,
    how: ChangeOptions,
    who: RecordingRemovalOptions,
    archive: ArchiveOptions,
) -> None:
    """Remove a stopped recording from the catalog and delete its files."""
    from aerolog.tools.recordings import change_plans
    from aerolog.tools.recordings.recording_change import change
    from aerolog.tools.recordings.recording_rows import known_recording

    change(
        archive,
        how,
        who,
        plan=lambda client: change_plans.purge(known_recording(client, recording_id)),
        request=lambda client: client.purge_recording(recording_id),
        result=lambda files: (
            {"recording_id": recording_id, "segment_files": files},
            f"recording {recording_id} is removed; {files} segment files deleted",
        ),
    )
