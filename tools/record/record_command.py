"""``aerolog record``: record a stream."""

from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ArchiveOptions,
    ChannelArgument,
    DurationOption,
    JsonOption,
    RemoteOption,
    StreamArgument,
    UntilEndOption,
    grouped,
)

if TYPE_CHECKING:
    from aerolog.tools.record.recorder import Recorded

app = typer.Typer(add_completion=False)


@command(
    app,
    examples=(
        "record aeron:ipc 1001",
        "record aeron:ipc 1001 --until-end --json",
        "record aeron:udp?endpoint=224.0.1.1:40456 1001 --remote --duration 5m",
    ),
)
@grouped
def record(
    channel: ChannelArgument,
    stream: StreamArgument,
    *,
    duration: DurationOption = None,
    messages: Annotated[
        int | None,
        typer.Option("--messages", metavar="N", help="Stop when N messages are recorded.", min=1),
    ] = None,
    until_end: UntilEndOption = False,
    remote: RemoteOption = False,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Record a stream until interrupted, and print the id of each recording as it begins.

    Every publication of the stream is a recording of its own. Standard output has the recording
    ids, a line each; standard error says more. JSON is a line for each recording that starts or
    stops.
    """
    from aerolog.archive.client import SourceLocation
    from aerolog.tools.command_line.interrupts import HeldInterrupts
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.record.recorder import Recorder
    from aerolog.tools.terminal.console import progress, remark
    from aerolog.transport.concurrent.deadline import Deadline

    if is_control_stream(archive, channel, stream):
        remark(
            f"{channel} stream {stream} is where the archive takes its requests: "
            "what is recorded are those, too"
        )
    until = None if duration is None else Deadline(duration)
    report = _print_json if as_json else _print_text
    with (
        open_archive(archive) as client,
        HeldInterrupts() as interrupts,
    ):
        recorder = Recorder(
            client.aeron,
            client,
            channel,
            stream,
            location=SourceLocation.REMOTE if remote else SourceLocation.LOCAL,
            count_messages=messages is not None,
            on_event=report,
        )
        try:
            with progress("recording", messages) as bar:

                def turn() -> None:
                    interrupts.check()
                    bar.update(recorder.messages)

                recorder.run(until=until, messages=messages, until_end=until_end, on_turn=turn)
        finally:
            recorder.stop()


def is_control_stream(archive: ArchiveOptions, channel: str, stream: int) -> bool:
    """Whether somebody is about to record what all clients say to the archive, by mistake."""
    from aerolog.transport.uri import ChannelUri

    if stream != archive.control_stream:
        return False
    recorded, control = ChannelUri.parse(channel), ChannelUri.parse(archive.control_channel)
    if recorded.is_ipc and control.is_ipc:
        return "session-id" not in recorded
    return recorded.get("endpoint") == control.get("endpoint") is not None


def _print_json(event: str, recorded: "Recorded") -> None:
    from aerolog.tools.terminal.console import print_json_line

    print_json_line(
        {
            "event": event,
            "recording_id": recorded.recording_id,
            "session_id": recorded.session_id,
            "start_position": recorded.start_position,
            "stop_position": recorded.stop_position,
        }
    )


def _print_text(event: str, recorded: "Recorded") -> None:
    from aerolog.tools.terminal.console import remark, say

    if event == "started":
        say(str(recorded.recording_id))
        remark(
            f"recording {recorded.recording_id}: session {recorded.session_id} "
            f"from position {recorded.start_position}"
        )
    else:
        remark(f"recording {recorded.recording_id}: stopped at {recorded.stop_position}")
