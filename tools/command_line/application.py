"""The application: a table of commands, each loaded when it is called and not before."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from aerolog.tools.command_line.help import MORE, HouseGroup

_PACKAGE = "aerolog.tools."

#: Name -> the module that declares it (its ``app``, or what is named behind a colon), and the line
#: in the overview.
COMMANDS: dict[str, tuple[str, str]] = {
    "driver": ("services.service_commands:driver_app", "Run a media driver in the foreground."),
    "archiving-driver": (
        "services.service_commands:archiving_driver_app",
        "Run a media driver with an archive.",
    ),
    "archive": ("services.service_commands:archive_app", "Run an archive beside a running driver."),
    "clustered-driver": (
        "services.service_commands:clustered_driver_app",
        "Run driver, archive and consensus module.",
    ),
    "consensus-module": (
        "services.service_commands:consensus_module_app",
        "Run a consensus module beside an archive.",
    ),
    "service-container": (
        "services.service_commands:service_container_app",
        "Run a clustered service in Python.",
    ),
    "publish": ("messages.publish_command", "Publish lines, records or generated messages."),
    "subscribe": ("messages.subscribe_command", "Print the messages of a stream."),
    "tail": ("replay.tail_command", "Print a recording, then its live stream."),
    "record": ("record.record_command", "Record a stream and print the recording ids."),
    "recordings": ("recordings.recordings_commands", "List, describe and change recordings."),
    "replay": ("replay.replay_command", "Replay a recording to a channel or to the terminal."),
    "catalog": ("catalog.catalog_commands", "Find, tag and describe recordings in a SQL catalog."),
    "pipeline": (
        "pipeline.pipeline_commands",
        "Load recordings into tables with Spark, exactly once.",
    ),
    "export": ("export.export_command", "Write recordings as Parquet."),
    "retention": (
        "retention.retention_commands",
        "Let old data go by policy, but what somebody still needs.",
    ),
    "verify": ("verify.verify_command", "Say whether recordings are sound, and what can be saved."),
    "archive-tool": (
        "reference.archive_tool.archive_tool_command",
        "What the reference's ArchiveTool does, with its lines.",
    ),
    "cluster-tool": (
        "reference.cluster_tool.cluster_tool_command",
        "What the reference's ClusterTool does, with its lines.",
    ),
    "cluster": (
        "cluster.cluster_commands",
        "Look into a node's folder, change it, and ask the node.",
    ),
    "doctor": (
        "doctor.doctor_command",
        "Say what is wrong with driver and archive, and what to do.",
    ),
    "top": ("top.top_command", "Watch a driver and its archive on a dashboard."),
    "stat": ("stat.stat_command", "Print the counters of a driver."),
    "errors": ("stat.errors_command", "Print the distinct errors of a driver or an archive."),
    "loss": ("stat.loss_command", "Print what a driver's receivers have lost."),
    "streams": (
        "stat.streams_command",
        "Print who stands where in each stream, and what limits it.",
    ),
    "backlog": (
        "stat.backlog_command",
        "Print what waits to be sent, repaired, read and recorded.",
    ),
    "driver-tool": ("stat.driver_tool_command", "Print who a driver is, or ask it to stop."),
    "serve-metrics": (
        "metrics.serve_metrics_command",
        "Serve metrics to Prometheus and OpenTelemetry.",
    ),
    "explain": (
        "explain.explain_command",
        "Say what a file of a driver or archive holds, and where.",
    ),
    "wireshark": (
        "wireshark.wireshark_command",
        "Print or install a dissector for Wireshark and tshark.",
    ),
    "passwords": ("services.passwords_commands", "Make and edit the file of an archive's users."),
    "completion": ("shell.completion_command", "Complete command lines in bash, zsh and fish."),
    "man": ("shell.man_command", "Show or install the manual pages."),
}

#: Heading of the overview -> commands below it; in the overview they stand in this order.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Services": (
        "driver",
        "archiving-driver",
        "archive",
        "clustered-driver",
        "consensus-module",
        "service-container",
        "passwords",
    ),
    "Streams and recordings": (
        "publish",
        "subscribe",
        "tail",
        "record",
        "replay",
        "recordings",
        "catalog",
        "pipeline",
        "export",
        "retention",
        "verify",
        "archive-tool",
    ),
    "Watching": (
        "stat",
        "errors",
        "loss",
        "streams",
        "backlog",
        "driver-tool",
        "cluster-tool",
        "cluster",
        "doctor",
        "top",
        "serve-metrics",
        "explain",
        "wireshark",
    ),
    MORE: ("completion", "man"),
}


class LazyGroup(HouseGroup):
    """A group whose commands are imported one at a time.

    The overview is written from the table, so that it loads no command at all.
    """

    _overview = False

    def sections(self, ctx: Any) -> dict[str, list[str]]:
        """The names below the headings of the overview."""
        del ctx
        return {
            heading: [name for name in names if name in COMMANDS]
            for heading, names in SECTIONS.items()
        }

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, None when there is none."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        where, line = COMMANDS[cmd_name]
        if self._overview:
            return TyperCommand(cmd_name, help=line)
        module, _, app = where.partition(":")
        declared = getattr(importlib.import_module(_PACKAGE + module), app or "app")
        command: Any = typer.main.get_command(declared)
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the overview of all commands."""
        self._overview = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._overview = False


def _show_version(value: bool) -> None:
    if value:
        from aerolog._version import __version__

        typer.echo(f"aerolog {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
    # Shown and completed here; `invocation` takes it from wherever it stands before.
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error comes from; with any command.")
    ] = False,
) -> None:
    """Publish, record, replay, tail, export: Aeron streams from the command line."""


def application() -> Any:
    """The application as a click command."""
    app = typer.Typer(
        cls=LazyGroup,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    return typer.main.get_command(app)
