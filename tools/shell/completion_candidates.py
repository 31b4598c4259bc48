"""What could stand at the end of a command line that is being typed.

The shells' scripts ask with ``aerolog __complete SHELL WORD... LAST``; an answer is a line a
candidate: its kind, the text and its meaning, with tabs between. Commands and options come from
the same declarations as ``--help``, so that there is nothing to keep in step.
"""

from __future__ import annotations

import shlex
import sys
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerolog.tools.terminal.terminal_text import fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: Kinds of candidates: a word as it is, or what the shell itself shall look for.
WORD: Final = "word"
DIRECTORY: Final = "dir"
FILE: Final = "file"

#: Metavar of an option or argument -> what it takes.
_PLACES: Final = {
    "DIR": DIRECTORY,
    "FOLDER": DIRECTORY,
    "PLACE": DIRECTORY,
    "FILE": FILE,
    "F": FILE,
    "JOB.toml": FILE,
    "PATH": FILE,
}
_MEANING_MAX: Final = 60


class Candidate(NamedTuple):
    """One that fits: for a place ``text`` is what is typed of it."""

    text: str
    meaning: str = ""
    kind: str = WORD


def answer(arguments: Sequence[str]) -> int:
    """Writes the candidates that a shell's script asked for; returns the exit code."""
    shell, *rest = arguments or [""]
    if shell == "bash":
        # The line up to the cursor, and the word there as bash cuts it: at = and : too.
        line, current = (*rest, "", "")[:2]
        words = split_line(line)
        cut = max(len(words[-1]) - len(current), 0)
    else:
        words, cut = (rest or [""]), 0
    for found in candidates(words[:-1], words[-1]):
        sys.stdout.write(f"{found.kind}\t{fit(found.text[cut:])}\t{fit(found.meaning)}\n")
    return 0


