"""``aerolog streams``: where everybody stands in each stream, and what limits it."""

from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import grouped, seconds_option
from aerolog.tools.stat.options import LookOptions, StreamFilters

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
@grouped
def streams(
    *,
    chosen: StreamFilters,
    sample: Annotated[
        float,
        seconds_option(
            "--sample", "Between the two looks that rates are made of; 0 for a single look."
        ),
    ] = 0.25,
    look: LookOptions,
) -> None:
    """Print where each publisher, sender, receiver, subscriber and recording stands.

    Below each stream stands what limits it now: a slow subscriber (which), flow control, the
    receiver's window, congestion, loss, the publisher's window, its sender, or nothing.
    """
    look.check()
    from aerolog.tools.stat import classic_stream_lines, stream_output

    filters = chosen.filters()
    if look.classic:
        stream_output.classic(look.aeron_dir, classic_stream_lines.stream_stat)
        return
    stream_output.show_streams(
        look.aeron_dir, filters, look.schedule(), sample_s=sample, as_json=look.as_json
    )
