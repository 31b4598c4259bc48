"""``aerolog publish``: send lines, records or generated messages."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Annotated, Any, BinaryIO

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ChannelArgument,
    DriverOptions,
    FrameSizeOption,
    JsonOption,
    SizeOption,
    StreamArgument,
    WaitOption,
    grouped,
)
from aerolog.tools.messages import message_input

app = typer.Typer(add_completion=False)

_DEFAULT_SIZE = 32


@command(
    app,
    examples=(
        "publish aeron:ipc 1001 --file lines.txt",
        "publish aeron:udp?endpoint=localhost:20121 1001 --count 9 --rate 1",
    ),
)
@grouped
def publish(
    channel: ChannelArgument,
    stream: StreamArgument,
    *,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="F", help="Read from this file; - is standard input."),
    ] = None,
    frame_size: FrameSizeOption = None,
    count: Annotated[
        int | None,
        typer.Option("--count", metavar="N", help="Send N messages and stop.", min=0),
    ] = None,
    size: SizeOption = None,
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="N", help="Send N messages a second.", min=0.001),
    ] = None,
    wait: WaitOption = 10.0,
    as_json: JsonOption = False,
    driver: DriverOptions,
) -> None:
    """Send one message a line, or fixed-size records, from a file or standard input.

    With --size, or --count without --file, messages are generated: their number, from 0, in
    decimal with zeros before it, --size bytes long (32 by default).
    """
    from aerolog.tools.connection.clients import connect_driver
    from aerolog.tools.connection.liveness import Watch
    from aerolog.tools.messages.publisher import MessagePublisher
    from aerolog.tools.terminal.console import progress

    if size is not None and (file is not None or frame_size is not None):
        raise typer.BadParameter("--size generates messages: not with --file or --frame-size")
    generated = size is not None or (count is not None and file is None and frame_size is None)
    with ExitStack() as stack:
        batches = (
            message_input.generate(size or _DEFAULT_SIZE, count)
            if generated
            else _read(
                stack.enter_context(message_input.open_input(file or "-")), frame_size, count
            )
        )
        aeron = stack.enter_context(connect_driver(driver))
        publication = stack.enter_context(aeron.add_exclusive_publication(channel, stream))
        publication.wait_connected(wait)
        bar = stack.enter_context(progress("publishing", count))
        publisher = MessagePublisher(
            publication,
            rate=rate,
            reconnect_timeout=wait,
            on_progress=lambda done: bar.update(done.messages),
            watch=Watch(aeron),
        )
        try:
            publisher.send(batches)
        finally:
            summary = _summary(publisher, publication)
    _print_summary(summary, as_json)


def _read(source: BinaryIO, frame_size: int | None, count: int | None) -> Iterator[list[bytes]]:
    batches = (
        message_input.read_lines(source)
        if frame_size is None
        else message_input.read_records(source, frame_size)
    )
    return batches if count is None else message_input.first(batches, count)


def _summary(publisher: Any, publication: Any) -> dict[str, Any]:
    published = publisher.published
    return {
        "channel": publication.channel,
        "stream_id": publication.stream_id,
        "session_id": publication.session_id,
        "messages": published.messages,
        "payload_bytes": published.payload_bytes,
        "position": publication.position,
        "seconds": round(publisher.elapsed_s, 6),
    }


def _print_summary(summary: dict[str, Any], as_json: bool) -> None:
    from aerolog.tools.terminal.console import print_json, say

    if as_json:
        print_json(summary)
        return
    rate = summary["messages"] / summary["seconds"] if summary["seconds"] else 0.0
    say(
        f"published {summary['messages']} messages, {summary['payload_bytes']} bytes, "
        f"in {summary['seconds']:.3f} s ({rate:,.0f}/s), session {summary['session_id']}, "
        f"position {summary['position']}"
    )
