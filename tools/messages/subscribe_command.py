"""``aerolog subscribe``: print the messages of a stream."""

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ChannelArgument,
    CountOption,
    DriverOptions,
    JsonOption,
    StreamArgument,
    UntilEndOption,
    grouped,
)
from aerolog.tools.messages.message_output import FormatOption, MessageFormat, MessageWriter

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
    until_end: UntilEndOption = False,
    as_json: JsonOption = False,
    driver: DriverOptions,
) -> None:
    """Print the messages of a stream until interrupted, or as many as asked for.

    JSON is one object a line with the columns of an export; payload_encoding says whether payload
    is text or base64.
    """
    from aerolog.tools.connection.clients import connect_driver
    from aerolog.tools.connection.liveness import Watch
    from aerolog.tools.messages.subscription_output import follow

    writer = MessageWriter(MessageFormat.JSON if as_json else form)
    with (
        connect_driver(driver) as aeron,
        aeron.add_subscription(channel, stream) as subscription,
    ):
        follow(subscription, writer, count=count, until_end=until_end, watch=Watch(aeron))
