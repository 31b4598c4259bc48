"""``aerolog man``: manual pages of the commands."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.terminal.console import say

app = typer.Typer(add_completion=False)


@command(
    app,
    examples=(
        "man",
        "man recordings list",
        "man --to ~/.local/share/man",
        "man --to /usr/local/share/man",
    ),
)
def man(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]...", help="A command; the overview without it."),
    ] = None,
    *,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="DIR", help="Write all pages below this folder, into its man1."
        ),
    ] = None,
) -> None:
    """Show the page of a command, or write all of them to where man looks for pages.

    The page is shown by man on a terminal; elsewhere it is printed for groff -man.
    """
    from aerolog.tools.shell.manual_pages import page, pages
    from aerolog.transport.memory.filesystem import named

    if to is not None:
        if names:
            raise typer.BadParameter("--to writes the pages of all commands: name none")
        folder = to / "man1"
        folder.mkdir(parents=True, exist_ok=True)
        count = 0
        for one in pages():
            with named(folder / one.file_name):
                (folder / one.file_name).write_text(one.text)
            count += 1
        say(f"{count} pages in {folder}")
        return
    found = page(names or ())
    if found is None:
        raise typer.BadParameter(f"there is no command {' '.join(names or ())!r}")
    if sys.stdout.isatty() and (program := shutil.which("man")):
        subprocess.run(  # noqa: S603 - man itself, with nothing that a user gave
            [program, "-l", "-"],
            input=found.text.encode(),
            check=False,
            env={"LC_ALL": "C.UTF-8", **os.environ},
        )
        return
    typer.echo(found.text, nl=False)
