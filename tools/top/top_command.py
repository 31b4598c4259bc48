"""``aerolog top``: a dashboard of a running driver and its archive."""

import sys
from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ArchiveDirOption,
    StrictOption,
    aeron_dir_option,
    option_parser,
    seconds_parser,
)
from aerolog.transport.errors import AerologError

app = typer.Typer(add_completion=False)

_INTERVAL_MIN_S = 0.1
_INTERVAL_MAX_S = 3600.0


class NoTerminalError(AerologError):
    """Input or output is no terminal."""


def _interval(name: str, given: str) -> float:
    seconds = seconds_parser(name)(given)
    if not _INTERVAL_MIN_S <= seconds <= _INTERVAL_MAX_S:
        raise typer.BadParameter(f"{name}={given}: it goes from 100ms to 1h")
    return seconds


@command(
    app,
    examples=[
        "top",
        "top --aeron-dir /dev/shm/aeron-feed --archive-dir /data/archive",
        "top --interval 250ms",
    ],
)
def top(
    aeron_dir: Annotated[str | None, aeron_dir_option()] = None,
    archive_dir: ArchiveDirOption = None,
    interval: Annotated[
        float,
        typer.Option(
            "--interval",
            metavar="TIME",
            help="Time between two looks, such as 250ms or 5s; a bare number is seconds.",
            parser=option_parser(_interval, "--interval"),
        ),
    ] = 1.0,
    plain_ascii: Annotated[
        bool, typer.Option("--ascii", help="Draw with plain ASCII characters.")
    ] = False,
    strict: StrictOption = False,  # noqa: ARG001 - the option itself refuses
) -> int:
    """Watch streams, loss, duty cycles, errors, recordings and replays on one screen.

    Only looks: nothing in the directories is changed. Press ? there for its keys. A driver that
    ends is told, and the next one in its directory is followed.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise NoTerminalError(
            "top needs a terminal: for lines of text use aerolog streams, stat, errors or loss,"
            " for graphs aerolog serve-metrics"
        )
    from aerolog.catalog.extras import require

    require("textual", "aerolog top")
    from aerolog.tools.top.top_run import run_top

    return run_top(aeron_dir, archive_dir, interval, plain_ascii=plain_ascii)
