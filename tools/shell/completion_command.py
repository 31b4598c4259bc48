"""``aerolog completion``: the script by which a shell completes command lines."""

import os
from pathlib import Path
from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.shell.completion_scripts import SCRIPTS

app = typer.Typer(add_completion=False)


def _check(shell: str | None) -> str | None:
    if shell is not None and shell not in SCRIPTS:
        raise typer.BadParameter(f"{shell!r} is none of {', '.join(SCRIPTS)}")
    return shell


@command(
    app,
    examples=(
        "completion bash > ~/.local/share/bash-completion/completions/aerolog",
        "completion zsh > ~/.zfunc/_aerolog",
        "completion fish > ~/.config/fish/completions/aerolog.fish",
    ),
)
def completion(
    shell: Annotated[
        str | None,
        typer.Argument(
            metavar="[SHELL]", help="bash, zsh or fish; the one of $SHELL.", callback=_check
        ),
    ] = None,
) -> None:
    """Print the script that completes commands, options, properties and places in a shell.

    To try it in a running shell: source <(aerolog completion bash), the same in zsh, and
    aerolog completion fish | source.
    """
    chosen = shell or Path(os.environ.get("SHELL", "")).name
    if chosen not in SCRIPTS:
        raise typer.BadParameter(f"$SHELL is no shell of these: say {', '.join(SCRIPTS)}")
    typer.echo(SCRIPTS[chosen], nl=False)
