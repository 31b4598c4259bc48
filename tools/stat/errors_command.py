"""``aerolog errors``: distinct errors of a driver or an archive, or of a saved file."""

from pathlib import Path
from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import TIME_RULE, grouped
from aerolog.tools.stat.options import LookOptions
from aerolog.transport.time_units import NS_PER_MS

app = typer.Typer(add_completion=False)


@command(
    app,
    examples=(
        "errors",
        "errors --archive-dir aeron-archive --since 2026-11-20T10:00",
        "errors --file aeron-me-2026-11-20-10-00-00-000+0000-error.log",
        "errors --classic",
    ),
)
@grouped
def errors(
    *,
    archive_dir: Annotated[
        str | None,
        typer.Option("--archive-dir", metavar="DIR", help="The errors of this folder's archive."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Errors that were saved, or any file that holds an error log.",
        ),
    ] = None,
    offset: Annotated[
        int | None,
        typer.Option(
            "--offset", metavar="N", help="Where the log begins in the file, bytes.", min=0
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help=f"Seen at this time or later. {TIME_RULE}",
        ),
    ] = None,
    look: LookOptions,
) -> None:
    """Print the distinct errors of a driver or an archive, alive or dead: how often, when, what.

    A driver or archive that starts in a used directory saves the errors of the one before to a text
    beside it: --file reads that too.
    """
    look.check()
    if archive_dir is not None and file is not None:
        raise typer.BadParameter("--archive-dir and --file are two places: choose one")
    if offset is not None and file is None:
        raise typer.BadParameter("--offset is a place in a file: name it with --file")
    from aerolog.tools.stat import error_forms as forms
    from aerolog.tools.terminal.terminal_text import write_fit
    from aerolog.transport.config.times import parse_time_ns

    since_ms = 0 if since is None else parse_time_ns("--since", since) // NS_PER_MS
    if look.classic:
        if archive_dir is not None:
            raise typer.BadParameter(
                "--classic is ErrorStat, which knows drivers: for an archive's errors as the "
                "reference prints them there is aerolog archive-tool DIR errors"
            )
        for line in forms.classic(look.aeron_dir, file, offset):
            write_fit([line])  # each before the next is read, which may fail
        return
    source = forms.source_of(look.aeron_dir, archive_dir, file, offset)
    forms.show(source, look.schedule(), since_ms=since_ms, as_json=look.as_json)
