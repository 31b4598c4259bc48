"""The group that the commands about the SQL catalog belong to."""

import typer

from aerolog.tools.command_line.help import HouseGroup

app = typer.Typer(cls=HouseGroup, add_completion=False, no_args_is_help=True)


@app.callback()
def _catalog() -> None:
    """Find, tag and describe recordings in a SQL catalog."""
