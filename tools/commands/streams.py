"""``aerolog streams``: where everybody stands in each stream, and what limits it."""

from typing import Annotated

import typer

from aerolog.tools.help import command
from aerolog.tools.options import JsonOption, seconds_parser
from aerolog.tools.stat.options import (
    AeronDirOption,
    ChannelsOption,
    ClassicOption,
    IntervalOption,
    SessionOption,
    StreamsOption,
    UpdatesOption,
    WatchOption,
    check_forms,
)

app = typer.Typer(add_completion=False)


@command(
    app,
    examples=(
        "streams",
        "streams --stream ^1001$ --watch",
        "streams --json | jq '.streams[].limited_by.kind'",
        "streams --classic",
    ),
)
def streams(
    *,
    session: SessionOption = None,
    stream: StreamsOption = None,
    channel: ChannelsOption = None,
    sample: Annotated[
        float,
        typer.Option(
            "--sample",
            metavar="TIME",
            help="Between the two looks that rates are made of; 0 for a single look.",
            parser=seconds_parser("--sample"),
        ),
    ] = 0.25,
    watch: WatchOption = False,
    interval: IntervalOption = 1.0,
    updates: UpdatesOption = None,
    as_json: JsonOption = False,
    classic: ClassicOption = False,
    aeron_dir: AeronDirOption = None,
) -> None:
    """Print where each publisher, sender, receiver, subscriber and recording stands.

    Below each stream stands what limits it now: a slow subscriber (which), flow control, the
    receiver's window, congestion, loss, the publisher's window, its sender, or nothing.
    """
    check_forms(as_json=as_json, classic=classic, watch=watch)
    from aerolog.tools.stat import classic_streams, stream_commands
    from aerolog.tools.stat.counters import filters_of
    from aerolog.tools.stat.watching import Schedule

    filters = filters_of((), {"session": session, "stream": stream, "channel": channel})
    if classic:
        stream_commands.classic(aeron_dir, classic_streams.stream_stat)
        return
    schedule = Schedule(watch=watch, interval_s=interval, updates=updates)
    stream_commands.show_streams(aeron_dir, filters, schedule, sample_s=sample, as_json=as_json)
