"""The group that the commands about recordings belong to."""

import typer

from aerolog.tools.command_line.help import HouseGroup

app = typer.Typer(
    cls=HouseGroup,
    add_completion=False,
    no_args_is_help=True,
    help="List, describe and change recordings.",
)
