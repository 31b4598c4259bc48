"""Every command by its words, and the options of each, for tests that call them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.tools.command_line.application import application

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Commands that would go on with a word that they can use; all but the last are in
#: test_endless_commands.py.
LEFT_OUT = {
    "driver", "archiving-driver", "archive", "clustered-driver", "consensus-module",
    "service-container", "top", "subscribe",
    "completion",  # it writes into the home folder
}  # fmt: skip
#: Options without an end, and those that are given below.
ENDLESS = {"--watch", "--follow", "--every", "--interval"}
GIVEN = {
    "--archive-dir": "ARCHIVE", "--aeron-dir": "missing", "--driver-timeout": "0.01",
    "--timeout": "0.01",
}  # fmt: skip
#: What makes a command end that would serve.
ENDING = {"serve-metrics": ["--once"]}


def leaves() -> Iterator[tuple[str, Any]]:
    """Each command that has no commands below it, by its words."""

    def below(words: tuple[str, ...], group: Any, context: Any) -> Iterator[tuple[str, Any]]:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            path = (*words, name)
            if hasattr(command, "list_commands"):
                yield from below(path, command, command.context_class(command, parent=context))
            else:
                yield " ".join(path), command

    top = application()
    yield from below((), top, top.context_class(top, info_name="aerolog"))


COMMANDS = {path: command for path, command in leaves() if path.split()[0] not in LEFT_OUT}


def valued_options(command: Any) -> list[str]:
    """The options of a command that take a value."""
    return [
        each.opts[0]
        for each in command.params
        if each.opts[0].startswith("--") and not each.is_flag and each.opts[0] not in ENDLESS
    ]