def split_line(line: str) -> list[str]:
    """The words of a line behind the program's name, the last one being typed, maybe empty."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        # A quotation that is still open: what is behind it is the word.
        words.append(lexer.token)
    if not line or line[-1].isspace():
        words.append("")
    return words[1:] or [""]


def candidates(words: Sequence[str], last: str) -> list[Candidate]:
    """What fits at the end of a line.

    Args:
        words: complete ones, behind the program's name.
        last: what is typed of the last one, maybe nothing.
    """
    from aerolog.tools.command_line.application import COMMANDS, SECTIONS, application

    given = [word for word in words if word not in {"--debug", "--version"}]
    if not given:
        if last.startswith("-"):
            return _fitting(_options(application(), []), last)
        listed = [name for names in SECTIONS.values() for name in names if name in COMMANDS]
        return _fitting((Candidate(name, COMMANDS[name][1]) for name in listed), last)
    root = application()
    context = root.make_context("aerolog", [], resilient_parsing=True)
    command = root.get_command(context, given[0])
    given = given[1:]
    inner = getattr(command, "commands", None)
    if inner is not None:
        if not given:
            shown = (Candidate(name, _first_line(one.help)) for name, one in inner.items())
            return _fitting(_options(command, []) if last.startswith("-") else shown, last)
        command, given = inner.get(given[0]), given[1:]
    return [] if command is None else _of_command(command, given, last)


def _of_command(command: Any, given: list[str], last: str) -> list[Candidate]:
    options = {name: p for p in command.params for name in (*p.opts, *p.secondary_opts)}
    arguments = [param for param in command.params if param.param_type_name != "option"]
    ended = "--" in given
    placed: list[str] = []
    waiting: Any = None
    for word in given:
        if waiting is not None:
            waiting = None
        elif ended or not word.startswith("-") or word == "-":
            placed.append(word)
        else:
            option = options.get(word)
            takes = option is not None and not getattr(option, "is_flag", False)
            waiting = option if takes else None
    if waiting is not None:
        return _values(waiting, last)
    if last.startswith("-D") and not ended:
        return _fitting(_properties(command.name, last), last)
    if last.startswith("-") and not ended:
        name, is_set, value = last.partition("=")
        if is_set and name in options:
            return [
                one._replace(text=f"{name}={one.text}") for one in _values(options[name], value)
            ]
        return _fitting(_options(command, given), last)
    return _of_arguments(command, arguments, placed, last)


def _of_arguments(
    command: Any, arguments: list[Any], placed: list[str], last: str
) -> list[Candidate]:
    # An argument that takes several is the last one; its metavar names them one by one.
    names = [
        (word, one)
        for one in arguments
        for word in _shown(one).split()
        if not word.startswith("[-")
    ]
    if not names:
        return []
    name, argument = names[min(len(placed), len(names) - 1)]
    if name == "COMMAND" and command.name in {"archive-tool", "cluster-tool"}:
        if command.name == "archive-tool":
            from aerolog.tools.reference.archive_tool.archive_tool_table import COMMANDS
        else:
            from aerolog.tools.reference.cluster_tool.cluster_tool_table import COMMANDS
        return _fitting((Candidate(name, one.meaning) for name, one in COMMANDS.items()), last)
    return _values(argument, last, name.strip("[].,"))


def _values(param: Any, last: str, name: str | None = None) -> list[Candidate]:
    """What fits as the value of an option or an argument."""
    if isinstance(param.default, Enum):
        return _fitting((Candidate(str(one.value)) for one in type(param.default)), last)
    shown = name or _shown(param).strip("[].,")
    if shown == "SHELL":
        return _fitting(map(Candidate, ("bash", "zsh", "fish")), last)
    if "|" in shown and shown == shown.lower():
        return _fitting(map(Candidate, shown.split("|")), last)
    if shown == "COMMAND":
        return candidates([], last)
    kind = _PLACES.get(shown)
    return [] if kind is None else [Candidate(last, kind=kind)]


def _options(command: Any, given: list[str]) -> Iterator[Candidate]:
    """The options of a command but those that are there already and count once."""
    for param in command.params:
        if param.param_type_name != "option" or getattr(param, "hidden", False):
            continue
        names = [*param.opts, *param.secondary_opts]
        if getattr(param, "multiple", False) or not set(names) & set(given):
            yield from (Candidate(name, _first_line(param.help)) for name in names)
    yield Candidate("--help", "Show what the command does.")


def _properties(service: str, last: str) -> Iterator[Candidate]:
    """The properties of a service, and behind the equals sign the names that one accepts."""
    found: list[Any] = []
    if service in {"driver", "archiving-driver", "clustered-driver"}:
        from aerolog.transport.driver.properties import PROPERTIES as DRIVER

        found += DRIVER
    if service in {"archive", "archiving-driver", "clustered-driver"}:
        from aerolog.archive.service.properties import PROPERTIES as ARCHIVE

        found += ARCHIVE
    if service in {"clustered-driver", "consensus-module"}:
        from aerolog.cluster.module.properties import PROPERTIES as MODULE

        found += MODULE
    if service == "service-container":
        from aerolog.cluster.service.options import PROPERTIES as CONTAINER

        found += CONTAINER
    named = last[2:].partition("=")[0] if "=" in last else None
    for prop in found:
        if named is None:
            yield Candidate(f"-D{prop.name}=", _first_line(prop.meaning))
        elif named == prop.name:
            yield from (Candidate(f"-D{named}={choice}") for choice in prop.choices or ())


def _fitting(found: Iterable[Candidate], last: str) -> list[Candidate]:
    return [one for one in found if one.text.startswith(last)]


def _shown(param: Any) -> str:
    return str(param.metavar or param.name.upper())


def _first_line(text: str | None) -> str:
    sentence = " ".join((text or "").split("\n\n")[0].split()).partition(". ")[0].rstrip(".")
    if len(sentence) > _MEANING_MAX:
        sentence = sentence[: _MEANING_MAX - 3].rsplit(" ", 1)[0] + "..."
    return sentence
