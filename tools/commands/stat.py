"""``aerolog stat``: all counters of a driver."""

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
    examples=(
        "stat",
        "stat type=^12$ channel=localhost --watch",
        "stat --json | jq '.counters[] | select(.value > 0) | .label'",
        "stat --classic watch=false",
    ),
)
def stat(
    filters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=REGEX]...",
            help="Filters as the reference writes them: type, identity, session, stream, channel.",
            show_default=False,
        ),
    ] = None,
    *,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="REGEX", help="Type ids that contain a match.")
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option("--identity", metavar="REGEX", help="Registration or system counter ids."),
    ] = None,
    session: SessionOption = None,
    stream: StreamsOption = None,
    channel: ChannelsOption = None,
    watch: WatchOption = False,
    interval: IntervalOption = 1.0,
    updates: UpdatesOption = None,
    as_json: JsonOption = False,
    classic: ClassicOption = False,
    aeron_dir: AeronDirOption = None,
) -> None:
    """Print the counters of a driver, alive or dead: positions, limits, losses, errors.

    A filter is only asked where it applies, as in AeronStat: stream counters have a session, system
    counters have none. With --classic the arguments watch and delay work too, and it watches unless
    told watch=false.
    """
    check_forms(as_json=as_json, classic=classic, watch=watch)
    from aerolog.tools.stat import counters
    from aerolog.tools.stat.watching import Schedule

    given = {
        "type": type_,
        "identity": identity,
        "session": session,
        "stream": stream,
        "channel": channel,
    }
    if classic:
        counters.classic(aeron_dir, filters or [], given)
        return
    chosen = counters.filters_of(filters or [], given)
    schedule = Schedule(watch=watch, interval_s=interval, updates=updates)
    counters.show(aeron_dir, chosen, schedule, as_json=as_json)
