"""Recordings from another archive: ``replicate``, ``stop-replication``."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    INT32_RANGE,
    ArchiveOptions,
    ChannelArgument,
    FileIoOption,
    JsonOption,
    grouped,
    optional_channel,
)
from aerolog.tools.recordings.recordings_group import app

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive, RecordingSignalEvent
    from aerolog.tools.command_line.interrupts import HeldInterrupts
    from aerolog.tools.recordings.replicator import Replicated
    from aerolog.tools.recordings.source_position import SourceArchive


@dataclass(frozen=True, slots=True)
class ReplicationOptions:
    """What is replicated how."""

    source_stream: Annotated[
        int,
        typer.Option(
            "--source-stream", metavar="STREAM", help="Stream id of its requests.", **INT32_RANGE
        ),
    ] = 10
    into: Annotated[
        int | None,
        typer.Option("--into", metavar="ID", help="Go on with this recording.", min=0),
    ] = None
    live: Annotated[
        str | None,
        typer.Option(
            "--live",
            metavar="CHANNEL",
            help="Join this live stream when caught up.",
            callback=optional_channel,
        ),
    ] = None
    stop_position: Annotated[
        int | None,
        typer.Option("--stop-position", metavar="P", help="End at this position.", min=0),
    ] = None
    replication_channel: Annotated[
        str | None,
        typer.Option(
            "--replication-channel",
            metavar="CHANNEL",
            help="Where the source replays to.",
            callback=optional_channel,
        ),
    ] = None
    source_response_channel: Annotated[
        str | None,
        typer.Option(
            "--source-response-channel",
            metavar="CHANNEL",
            help="Where the source answers the archive.",
            callback=optional_channel,
        ),
    ] = None
    session_id: Annotated[
        int | None,
        typer.Option(
            "--session-id", metavar="N", help="Session id of the replication.", **INT32_RANGE
        ),
    ] = None
    channel_tag: Annotated[
        int | None, typer.Option("--channel-tag", metavar="N", help="Tag of its channel.")
    ] = None
    subscription_tag: Annotated[
        int | None,
        typer.Option("--subscription-tag", metavar="N", help="Tag of its subscription."),
    ] = None
    file_io_max_length: FileIoOption = None
    source_user: Annotated[
        str | None,
        typer.Option("--source-user", metavar="NAME", help="Who the archive is to the source."),
    ] = None
    source_password_file: Annotated[
        str | None,
        typer.Option(
            "--source-password-file", metavar="FILE", help="First line: that user's password."
        ),
    ] = None


@command(
    app,
    examples=(
        "recordings replicate 7 aeron:udp?endpoint=other:8010",
        "recordings replicate 7 aeron:udp?endpoint=other:8010 --into 3",
        "recordings replicate 7 aeron:udp?endpoint=other:8010 --detach",
    ),
)
@grouped
def replicate(
    source_id: Annotated[
        int,
        typer.Argument(
            metavar="ID", help="Recording in the source archive.", min=0, show_default=False
        ),
    ],
    source_channel: ChannelArgument,
    *,
    what: ReplicationOptions,
    detach: Annotated[
        bool, typer.Option("--detach", help="Leave it to the archive; print its id.")
    ] = False,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Copy a recording of another archive, which listens on CHANNEL, into a new one here.

    It ends with the source's recording, or goes on live. An interrupt stops it; --into goes on with
    what is there. JSON is a line for the start, each signal and the end.
    """
    from aerolog.tools.command_line.interrupts import HeldInterrupts
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.connection.credentials import password_of
    from aerolog.tools.terminal.console import print_json_line, say

    if what.live is not None and what.session_id is not None:
        raise typer.BadParameter("--live has the session id of its publication: no --session-id")
    user = password_of(what.source_user, what.source_password_file, "--source-")
    source = _Source(
        source_id, source_channel, b"" if user is None else user.encoded_credentials(), what
    )
    with open_archive(archive) as client, HeldInterrupts() as interrupts:
        replication_id = source.start(client)
        if as_json:
            print_json_line({"event": "started", "replication_id": replication_id})
        elif detach:
            say(str(replication_id))
        if detach:
            return
        replicated = _follow(client, replication_id, source, as_json, interrupts)
    if as_json:
        print_json_line({"event": "ended"} | replicated.row())
    else:
        say(_text(replicated))


