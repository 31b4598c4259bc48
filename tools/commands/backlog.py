"""``aerolog backlog``: what waits for whom in a driver's streams."""

from typing import Annotated

import typer

from aerolog.tools.help import command
from aerolog.tools.options import JsonOption
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
    examples=("backlog", "backlog --at-least 1 --watch", "backlog --json", "backlog --classic"),
)
def backlog(
    *,
    session: SessionOption = None,
    stream: StreamsOption = None,
    channel: ChannelsOption = None,
    at_least: Annotated[
        int,
        typer.Option("--at-least", metavar="BYTES", help="Only backlogs of so many bytes.", min=0),
    ] = 0,
    watch: WatchOption = False,
    interval: IntervalOption = 1.0,
    updates: UpdatesOption = None,
    as_json: JsonOption = False,
    classic: ClassicOption = False,
    aeron_dir: AeronDirOption = None,
) -> None:
    """Print what waits to be sent, repaired, read and recorded, the longest backlog first.

    The window is what may still be sent or published before somebody has to wait.
    """
    check_forms(as_json=as_json, classic=classic, watch=watch)
    from aerolog.tools.stat import classic_streams, stream_commands
    from aerolog.tools.stat.counters import filters_of
    from aerolog.tools.stat.watching import Schedule

    filters = filters_of((), {"session": session, "stream": stream, "channel": channel})
    if classic:
        stream_commands.classic(aeron_dir, classic_streams.backlog_stat)
        return
    schedule = Schedule(watch=watch, interval_s=interval, updates=updates)
    stream_commands.show_backlogs(aeron_dir, filters, schedule, at_least=at_least, as_json=as_json)
