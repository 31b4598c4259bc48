"""Options that the looking commands share."""

from typing import Annotated

import typer

from aerolog.tools.help import CONNECTION_PANEL
from aerolog.tools.options import seconds_parser

AeronDirOption = Annotated[
    str | None,
    typer.Option(
        "--aeron-dir",
        metavar="DIR",
        envvar="AERON_DIR",
        rich_help_panel=CONNECTION_PANEL,
        help="The media driver's directory; it may be dead.",
    ),
]
ClassicOption = Annotated[
    bool, typer.Option("--classic", help="Print as the reference's tool does, for scripts.")
]
WatchOption = Annotated[
    bool, typer.Option("--watch", "-w", help="Look again and again, until interrupted.")
]
IntervalOption = Annotated[
    float,
    typer.Option(
        "--interval",
        metavar="TIME",
        help="Between two looks with --watch, such as 500ms or 5s.",
        parser=seconds_parser("--interval"),
    ),
]
UpdatesOption = Annotated[
    int | None,
    typer.Option("--updates", metavar="N", help="Stop watching after N looks.", min=1),
]
SessionOption = Annotated[
    str | None,
    typer.Option("--session", metavar="REGEX", help="Session ids that contain a match."),
]
StreamsOption = Annotated[
    str | None, typer.Option("--stream", metavar="REGEX", help="Stream ids that contain a match.")
]
ChannelsOption = Annotated[
    str | None, typer.Option("--channel", metavar="REGEX", help="Channels that contain a match.")
]


def check_forms(*, as_json: bool, classic: bool, watch: bool = False) -> None:
    """Refuses forms that exclude each other.

    Raises:
        typer.BadParameter: two at once.
    """
    if as_json and classic:
        raise typer.BadParameter("--json and --classic are two forms of the same: choose one")
    if classic and watch:
        raise typer.BadParameter("--classic prints once, as the reference does: leave --watch out")
