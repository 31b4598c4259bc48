"""Options that the looking commands share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.tools.command_line.help import CONNECTION_PANEL
from aerolog.tools.command_line.options import (
    JsonOption,
    StrictOption,
    aeron_dir_option,
    seconds_option,
)

if TYPE_CHECKING:
    from aerolog.tools.stat.counter_filters import Filters
    from aerolog.tools.terminal.schedule import Schedule

AeronDirOption = Annotated[
    str | None,
    aeron_dir_option(
        "The media driver's directory; it may be dead.", rich_help_panel=CONNECTION_PANEL
    ),
]
ClassicOption = Annotated[
    bool, typer.Option("--classic", help="Print as the reference's tool does, for scripts.")
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


@dataclass(frozen=True, slots=True)
class StreamFilters:
    """The options that choose streams."""

    session: Annotated[
        str | None,
        typer.Option("--session", metavar="REGEX", help="Session ids that contain a match."),
    ] = None
    stream: Annotated[
        str | None,
        typer.Option("--stream", metavar="REGEX", help="Stream ids that contain a match."),
    ] = None
    channel: Annotated[
        str | None,
        typer.Option("--channel", metavar="REGEX", help="Channels that contain a match."),
    ] = None

    def patterns(self) -> dict[str, str | None]:
        """The patterns by the names of the filters."""
        return {"session": self.session, "stream": self.stream, "channel": self.channel}

    def filters(self) -> "Filters":
        """The filters that the forms take.

        Raises:
            typer.BadParameter: what is no regular expression.
        """
        from aerolog.tools.stat.counter_forms import filters_of

        return filters_of((), self.patterns())


@dataclass(frozen=True, slots=True)
class LookOptions:
    """The options that say where to look, how often and in which form."""

    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Look again and again, until interrupted.")
    ] = False
    interval: Annotated[
        float,
        seconds_option("--interval", "Between two looks with --watch, such as 500ms or 5s."),
    ] = 1.0
    updates: Annotated[
        int | None,
        typer.Option("--updates", metavar="N", help="Stop watching after N looks.", min=1),
    ] = None
    as_json: JsonOption = False
    classic: ClassicOption = False
    aeron_dir: AeronDirOption = None
    strict: StrictOption = False

    def check(self) -> None:
        """Refuses forms that exclude each other.

        Raises:
            typer.BadParameter: two at once.
        """
        check_forms(as_json=self.as_json, classic=self.classic, watch=self.watch)

    def schedule(self) -> "Schedule":
        """How often to look."""
        from aerolog.tools.terminal.schedule import Schedule

        return Schedule(watch=self.watch, interval_s=self.interval, updates=self.updates)
