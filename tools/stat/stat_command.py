"""``aerolog stat``: all counters of a driver."""

from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import grouped
from aerolog.tools.stat.options import LookOptions, StreamFilters

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
@grouped
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
    chosen: StreamFilters,
    look: LookOptions,
) -> None:
    """Print the counters of a driver, alive or dead: positions, limits, losses, errors.

    A filter is only asked where it applies, as in AeronStat: stream counters have a session, system
    counters have none. With --classic the arguments watch and delay work too, and it watches unless
    told watch=false.
    """
    look.check()
    from aerolog.tools.stat import counter_forms

    given = {"type": type_, "identity": identity, **chosen.patterns()}
    if look.classic:
        counter_forms.classic(look.aeron_dir, filters or [], given)
        return
    counter_forms.show(
        look.aeron_dir,
        counter_forms.filters_of(filters or [], given),
        look.schedule(),
        as_json=look.as_json,
    )
