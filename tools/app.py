"""The application: a table of commands, each loaded when it is called and not before."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from aerolog.tools.help import HouseGroup

_PACKAGE = "aerolog.tools.commands."

#: Name -> module under ``commands``, and the line in the overview.
COMMANDS: dict[str, tuple[str, str]] = {
    "driver": ("driver", "Run a media driver in the foreground."),
    "archiving-driver": ("archiving_driver", "Run a media driver with an archive."),
    "archive": ("archive", "Run an archive beside a running driver."),
    "publish": ("publish", "Publish lines, records or generated messages."),
    "subscribe": ("subscribe", "Print the messages of a stream."),
    "tail": ("tail", "Print a recording, then its live stream."),
    "record": ("record", "Record a stream and print the recording ids."),
    "recordings": ("recordings", "List, describe and change recordings."),
    "replay": ("replay", "Replay a recording to a channel or to the terminal."),
    "catalog": ("catalog", "Find, tag and describe recordings in a SQL catalog."),
    "pipeline": ("pipeline", "Load recordings into tables with Spark, exactly once."),
    "export": ("export", "Write recordings as Parquet."),
    "retention": ("retention", "Let old data go by policy, but what somebody still needs."),
    "verify": ("verify", "Say whether recordings are sound, and what can be saved."),
    "archive-tool": ("archive_tool", "Look into an archive folder, verify and repair it."),
    "doctor": ("doctor", "Say what is wrong with driver and archive, and what to do."),
    "top": ("top", "Watch a driver and its archive on a dashboard."),
    "stat": ("stat", "Print the counters of a driver."),
    "errors": ("errors", "Print the distinct errors of a driver or an archive."),
    "loss": ("loss", "Print what a driver's receivers have lost."),
    "streams": ("streams", "Print who stands where in each stream, and what limits it."),
    "backlog": ("backlog", "Print what waits to be sent, repaired, read and recorded."),
    "driver-tool": ("driver_tool", "Print who a driver is, or ask it to stop."),
    "serve-metrics": ("serve_metrics", "Serve metrics to Prometheus and OpenTelemetry."),
    "explain": ("explain", "Say what a file of a driver or archive holds, and where."),
    "wireshark": ("wireshark", "Print or install a dissector for Wireshark and tshark."),
    "passwords": ("passwords", "Make and edit the file of an archive's users."),
    "completion": ("completion", "Complete command lines in bash, zsh and fish."),
    "man": ("man", "Show or install the manual pages."),
    "bench": ("bench", "Measure side by side with the peers (needs a checkout)."),
}

#: Heading of the overview -> commands below it; in the overview they stand in this order.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Services": ("driver", "archiving-driver", "archive", "passwords"),
    "Streams": ("publish", "subscribe", "tail", "record", "replay"),
    "Recordings": (
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
        "doctor",
        "top",
        "serve-metrics",
        "explain",
        "wireshark",
    ),
    "More": ("bench", "completion", "man"),
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
        module, line = COMMANDS[cmd_name]
        if self._overview:
            return TyperCommand(cmd_name, help=line)
        command: Any = typer.main.get_command(importlib.import_module(_PACKAGE + module).app)
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the overview."""
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
    # Shown and completed here; `running` takes it from wherever it stands before.
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
