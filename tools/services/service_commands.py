"""Services in the foreground: driver, archive, consensus module, service container.

Properties and files of them are handed over in their order, with options of ours behind them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.services.direct_service import service

#: For Typer: -Dname=value is no option of ours, and goes into the arguments in its place.
_PASS_THROUGH = {"ignore_unknown_options": True}

ServiceArguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-Dname=value]... [FILE]...",
        help="Properties, and files of them.",
        show_default=False,
    ),
]
ContainerArguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODULE:CLASS] [-Dname=value]... [FILE]...",
        help="The service, properties, and files of them.",
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
ClusterDirProperty = Annotated[
    str | None,
    typer.Option("--cluster-dir", metavar="DIR", help="The same as -Daeron.cluster.dir=DIR."),
]
StrictProperty = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse unknown properties, variables and channel parameters, which are else warned"
        " of once: the same as -Daerolog.strict=true.",
    ),
]

driver_app = typer.Typer(add_completion=False)
archiving_driver_app = typer.Typer(add_completion=False)
archive_app = typer.Typer(add_completion=False)
clustered_driver_app = typer.Typer(add_completion=False)
consensus_module_app = typer.Typer(add_completion=False)
service_container_app = typer.Typer(add_completion=False)


@command(
    driver_app,
    context_settings=_PASS_THROUGH,
    examples=(
        "driver",
        "driver -Daeron.threading.mode=SHARED --aeron-dir /dev/shm/aeron-test",
    ),
)
def driver(
    arguments: ServiceArguments = None,
    aeron_dir: AeronDirProperty = None,
    strict: StrictProperty = False,
) -> None:
    """Run a media driver in the foreground until SIGINT or SIGTERM.

    Properties have the reference's names, such as -Daeron.threading.mode=SHARED; they and
    properties files apply in their order, over AERON_* variables of the environment.
    """
    given = service_arguments(arguments, {"aeron.dir": aeron_dir, "aerolog.strict": _given(strict)})
    run_service(service("driver"), given)


def _with_archive(name: str) -> Callable[..., None]:
    """What runs a service that has an archive."""

    def run(
        arguments: ServiceArguments = None,
        aeron_dir: AeronDirProperty = None,
        archive_dir: ArchiveDirProperty = None,
        control_channel: ControlChannelProperty = None,
        strict: StrictProperty = False,
    ) -> None:
        properties = {
            "aeron.dir": aeron_dir,
            "aeron.archive.dir": archive_dir,
            "aeron.archive.control.channel": control_channel,
            "aerolog.strict": _given(strict),
        }
        given = service_arguments(arguments, properties)
        run_service(service(name), given)

    return run


_PROPERTIES = """

Properties have the reference's names, such as -Daeron.archive.dir=DIR; they and properties
files apply in their order, over AERON_* variables of the environment."""

command(
    archiving_driver_app,
    context_settings=_PASS_THROUGH,
    examples=(
        "archiving-driver --archive-dir aeron-archive",
        "archiving-driver --control-channel aeron:udp?endpoint=localhost:8010",
    ),
    help="Run a media driver and an archive in one process until SIGINT or SIGTERM." + _PROPERTIES,
)(_with_archive("archiving-driver"))

command(
    archive_app,
    context_settings=_PASS_THROUGH,
    examples=("archive --archive-dir aeron-archive",),
    help="Run an archive beside the media driver of a directory until SIGINT or SIGTERM."
    + _PROPERTIES,
)(_with_archive("archive"))


@command(
    clustered_driver_app,
    context_settings=_PASS_THROUGH,
    examples=("clustered-driver node0.properties", "clustered-driver --cluster-dir node0/cluster"),
)
def clustered_driver(
    arguments: ServiceArguments = None,
    aeron_dir: AeronDirProperty = None,
    archive_dir: ArchiveDirProperty = None,
    cluster_dir: ClusterDirProperty = None,
    control_channel: ControlChannelProperty = None,
    strict: StrictProperty = False,
) -> None:
    """Run driver, archive and consensus module in one process until SIGINT or SIGTERM.

    Properties have the reference's names, such as -Daeron.cluster.members=...; they and
    properties files apply in their order, over AERON_* variables of the environment.
    """
    properties = {
        "aeron.dir": aeron_dir,
        "aeron.archive.dir": archive_dir,
        "aeron.cluster.dir": cluster_dir,
        "aeron.archive.control.channel": control_channel,
        "aerolog.strict": _given(strict),
    }
    run_service(service("clustered-driver"), service_arguments(arguments, properties))


@command(
    consensus_module_app,
    context_settings=_PASS_THROUGH,
    examples=("consensus-module node0.properties",),
)
def consensus_module(
    arguments: ServiceArguments = None,
    aeron_dir: AeronDirProperty = None,
    cluster_dir: ClusterDirProperty = None,
    strict: StrictProperty = False,
) -> None:
    """Run a consensus module beside a driver and its archive until SIGINT or SIGTERM.

    Properties have the reference's names, such as -Daeron.cluster.members=...; they and
    properties files apply in their order, over AERON_* variables of the environment.
    """
    properties = {
        "aeron.dir": aeron_dir,
        "aeron.cluster.dir": cluster_dir,
        "aerolog.strict": _given(strict),
    }
    run_service(service("consensus-module"), service_arguments(arguments, properties))


@command(
    service_container_app,
    context_settings=_PASS_THROUGH,
    examples=(
        "service-container auction:Auction --cluster-dir node0/cluster",
        "service-container auction:Auction -Daeron.cluster.service.id=1",
    ),
)
def service_container(
    arguments: ContainerArguments = None,
    aeron_dir: AeronDirProperty = None,
    cluster_dir: ClusterDirProperty = None,
    strict: StrictProperty = False,
) -> None:
    """Run a clustered service beside a consensus module until SIGINT or SIGTERM, or the node's end.

    MODULE:CLASS is the service; its module can be imported from the current folder. Properties have
    the reference's names, such as -Daeron.cluster.service.id=1; they and properties files apply in
    their order, over AERON_* variables of the environment.
    """
    properties = {
        "aeron.dir": aeron_dir,
        "aeron.cluster.dir": cluster_dir,
        "aerolog.strict": _given(strict),
    }
    run_service(service("service-container"), service_arguments(arguments, properties))


def _given(flag: bool) -> str | None:
    """A flag as the text of its property, None when it was not given."""
    return "true" if flag else None


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