@command(app, "stop-replication", examples=("recordings stop-replication 12",))
@grouped
def stop_replication(
    replication_id: Annotated[
        int,
        typer.Argument(
            metavar="ID", help="As replicate --detach prints it.", min=0, show_default=False
        ),
    ],
    *,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Stop a replication; what it has copied stays. Fails when it is over."""
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.terminal import console

    with open_archive(archive) as client:
        client.stop_replication(replication_id)
    console.print_result(
        {"replication_id": replication_id},
        f"stopped replication {replication_id}",
        as_json=as_json,
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of a replication, and the options of the command."""

    recording_id: int
    channel: str
    credentials: bytes = field(repr=False)
    what: ReplicationOptions

    def start(self, client: "AeronArchive") -> int:
        """Starts the replication; its id."""
        what = self.what
        return client.replicate(
            self.recording_id,
            self.channel,
            what.source_stream,
            dst_recording_id=what.into,
            live_destination=what.live,
            stop_position=what.stop_position,
            channel_tag_id=what.channel_tag,
            subscription_tag_id=what.subscription_tag,
            replication_channel=what.replication_channel,
            replication_session_id=what.session_id,
            file_io_max_length=what.file_io_max_length,
            credentials=self.credentials,
            src_response_channel=what.source_response_channel,
        )

    def archive(self, client: "AeronArchive") -> "SourceArchive":
        """The source archive, to be asked how far its recording is."""
        from aerolog.tools.recordings.source_position import SourceArchive

        return SourceArchive(
            client.aeron,
            self.recording_id,
            self.channel,
            self.what.source_stream,
            timeout=client.options.message_timeout,
            credentials=self.credentials,
        )


def _follow(
    client: "AeronArchive",
    replication_id: int,
    source: _Source,
    as_json: bool,
    interrupts: "HeldInterrupts",
) -> "Replicated":
    from contextlib import closing

    from aerolog.tools.recordings.replicator import Replicator
    from aerolog.tools.recordings.source_position import SourceEnd
    from aerolog.tools.terminal.console import remark, transfer_progress
    from aerolog.transport.errors import ArchiveError

    replicator = Replicator(client, replication_id, on_signal=_print_signal(as_json))
    archive = source.archive(client)
    with closing(archive), transfer_progress("replicating") as bar:
        try:
            return replicator.run(
                bar.update,
                SourceEnd(archive, source.what.stop_position),
                on_turn=interrupts.check,
            )
        except BaseException as ending:
            # Whatever ends the command early, an interrupt above all, ends the replication, too,
            # unless it is over and the archive says why.
            failed = isinstance(ending, ArchiveError) and ending.correlation_id == replication_id
            if not failed and not client.is_disconnected and not client.aeron.closed:
                stopped = replicator.stop()
                if not isinstance(ending, Exception):
                    remark(_text(stopped))
            raise


def _print_signal(as_json: bool) -> Any:
    from aerolog.archive.client import RecordingSignal
    from aerolog.tools.terminal.console import print_json_line

    def show(signal: "RecordingSignalEvent") -> None:
        if as_json:
            print_json_line(
                {
                    "event": RecordingSignal(signal.signal).name.lower(),
                    "recording_id": None if signal.recording_id < 0 else signal.recording_id,
                    "position": None if signal.position < 0 else signal.position,
                }
            )

    return show


def _text(replicated: "Replicated") -> str:
    if replicated.recording_id is None:
        return f"replication {replicated.replication_id} has made no recording"
    how = "replicated"
    if replicated.synced:
        how = "replicated completely"
    elif replicated.merged:
        how = "replicated and joined live, where it goes on"
    return f"recording {replicated.recording_id}: {how}, at position {replicated.position}"
