"""``aerolog tail``: print a recording, then its live stream."""

from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    INT32_RANGE,
    ArchiveOptions,
    CountOption,
    JsonOption,
    check_channel,
    grouped,
    optional_channel,
)
from aerolog.tools.messages.message_output import FormatOption, MessageFormat, MessageWriter
from aerolog.transport.config.values import whole_number

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive
    from aerolog.tools.replay.recording_tail import Tail

app = typer.Typer(add_completion=False)


START = "start"
LIVE = "live"


def _check_begin(begin: str) -> str:
    if begin not in {START, LIVE} and whole_number(begin) is None:
        raise typer.BadParameter(f"{begin!r} is neither start nor live nor a position")
    return begin


@command(
    app,
    examples=(
        "tail 7",
        "tail aeron:ipc 1001 --format json",
        "tail aeron:udp?endpoint=localhost:20121 1001 --from live --count 10",
    ),
)
@grouped
def tail(
    what: Annotated[
        str,
        typer.Argument(metavar="ID|CHANNEL", help="Recording id, or channel.", show_default=False),
    ],
    stream: Annotated[
        int | None,
        typer.Argument(
            metavar="[STREAM]",
            help="Stream id, with a channel.",
            show_default=False,
            **INT32_RANGE,
        ),
    ] = None,
    *,
    begin: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="WHERE",
            help="start of the recording, live, or a position in it.",
            callback=_check_begin,
        ),
    ] = START,
    count: CountOption = None,
    form: FormatOption = MessageFormat.TEXT,
    live: Annotated[
        str | None,
        typer.Option(
            "--live",
            metavar="CHANNEL",
            help="Where the stream is live, if the recording's channel does not tell.",
            callback=optional_channel,
        ),
    ] = None,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Print a recording and go on with its live stream, without a gap, until the recording ends.

    By channel and stream it is the newest recording of them, if there is one, one that is active.
    JSON is an object a line with the columns of an export.
    """
    recording_id = _recording_id(what, stream)
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.recordings.recording_rows import known_recording
    from aerolog.tools.replay.recording_tail import find_recording, tail_of

    writer = MessageWriter(MessageFormat.JSON if as_json else form)
    with open_archive(archive) as client:
        recording = (
            find_recording(client, what, stream)
            if recording_id is None and stream is not None
            else known_recording(client, recording_id or 0)
        )
        writer.recording = recording
        found = tail_of(client, recording, live)
        if found.is_active:
            _follow(client, found, writer, begin, count)
        else:
            _replay(client, found, writer, begin, count)


def _recording_id(what: str, stream: int | None) -> int | None:
    recording_id = whole_number(what)
    if recording_id is not None:
        if stream is not None:
            raise typer.BadParameter("a recording id comes without a stream id")
        return recording_id
    check_channel(what)
    if stream is None:
        raise typer.BadParameter("a channel comes with a stream id: CHANNEL STREAM")
    return None


def _follow(
    client: "AeronArchive",
    found: "Tail",
    writer: MessageWriter,
    begin: str,
    count: int | None,
) -> None:
    from aerolog.archive.client import (
        FROM_LIVE,
        FROM_START,
        JoinTrouble,
        PersistentSubscription,
    )
    from aerolog.tools.replay.recording_tail import archive_options, print_tail

    words = {START: FROM_START, LIVE: FROM_LIVE}
    with PersistentSubscription(
        client.aeron,
        recording_id=found.recording.recording_id,
        live_channel=found.live_channel,
        live_stream_id=found.recording.stream_id,
        start_position=words[begin] if begin in words else int(begin),
        counters=False,
        **archive_options(client),
    ) as stream:
        print_tail(client, stream, found, writer, count=count, trouble=JoinTrouble)


def _replay(
    client: "AeronArchive",
    found: "Tail",
    writer: MessageWriter,
    begin: str,
    count: int | None,
) -> None:
    from aerolog.tools.replay.replayer import print_replay, range_in_archive
    from aerolog.tools.terminal.console import remark

    if begin == LIVE:
        remark(f"recording {found.recording.recording_id} is not live")
        return
    part = range_in_archive(
        client,
        found.recording.recording_id,
        None if begin == START else int(begin),
        None,
        follow_live=False,
    )
    print_replay(client, part, writer, lambda _: None, count=count)
