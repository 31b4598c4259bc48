"""Looking at recordings: ``list``, ``describe``, ``subscriptions``."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ArchiveDirOption,
    ArchiveOptions,
    JsonOption,
    RecordingArgument,
    StreamOption,
    grouped,
)
from aerolog.tools.recordings.recordings_group import app

ChannelTextOption = Annotated[
    str, typer.Option("--channel", metavar="TEXT", help="Channels that contain this text.")
]


@command(
    app,
    "list",
    examples=(
        "recordings list --stream 1001",
        "recordings list --json | jq .[].position",
        "recordings list --archive-dir aeron-archive",
    ),
)
@grouped
def list_recordings(
    *,
    channel: ChannelTextOption = "",
    stream: StreamOption = None,
    from_id: Annotated[
        int, typer.Option("--from", metavar="ID", help="First recording id.", min=0)
    ] = 0,
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", help="At most N recordings.", min=0)
    ] = None,
    as_json: JsonOption = False,
    archive_dir: ArchiveDirOption = None,
    archive: ArchiveOptions,
) -> None:
    """List recordings, by id.

    position is how far a recording is recorded now. JSON has all fields of the catalog. A folder's
    recordings that are damaged are named on standard error, and the exit code is 1.
    """
    from aerolog.tools.command_line.exit_codes import EXIT_FAILED
    from aerolog.tools.recordings import recording_rows as view
    from aerolog.tools.terminal import console

    damages: list[str] = []
    if archive_dir is None:
        source = _of_archive(archive, channel, stream, from_id)
    else:
        source = (
            row
            for row in view.rows_of_folder(archive_dir, from_id, damages)
            if channel in row["original_channel"] and stream in {None, row["stream_id"]}
        )
    rows = list(islice(source, count))
    if as_json:
        console.print_json(rows)
    else:
        people = [view.shown(row) for row in rows]
        console.print_table(
            view.LIST_COLUMNS,
            ([row[name] for name in view.LIST_COLUMNS] for row in people),
            right=view.RIGHT_COLUMNS,
        )
    for damage in damages:
        console.remark(f"aerolog: {damage}")
    if damages:
        raise typer.Exit(EXIT_FAILED)


def _of_archive(
    options: ArchiveOptions, channel: str, stream: int | None, from_id: int
) -> Iterator[dict[str, Any]]:
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.recordings.recording_rows import row_of_archive

    with open_archive(options) as archive:
        for descriptor in archive.recordings(
            from_recording_id=from_id, channel=channel, stream_id=stream
        ):
            yield row_of_archive(archive, descriptor)


@command(
    app, examples=("recordings describe 7", "recordings describe 7 --archive-dir aeron-archive")
)
@grouped
def describe(
    recording_id: RecordingArgument,
    *,
    as_json: JsonOption = False,
    archive_dir: ArchiveDirOption = None,
    archive: ArchiveOptions,
) -> None:
    """Print everything the catalog says about one recording."""
    from aerolog.tools.recordings import recording_rows as view
    from aerolog.tools.terminal import console

    if archive_dir:
        from aerolog.archive.format.archive_folder import ArchiveFolder

        with ArchiveFolder(archive_dir) as folder:
            values = view.row_of_folder(folder.recording(recording_id))
    else:
        from aerolog.tools.connection.clients import open_archive

        with open_archive(archive) as client:
            values = view.row_of_archive(client, view.known_recording(client, recording_id))
    if as_json:
        console.print_json(values)
    else:
        console.print_fields(view.shown(values))


@command(app, examples=("recordings subscriptions", "recordings subscriptions --stream 1001"))
@grouped
def subscriptions(
    *,
    channel: ChannelTextOption = "",
    stream: StreamOption = None,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """List what the archive listens to in order to record it.

    Such a subscription may record several publications, or wait for the first one. Stop it by its
    id: aerolog recordings stop --subscription ID.
    """
    from dataclasses import asdict

    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.recordings.recording_rows import recording_subscriptions
    from aerolog.tools.terminal import console

    with open_archive(archive) as client:
        rows = [asdict(one) for one in recording_subscriptions(client, channel, stream)]
    if as_json:
        console.print_json(rows)
    else:
        columns = ("subscription_id", "stream_id", "stripped_channel")
        console.print_table(
            columns, ([row[name] for name in columns] for row in rows), right=columns[:2]
        )
