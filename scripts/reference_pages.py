"""Writes the generated parts of docs/reference from the code that they describe.

Usage: python scripts/reference_pages.py [--check]

A part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``. With ``--check`` nothing is
written and the exit code says whether anything would be.
"""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerolog.archive.client import options as archive_client_options
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.service import properties as archive_properties
from aerolog.cluster.client import options as cluster_client_options
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.cluster.module import properties as cluster_module_properties
from aerolog.cluster.service import options as cluster_service_options
from aerolog.tools.command_line.application import COMMANDS, application
from aerolog.tools.command_line.help import CONNECTION_PANEL, usage
from aerolog.tools.command_line.options import DriverOptions
from aerolog.tools.doctor.check_groups import all_kinds
from aerolog.tools.doctor.findings import Area, outline
from aerolog.tools.metrics.families import SECTIONS as METRIC_SECTIONS
from aerolog.transport.config.settings import format_value
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import properties as driver_properties
from aerolog.transport.uri import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from aerolog.transport.counters.counter_kind import CounterKind

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
DRIVER_OPTIONS = len(fields(DriverOptions))
_PART = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(heading: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """The lines of a table in Markdown."""
    heading = list(heading)
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join("| " + " | ".join(_cell(cell) for cell in line) + " |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def property_table(properties: Iterable[Any]) -> str:
    """Name, environment, default and meaning of properties; keyword where it is not the name's."""
    return table(
        ("Property", "Environment", "Keyword", "Default", "Form", "Meaning"),
        (
            (
                f"`{prop.name}`",
                f"`{prop.env}`",
                f"`{prop.keyword}`",
                _default(prop),
                prop.kind.value,
                prop.meaning,
            )
            for prop in properties
        ),
    )


def _plug_ins(prop: Any) -> str:
    group = prop.plug_ins
    return f", names in the entry point group `{group}`" if group else ""


def _default(prop: Any) -> str:
    text = format_value(prop, prop.default)
    return f"`{text}`" if text else "none"


def choices(properties: Iterable[Any]) -> str:
    """The accepted names of properties that take one."""
    return table(
        ("Property", "Accepted"),
        (
            (f"`{prop.name}`", ", ".join(f"`{name}`" for name in prop.choices) + _plug_ins(prop))
            for prop in properties
            if prop.choices is not None
        ),
    )


def uri_parameters() -> str:
    """The parameters of a channel."""
    return table(
        ("Key", "Keyword", "Form", "Meaning"),
        (
            (
                f"`{p.key}`",
                ", ".join(f"`{name}`" for name in (p.key.replace("-", "_"), *p.aliases)),
                p.kind.value,
                p.meaning,
            )
            for p in PARAMETERS
        ),
    )


def commands() -> str:
    """Every command with its arguments and options."""
    root = application()
    context = root.make_context("aerolog", [], resilient_parsing=True)
    return "\n".join(
        section
        for name in COMMANDS
        for section in _command(root.get_command(context, name), ("aerolog", name))
    )


def _command(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    inner = getattr(command, "commands", None)
    heading = "#" * len(path)
    if inner:
        yield f"{heading} `{' '.join(path)}`\n\n{command.help}\n"
        for name, one in inner.items():
            yield from _command(one, (*path, name))
        return
    line = " ".join((*path, *usage(command.params)))
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", command.help.strip())
    yield f"{heading} `{' '.join(path)}`\n\n```\n{line}\n```\n\n{text}\n"
    if command.epilog:
        yield f"```\n{command.epilog}\n```\n"
    own, connection = _options(command)
    if own:
        yield table(("Option", "Default", "Meaning"), map(_option, own))
    if connection:
        whom = "driver and archive" if len(connection) > DRIVER_OPTIONS else "driver"
        yield f"And how to reach the {whom}: see [Connection](#connection).\n"


def _options(command: Any) -> tuple[list[Any], list[Any]]:
    """A command's own options, and those by which it reaches driver and archive."""
    options = [param for param in command.params if param.param_type_name == "option"]
    connection = [param for param in options if param.rich_help_panel == CONNECTION_PANEL]
    return [param for param in options if param not in connection], connection


def connection() -> str:
    """The options by which commands reach driver and archive."""
    root = application()
    context = root.make_context("aerolog", [], resilient_parsing=True)
    _, options = _options(root.get_command(context, "record"))
    return table(("Option", "Default", "Meaning"), map(_option, options))


def _option(param: Any) -> tuple[str, str, str]:
    name = f"`{param.opts[0]}{' ' + param.metavar if param.metavar else ''}`"
    default = param.default
    shown = "" if default is None or default is False else f"`{getattr(default, 'value', default)}`"
    if param.required:
        shown = "required"
    meaning = param.help or ""
    if param.envvar:
        meaning += f" Environment: `{param.envvar}`."
    return name, shown, meaning


def metrics() -> str:
    """Every metric, by section."""
    return "\n".join(
        f"## {heading}\n\n"
        + table(
            ("Metric", "Kind", "Labels", "Merged", "Meaning"),
            (
                (
                    f"`{family.name}`",
                    family.kind.value,
                    ", ".join(f"`{label}`" for label in family.labels),
                    family.merge.value,
                    family.help,
                )
                for family in families
            ),
        )
        for heading, families in METRIC_SECTIONS.items()
    )


def findings() -> str:
    """Everything that the doctor can find, by area."""
    return "\n".join(
        f"## {area.value.capitalize()}\n\n"
        + table(
            ("Finding", "As a rule", "What is seen", "Reason", "Remedy"),
            (
                (
                    f"`{kind.code}`",
                    kind.severity.label,
                    *(
                        outline(text).replace("*", "\\*")
                        for text in (kind.what, kind.reason, kind.remedy)
                    ),
                )
                for kind in all_kinds()
                if kind.area is area
            ),
        )
        for area in Area
    )


def counter_types(kinds: Iterable[CounterKind]) -> str:
    """Types of counters with the beginning of the label, the key and the meaning."""
    return table(
        ("Type", "Label", "Key", "Meaning"),
        (
            (
                str(kind.value),
                f"`{kind.label}`" if kind.label else "",
                ", ".join(kind.key.fields),
                f"{kind.meaning}.",
            )
            for kind in kinds
        ),
    )


def system_counters() -> str:
    """The system counters with their labels and meanings."""
    return table(
        ("Id", "Label", "Meaning"),
        ((str(one.value), f"`{one.label}`", f"{one.meaning}.") for one in SystemCounter),
    )


PARTS: dict[str, Callable[[], str]] = {
    "driver-properties": lambda: property_table(driver_properties.PROPERTIES),
    "driver-choices": lambda: choices(driver_properties.PROPERTIES),
    "archive-properties": lambda: property_table(archive_properties.PROPERTIES),
    "archive-client-properties": lambda: property_table(archive_client_options.PROPERTIES),
    "archive-choices": lambda: choices(archive_properties.PROPERTIES),
    "cluster-module-properties": lambda: property_table(cluster_module_properties.PROPERTIES),
    "cluster-module-choices": lambda: choices(cluster_module_properties.PROPERTIES),
    "cluster-service-properties": lambda: property_table(cluster_service_options.PROPERTIES),
    "cluster-client-properties": lambda: property_table(cluster_client_options.PROPERTIES),
    "uri-parameters": uri_parameters,
    "commands": commands,
    "connection": connection,
    "metrics": metrics,
    "system-counters": system_counters,
    "driver-counters": lambda: counter_types(CounterType),
    "archive-counters": lambda: counter_types(ArchiveCounterType),
    "cluster-counters": lambda: counter_types(ClusterCounterType),
    "findings": findings,
}


def generated(page: str) -> str:
    """A page with its generated parts as the code has them now."""
    return _PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]()}\n{part[3]}", page)


def main(arguments: list[str]) -> int:
    """Writes the pages, or with ``--check`` tells whether they are as written."""
    stale = [
        path
        for path in sorted(REFERENCE.glob("*.md"))
        if generated(path.read_text()) != path.read_text()
    ]
    for path in stale:
        if "--check" not in arguments:
            path.write_text(generated(path.read_text()))
        print(f"{'stale' if '--check' in arguments else 'written'}: {path.name}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
