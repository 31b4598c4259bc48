"""``aerolog driver``: run a media driver in the foreground."""

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.services.service_options import (
    PASS_THROUGH,
    AeronDirProperty,
    ServiceArguments,
    run_service,
    service_arguments,
)

app = typer.Typer(add_completion=False)


@command(
    app,
    context_settings=PASS_THROUGH,
    examples=(
        "driver",
        "driver -Daeron.threading.mode=SHARED --aeron-dir /dev/shm/aeron-test",
    ),
)
def driver(arguments: ServiceArguments = None, aeron_dir: AeronDirProperty = None) -> None:
    """Run a media driver in the foreground until SIGINT or SIGTERM.

    Properties have the reference's names, such as -Daeron.threading.mode=SHARED; they and
    properties files apply in their order, over AERON_* variables of the environment.
    """
    given = service_arguments(arguments, {"aeron.dir": aeron_dir})
    from aerolog.transport.driver import main

    run_service(main, given)
