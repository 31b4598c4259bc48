"""``aerolog backlog``: what waits for whom in a driver's streams."""

from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import grouped
from aerolog.tools.stat.options import LookOptions, StreamFilters

app = typer.Typer(add_completion=False)


@command(
    app,
    examples=("backlog", "backlog --at-least 1 --watch", "backlog --json", "backlog --classic"),
)
@grouped
def backlog(
    *,
    chosen: StreamFilters,
    at_least: Annotated[
        int,
        typer.Option("--at-least", metavar="BYTES", help="Only backlogs of so many bytes.", min=0),
    ] = 0,
    look: LookOptions,
) -> None:
    """Print what waits to be sent, repaired, read and recorded, the longest backlog first.

    The window is what may still be sent or published before somebody has to wait.
    """
    look.check()
    from aerolog.tools.stat import classic_stream_lines, stream_output

    filters = chosen.filters()
    if look.classic:
        stream_output.classic(look.aeron_dir, classic_stream_lines.backlog_stat)
        return
    stream_output.show_backlogs(
        look.aeron_dir, filters, look.schedule(), at_least=at_least, as_json=look.as_json
    )
