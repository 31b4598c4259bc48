"""``aerolog driver-tool``: who a driver is, and asking it to stop."""

from enum import StrEnum
from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    DryRunOption,
    JsonOption,
    StrictOption,
    YesOption,
    seconds_option,
)
from aerolog.tools.stat.options import AeronDirOption, ClassicOption, check_forms

app = typer.Typer(add_completion=False)


class Action(StrEnum):
    """What to do; nothing is to show."""

    SHOW = "show"
    PID = "pid"
    TERMINATE = "terminate"


@command(
    app,
    "driver-tool",
    examples=(
        "driver-tool",
        "driver-tool pid",
        "driver-tool terminate --yes",
        "driver-tool --classic",
    ),
)
def driver_tool(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[show|pid|terminate]", help="What to do; show by default.", show_default=False
        ),
    ] = "",
    *,
    token: Annotated[
        str, typer.Option("--token", metavar="TEXT", help="For the driver's validator.")
    ] = "",
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    wait: Annotated[float, seconds_option("--wait", "How long a driver may take to stop.")] = 10.0,
    as_json: JsonOption = False,
    classic: ClassicOption = False,
    aeron_dir: AeronDirOption = None,
    strict: StrictOption = False,  # noqa: ARG001 - the option itself refuses
) -> None:
    """Print who a driver is and whether it is alive, its process id, or ask it to stop.

    terminate asks first, then waits until the driver has stopped; it fails when the driver's
    validator refuses, which is the default. With --classic it asks nobody and does not wait.
    """
    check_forms(as_json=as_json, classic=classic)
    from aerolog.tools.stat import driver_forms

    if classic:
        driver_forms.classic(aeron_dir, [action] if action else [])
        return
    if action not in {"", *Action}:
        raise typer.BadParameter(f"{action!r} is none of show, pid and terminate")
    if action == Action.PID:
        driver_forms.show_pid(aeron_dir, as_json=as_json)
    elif action == Action.TERMINATE:
        driver_forms.ask_and_terminate(
            aeron_dir, token=token, wait_s=wait, yes=yes, dry_run=dry_run, as_json=as_json
        )
    else:
        driver_forms.show(aeron_dir, as_json=as_json)
