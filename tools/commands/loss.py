"""``aerolog loss``: what a driver's receivers have lost."""

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


@command(app, examples=("loss", "loss --stream ^1001$ --watch", "loss --json", "loss --classic"))
def loss(
    *,
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
    """Print what a driver's receivers have lost, by stream and source, the largest loss first.

    Lost bytes are gaps that were noticed: a reliable stream has asked for them again.
    """
    check_forms(as_json=as_json, classic=classic, watch=watch)
    from aerolog.tools.stat import losses
    from aerolog.tools.stat.counters import filters_of
    from aerolog.tools.stat.watching import Schedule

    filters = filters_of((), {"session": session, "stream": stream, "channel": channel})
    if classic:
        losses.classic(aeron_dir)
        return
    schedule = Schedule(watch=watch, interval_s=interval, updates=updates)
    losses.show(aeron_dir, filters, schedule, as_json=as_json)
