"""Options that the tools of the reference share."""

from typing import Annotated

import typer

#: Options of commands of ours, which the tools have not: their actions take or ignore any argument.
NOT_OF_TOOLS = frozenset({"--dry-run", "--yes", "-y"})

ClassicOption = Annotated[
    bool, typer.Option("--classic", help="Accepted, and without an effect: it is the default.")
]


def check_arguments(arguments: list[str], group: str) -> list[str]:
    """Refuse options that the reference's tools would ignore, and do what was not to be done.

    Args:
        arguments: those of the tool.
        group: where the commands are that do.

    Raises:
        typer.BadParameter: an option is there that only those have.
    """
    for one in arguments:
        if one in NOT_OF_TOOLS:
            raise typer.BadParameter(
                f"the reference's tool has no {one}: commands of aerolog {group} show a change and"
                " ask before it"
            )
    return arguments
