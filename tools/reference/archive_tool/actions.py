"""The commands of the archive tool, as a table; their modules are loaded when they are called.

The module of a command ``some-name`` has two functions, both
``(folder: str, arguments: Sequence[str], terminal: Terminal) -> int``: ``classic_some_name`` writes
what the reference writes, ``some_name`` tables, or JSON where ``terminal.as_json`` is set. They
return the exit code. ``folder`` is as it was given and exists; ``arguments`` are those behind the
command's name. The classic form raises ``JavaError`` where the reference ends with an exception
(``java_error_of`` gives its words to errors of ours); the other one raises the house's errors and
``typer.BadParameter`` for arguments that make no sense.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from aerolog.tools.reference.tool_terminal import Terminal

Action = Callable[[str, Sequence[str], Terminal], int]

#: Exit code of usage errors and of faulty entries found: the reference's -1.
EXIT_INVALID: Final = 255
#: Arguments in all that the reference's tool takes, the folder and the command's name included.
MAX_ARGUMENTS: Final = 6
_ANY: Final = range(MAX_ARGUMENTS - 1)


class Command(NamedTuple):
    """A command of such a tool.

    Attributes:
        module: under the tool's package, with its two functions.
        counts: how many arguments may follow the name.
        synopsis: name and arguments.
        meaning: what the command does, in a line.
        changes: whether it writes or deletes anything.
    """

    module: str
    counts: range
    synopsis: str
    meaning: str
    changes: bool = False

    def usage(self) -> list[tuple[str, str]]:
        """Synopses and meanings as the reference lists them: with and without a recording's id."""
        name, _, rest = self.synopsis.partition(" ")
        if name != "describe":
            return [(self.synopsis, self.meaning)]
        valid, _, one = self.meaning.partition(", or ")
        return [(name, f"{valid}."), (f"{name} {rest.strip('[]')}", one.capitalize())]


COMMANDS: Final[dict[str, Command]] = {
    "capacity": Command(
        "capacity_action",
        range(2),
        "capacity [capacity in bytes]",
        "Length of the catalog file, or make it that long (not with --classic).",
        changes=True,
    ),
    "checksum": Command(
        "checksum_action",
        range(1, 4),
        "checksum className [recordingId] [-a]",
        "Compute checksums and store them, of the last segment or with -a of all.",
        changes=True,
    ),
    "compact": Command(
        "compact_action",
        range(1),
        "compact",
        "Remove recordings that are not valid, and their segments.",
        changes=True,
    ),
    "count-entries": Command(
        "info_actions", range(1), "count-entries", "Number of valid recordings."
    ),
    "delete-orphaned-segments": Command(
        "orphans_action",
        _ANY,
        "delete-orphaned-segments [recordingId]",
        "Delete segments outside of their recording's start and stop.",
        changes=True,
    ),
    "describe": Command(
        "describe_action",
        range(2),
        "describe [recordingId]",
        "Valid recordings, or one of any state.",
    ),
    "describe-all": Command(
        "describe_action", _ANY, "describe-all", "All recordings, with their states."
    ),
    "dump": Command(
        "dump_action",
        _ANY,
        "dump [data fragment limit per recording]",
        "All recordings and their frames.",
    ),
    "errors": Command("info_actions", range(1), "errors", "Errors of the archive and its driver."),
    "max-entries": Command(
        "capacity_action",
        range(2),
        "max-entries [number of entries]",
        "Deprecated: see capacity.",
    ),
    "migrate": Command(
        "migrate_action",
        range(1),
        "migrate",
        "Bring mark file, catalog and segments of an older version up to this one.",
        changes=True,
    ),
    "pid": Command("info_actions", range(1), "pid", "Process id of the archive."),
    "verify": Command(
        "verify_action",
        range(5),
        "verify [recordingId] [-a] [-checksum className]",
        "Check recordings and their last segment, or with -a all; faulty ones become invalid.",
        changes=True,
    ),
    "mark-invalid": Command(
        "mark_action", range(1, 2), "mark-invalid <recordingId>", "Make a recording invalid.", True
    ),
    "mark-valid": Command(
        "mark_action", range(1, 2), "mark-valid <recordingId>", "Make a recording valid.", True
    ),
}


class Tool(NamedTuple):
    """A tool of the reference's: its commands, and where they are.

    Attributes:
        package: of the commands' modules.
        commands: the table of its commands.
        owner: whose folder it is given.
    """

    package: str
    commands: dict[str, Command]
    owner: str

    def action(self, name: str, *, classic: bool) -> Action:
        """The function of a command in the table."""
        module = importlib.import_module(self.package + self.commands[name].module)
        function = name.replace("-", "_")
        found: Action = getattr(module, f"classic_{function}" if classic else function)
        return found


ARCHIVE_TOOL: Final = Tool("aerolog.tools.reference.archive_tool.", COMMANDS, "archive")
