"""Manual pages of the commands, made of the declarations that ``--help`` shows.

They are written when they are asked for, so that a page is always that of the installed version.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerolog._version import __version__
from aerolog.tools.command_line.application import SECTIONS, application
from aerolog.tools.command_line.exit_codes import CODES, OWN_CODES
from aerolog.tools.command_line.help import first_sentence, parameter_rows, usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SECTION: Final = 1

#: Variables that every command knows, and what they do.
_VARIABLES: Final = {
    "AERON_*": "A property of driver or archive: AERON_DIR is aeron.dir.",
    "NO_COLOR": "No colours, also on a terminal; elsewhere there are none anyway.",
    "AEROLOG_TRACEBACK": "As --debug, where it is not empty.",
}


class ManualPage(NamedTuple):
    """A manual page: its name without the section, and its text for groff."""

    name: str
    text: str

    @property
    def file_name(self) -> str:
        """The file in a folder man1."""
        return f"{self.name}.{SECTION}"


class _Node(NamedTuple):
    path: tuple[str, ...]
    command: Any
    inner: tuple[_Node, ...]

    @property
    def name(self) -> str:
        return "-".join(self.path)


def pages() -> Iterator[ManualPage]:
    """The page of every command, the overview first."""
    root = _tree()
    yield from _pages(root, root)


def page(path: Iterable[str]) -> ManualPage | None:
    """The page of one command.

    Args:
        path: its name and its group's, nothing for the overview.
    """
    root = node = _tree()
    for name in path:
        found = [one for one in node.inner if one.path[-1] == name]
        if not found:
            return None
        node = found[0]
    return ManualPage(node.name, _text(node, root))


def _tree() -> _Node:
    root = application()
    context = root.make_context("aerolog", [], resilient_parsing=True)
    nodes = []
    for name in root.list_commands(context):
        one = root.get_command(context, name)
        inner = getattr(one, "commands", {})
        under = tuple(_Node(("aerolog", name, sub), two, ()) for sub, two in inner.items())
        nodes.append(_Node(("aerolog", name), one, under))
    return _Node(("aerolog",), root, tuple(nodes))


def _pages(node: _Node, root: _Node) -> Iterator[ManualPage]:
    yield ManualPage(node.name, _text(node, root))
    for inner in node.inner:
        yield from _pages(inner, root)


def _text(node: _Node, root: _Node) -> str:
    """The source of a manual page."""
    lines = [f'.TH {node.name.upper()} {SECTION} "" "aerolog {__version__}" "aerolog"']
    sentence = first_sentence(node.command).rstrip(".")
    lines += [
        ".SH NAME",
        f"{_literal(node.name)} \\- {_prose(sentence[:1].lower() + sentence[1:])}",
    ]
    lines += [".SH SYNOPSIS", ".nf", *_synopsis(node), ".fi", ".SH DESCRIPTION"]
    for paragraph in re.split(r"\n\s*\n", (node.command.help or "").strip()):
        lines += [".PP", _prose(" ".join(paragraph.split()))]
    if node is root:
        for heading, names in SECTIONS.items():
            inner = [one for one in node.inner if one.path[-1] in names]
            lines += _rows(heading, ((one.path[-1], first_sentence(one.command)) for one in inner))
    else:
        rows = ((one.path[-1], first_sentence(one.command)) for one in node.inner)
        lines += _rows("Commands", rows)
    taken = parameter_rows(node.command)
    lines += _rows("Arguments", taken.arguments)
    lines += _rows("Options", taken.options)
    lines += _rows("Connection", taken.connection)
    if node.command.epilog:
        lines += [".SH EXAMPLES", ".nf", *map(_literal, node.command.epilog.splitlines()), ".fi"]
    own = OWN_CODES.get(node.path[1], {}) if len(node.path) > 1 else {}
    lines += _rows("Exit status", ((str(code), text) for code, text in {**CODES, **own}.items()))
    lines += _rows("Environment", _variables(node.command).items())
    lines += _see_also(node, root)
    return "\n".join(lines) + "\n"


def _synopsis(node: _Node) -> list[str]:
    shown = " ".join(node.path)
    pieces = ["COMMAND ..."] if node.inner else usage(node.command.params)
    return [_literal(" ".join((shown, *pieces)))]


def _rows(heading: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    lines = [line for name, meaning in rows for line in _row(name, meaning)]
    return [f".SH {heading.upper()}", *lines] if lines else []


def _row(name: str, meaning: str) -> list[str]:
    return [".TP", f"\\fB{_literal(name)}\\fR", _prose(meaning)]


def _variables(command: Any) -> dict[str, str]:
    own = {
        param.envvar: f"Default of {param.opts[0]}."
        for param in command.params
        if isinstance(getattr(param, "envvar", None), str)
    }
    return own | _VARIABLES


def _see_also(node: _Node, root: _Node) -> list[str]:
    up = [node.path[:-1]] if len(node.path) > 1 else []
    beside = [one.path for one in (node.inner or root.inner) if one.path != node.path]
    listed = [
        f"\\fB{_literal('-'.join(path))}\\fR({SECTION})" for path in dict.fromkeys([*up, *beside])
    ]
    return [".SH SEE ALSO", ",\n".join(listed)]


def _literal(text: str) -> str:
    """Text to be typed: hyphens are minus signs, so that it can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    escaped = escaped.replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return _guarded(escaped)


def _prose(text: str) -> str:
    """A paragraph; what looks like an option keeps its minus signs."""
    escaped = text.replace("\\", "\\e").replace("'", "\\(aq").replace("~", "\\(ti")
    escaped = re.sub(r"(?<![\w-])-{1,2}\w[\w-]*", lambda m: m[0].replace("-", "\\-"), escaped)
    return _guarded(escaped)


def _guarded(text: str) -> str:
    return f"\\&{text}" if text.startswith((".", "'")) else text
