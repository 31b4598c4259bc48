"""``aerolog recordings``: list, describe, stop and extend recordings."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from aerolog.tools.options import (
    ArchiveDirOption,
    ArchiveOptions,
    ChannelArgument,
    JsonOption,
    RecordingArgument,
    StreamArgument,
    StreamOption,
    grouped,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="List, describe, stop and extend recordings.",
)


@app.command("list")
@grouped
def list_recordings(
    *,
    channel: Annotated[
        str, typer.Option("--channel", metavar="TEXT", help="Channels that contain this text.")
    ] = "",
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
    from aerolog.tools import console
    from aerolog.tools import recordings_view as view
    from aerolog.tools.exits import EXIT_FAILED

    wanted = (channel, stream, from_id)
    damaged: list[int] = []
    source = (
        _of_folder(archive_dir, *wanted, damaged) if archive_dir else _of_archive(archive, *wanted)
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
    if damaged:
        raise typer.Exit(EXIT_FAILED)


def _of_folder(
    archive_dir: str, channel: str, stream: int | None, from_id: int, damaged: list[int]
) -> Iterator[dict[str, Any]]:
    from aerolog.archive.files.recording import ArchiveFolder
    from aerolog.tools.console import remark
    from aerolog.tools.recordings_view import rows_of_folder
    from aerolog.transport.errors import FileFormatError

    def note(recording_id: int, error: FileFormatError) -> None:
        if recording_id >= from_id:
            damaged.append(recording_id)
            remark(f"aerolog: recording {recording_id} is damaged: {error}")

    with ArchiveFolder(archive_dir) as folder:
        for row in rows_of_folder(folder, note):
            if (
                row["recording_id"] >= from_id
                and channel in row["original_channel"]
                and stream in {None, row["stream_id"]}
            ):
                yield row


def _of_archive(
    options: ArchiveOptions, channel: str, stream: int | None, from_id: int
) -> Iterator[dict[str, Any]]:
    from aerolog.tools.connecting import connect_archive, connect_driver
    from aerolog.tools.recordings_view import row_of_archive

    with connect_driver(options) as aeron, connect_archive(aeron, options) as archive:
        for descriptor in archive.recordings(
            from_recording_id=from_id, channel=channel, stream_id=stream
        ):
            yield row_of_archive(archive, descriptor)


@app.command()
@grouped
def describe(
    recording_id: RecordingArgument,
    *,
    as_json: JsonOption = False,
    archive_dir: ArchiveDirOption = None,
    archive: ArchiveOptions,
) -> None:
    """Print everything the catalog says about one recording."""
    from aerolog.tools import console
    from aerolog.tools import recordings_view as view

    if archive_dir:
        from aerolog.archive.files.recording import ArchiveFolder

        with ArchiveFolder(archive_dir) as folder:
            values = view.row_of_folder(folder.recording(recording_id))
    else:
        from aerolog.tools.connecting import connect_archive, connect_driver

        with connect_driver(archive) as aeron, connect_archive(aeron, archive) as client:
            values = view.row_of_archive(client, view.known_recording(client, recording_id))
    if as_json:
        console.print_json(values)
    else:
        console.print_fields(view.shown(values))


@app.command()
@grouped
def stop(
    recording_id: RecordingArgument, *, as_json: JsonOption = False, archive: ArchiveOptions
) -> None:
    """Stop a recording; fails when it is not active."""
    from aerolog.tools import console
    from aerolog.tools.connecting import connect_archive, connect_driver
    from aerolog.tools.recordings_view import known_recording
    from aerolog.tools.recordings_wait import wait_stopped
    from aerolog.transport.errors import AerologError

    with connect_driver(archive) as aeron, connect_archive(aeron, archive) as client:
        known_recording(client, recording_id)
        if not client.stop_recording_by_identity(recording_id):
            raise AerologError(f"recording {recording_id} is not active")
        position = wait_stopped(client, recording_id)
    if as_json:
        console.print_json({"recording_id": recording_id, "stop_position": position})
    else:
        console.say(f"stopped recording {recording_id} at position {position}")


@app.command()
@grouped
def extend(
    recording_id: RecordingArgument,
    channel: ChannelArgument,
    stream: StreamArgument,
    *,
    remote: Annotated[
        bool, typer.Option("--remote", help="Subscribe instead of spying (they differ for UDP).")
    ] = False,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Continue a stopped recording with a publication of a channel and stream.

    The publication has to start at the recording's stop position, with its initial term id, term
    length and mtu. The archive goes on waiting for it, and recording, after this command.
    """
    from aerolog.archive.client import SourceLocation
    from aerolog.tools import console
    from aerolog.tools.connecting import connect_archive, connect_driver

    location = SourceLocation.REMOTE if remote else SourceLocation.LOCAL
    with connect_driver(archive) as aeron, connect_archive(aeron, archive) as client:
        subscription_id = client.extend_recording(recording_id, channel, stream, location)
    if as_json:
        console.print_json({"recording_id": recording_id, "subscription_id": subscription_id})
    else:
        console.say(
            f"recording {recording_id} is extended by {channel} stream {stream} "
            f"(subscription {subscription_id})"
        )
