"""Recordings under way: ``stop``, ``extend``; and ``update-channel``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ArchiveOptions,
    ChannelArgument,
    ChannelOption,
    JsonOption,
    RecordingArgument,
    RemoteOption,
    StreamArgument,
    StreamOption,
    grouped,
)
from aerolog.tools.recordings.recordings_group import app

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive


@command(
    app,
    examples=(
        "recordings stop 7",
        "recordings stop --subscription 12",
        "recordings stop --channel aeron:ipc --stream 1001",
    ),
)
@grouped
def stop(
    recording_id: Annotated[
        int | None,
        typer.Argument(metavar="[ID]", help="Recording id.", min=0, show_default=False),
    ] = None,
    *,
    subscription: Annotated[
        int | None,
        typer.Option(
            "--subscription",
            metavar="ID",
            help="Stop a recording subscription and all that it records.",
            min=0,
        ),
    ] = None,
    channel: ChannelOption = None,
    stream: StreamOption = None,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Stop a recording, or all recordings of a subscription or of a channel and stream.

    Fails when there is nothing to stop. A recording that is stopped can be extended.
    """
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.terminal import console

    by_channel = channel is not None or stream is not None
    if by_channel and (channel is None or stream is None):
        raise typer.BadParameter("--channel and --stream belong together")
    if [recording_id is not None, subscription is not None, by_channel].count(True) != 1:
        raise typer.BadParameter("pass one of ID, --subscription, or --channel with --stream")
    with open_archive(archive) as client:
        if recording_id is not None:
            row: dict[str, Any] = {"recording_id": recording_id}
            row["stop_position"] = _stop_recording(client, recording_id)
            text = f"stopped recording {recording_id} at position {row['stop_position']}"
        elif subscription is not None:
            client.stop_recording_subscription(subscription)
            row = {"subscription_id": subscription}
            text = f"stopped recording subscription {subscription}"
        else:
            assert channel is not None
            assert stream is not None
            client.stop_recording(channel, stream)
            row = {"channel": channel, "stream_id": stream}
            text = f"stopped recording {channel} stream {stream}"
    console.print_result(row, text, as_json=as_json)


def _stop_recording(client: "AeronArchive", recording_id: int) -> int:
    from aerolog.tools.recordings.recording_rows import known_recording
    from aerolog.tools.recordings.recording_waits import wait_stopped
    from aerolog.transport.errors import AerologError

    known_recording(client, recording_id)
    if not client.stop_recording_by_identity(recording_id):
        raise AerologError(f"recording {recording_id} is not active")
    return wait_stopped(client, recording_id)


@command(
    app,
    examples=(
        "recordings extend 7 aeron:ipc 1001",
        "recordings extend 7 aeron:udp?endpoint=localhost:20121 1001 --wait",
    ),
)
@grouped
def extend(
    recording_id: RecordingArgument,
    channel: ChannelArgument,
    stream: StreamArgument,
    *,
    remote: RemoteOption = False,
    auto_stop: Annotated[
        bool, typer.Option("--auto-stop", help="Stop with the first publication that ends.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when the publication has come, not before.")
    ] = False,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Continue a stopped recording with a publication of a channel and stream.

    The publication has to start at the recording's stop position, with its initial term id, term
    length and mtu. The archive goes on waiting for it, and recording, after this command.
    """
    from aerolog.archive.client import SourceLocation
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.recordings.recording_waits import wait_extended
    from aerolog.tools.terminal import console

    location = SourceLocation.REMOTE if remote else SourceLocation.LOCAL
    row: dict[str, Any] = {"recording_id": recording_id}
    begun = ""
    with open_archive(archive) as client:
        subscription_id = client.extend_recording(
            recording_id, channel, stream, location, auto_stop=auto_stop or None
        )
        row["subscription_id"] = subscription_id
        if wait:
            row["position"] = wait_extended(client, client.last_correlation_id)
            begun = f" from position {row['position']}"
    text = (
        f"recording {recording_id} is extended by {channel} stream {stream} "
        f"(subscription {subscription_id}){begun}"
    )
    console.print_result(row, text, as_json=as_json)


@command(
    app,
    "update-channel",
    examples=("recordings update-channel 7 'aeron:ipc?alias=orders'",),
)
@grouped
def update_channel(
    recording_id: RecordingArgument,
    channel: ChannelArgument,
    *,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Change the channel that the catalog has for a recording.

    It is what recordings are found by; what is recorded stays as it is.
    """
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.recordings.recording_rows import known_recording
    from aerolog.tools.terminal import console

    with open_archive(archive) as client:
        before = known_recording(client, recording_id).original_channel
        client.update_channel(recording_id, channel)
    console.print_result(
        {"recording_id": recording_id, "original_channel": channel, "before": before},
        f"recording {recording_id}: channel {before} -> {channel}",
        as_json=as_json,
    )
