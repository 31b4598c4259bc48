"""``aerolog subscribe``: print the messages of a stream."""

from typing import Annotated

import typer

from aerolog.tools.help import command
from aerolog.tools.messages import FormatOption, MessageFormat, MessageWriter
from aerolog.tools.options import (
    ChannelArgument,
    CountOption,
    DriverOptions,
    JsonOption,
    StreamArgument,
    grouped,
)

app = typer.Typer(add_completion=False)


@command(
    app,
    examples=(
        "subscribe aeron:ipc 1001",
        "subscribe aeron:udp?endpoint=localhost:20121 1001 --format json",
    ),
)
@grouped
def subscribe(
    channel: ChannelArgument,
    stream: StreamArgument,
    *,
    form: FormatOption = MessageFormat.TEXT,
    count: CountOption = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="Stop when the publishers have ended.")
    ] = False,
    as_json: JsonOption = False,
    driver: DriverOptions,
) -> None:
    """Print the messages of a stream until interrupted, or as many as asked for.

    JSON is one object a line with the columns of an export; payload_encoding says whether payload
    is text or base64.
    """
    from aerolog.tools.connecting import connect_driver
    from aerolog.tools.following import follow
    from aerolog.tools.watching import Watch

    writer = MessageWriter(MessageFormat.JSON if as_json else form)
    with (
        connect_driver(driver) as aeron,
        aeron.add_subscription(channel, stream) as subscription,
    ):
        follow(subscription, writer, count=count, until_end=until_end, watch=Watch(aeron))
