"""The group that the commands of retention belong to."""

import typer

from aerolog.tools.command_line.help import HouseGroup

app = typer.Typer(
    cls=HouseGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Let old data go by policy, and never what somebody still needs.",
)
