"""Command lines of the long-running services: properties and files in their order, handed over."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import typer

#: For Typer: -Dname=value is no option of ours, and goes into the arguments in its place.
PASS_THROUGH = {"ignore_unknown_options": True}

ServiceArguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-Dname=value]... [FILE]...",
        help="Properties, and files of them.",
        show_default=False,
    ),
]
AeronDirProperty = Annotated[
    str | None,
    typer.Option("--aeron-dir", metavar="DIR", help="The same as -Daeron.dir=DIR."),
]
ArchiveDirProperty = Annotated[
    str | None,
    typer.Option("--archive-dir", metavar="DIR", help="The same as -Daeron.archive.dir=DIR."),
]
ControlChannelProperty = Annotated[
    str | None,
    typer.Option(
        "--control-channel",
        metavar="CHANNEL",
        help="Take requests over UDP, too: the same as -Daeron.archive.control.channel=CHANNEL.",
    ),
]


def service_arguments(
    arguments: Sequence[str] | None, properties: Mapping[str, str | None]
) -> list[str]:
    """The arguments of a service, with options of ours as properties behind them.

    Raises:
        typer.BadParameter: an argument that is neither ``-Dname=value`` nor a file.
    """
    given = list(arguments or ())
    for argument in given:
        if argument.startswith("-D"):
            name, separator, _ = argument[2:].partition("=")
            if not separator:
                name, separator, _ = argument[2:].partition(":")
            if not name.strip() or not separator:
                raise typer.BadParameter(f"malformed define: {argument[2:]}: use -Dname=value")
        elif argument.startswith("-"):
            raise typer.BadParameter(
                f"no such option: {argument} (properties are given as -Dname=value)"
            )
    return given + [f"-D{name}={value}" for name, value in properties.items() if value is not None]


def run_service(main: Callable[[list[str]], int | None], arguments: list[str]) -> None:
    """Runs a service until it ends and exits with its code.

    Raises:
        typer.Exit: always, with the service's exit code.
    """
    code = main(arguments)
    raise typer.Exit(code or 0)
