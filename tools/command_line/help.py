"""Help in plain text that fits a screen: what a command does, its options, examples.

Written here and not by Rich, whose help takes longer to load than most commands take to run, and
shows in seventy lines what fits in thirty.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import typer

T = TypeVar("T")

#: Panel of the options by which a command reaches driver and archive: told last.
CONNECTION_PANEL: Final = "Connection"
_CONNECTION_HEADING: Final = (
    "Connection (or variables: AERON_DIR, AERON_ARCHIVE_CONTROL_CHANNEL, ...)"
)
_WIDTH_MAX: Final = 100
_WIDTH_MIN: Final = 60
_NAME_MAX: Final = 30


class HouseCommand(TyperCommand):
    """A command with help of our own; its epilog holds the examples, one a line."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help."""
        page = _Page(_width())
        page.usage(ctx.command_path, self.params)
        page.text(self.help)
        rows = parameter_rows(self)
        page.rows("Arguments", rows.arguments)
        page.rows("Options", rows.options)
        page.examples(self.epilog)
        page.rows(_CONNECTION_HEADING, rows.connection)
        formatter.write(page.written())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses; help is given at once, without what Typer loads to tell a true from a false."""
        end = args.index("--") if "--" in args else len(args)
        if "--help" in args[:end] and not ctx.resilient_parsing:
            _give_help(ctx)
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What errors of usage show, the same as the help."""
        del ctx
        return list(usage(self.params))


#: The section of the overview that has the options as well, which saves them a heading.
MORE: Final = "More"


class HouseGroup(TyperGroup):
    """A group of commands with help of our own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses; help is given at once."""
        if args[:1] == ["--help"] and not ctx.resilient_parsing:
            _give_help(ctx)
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What errors of usage show, the same as the help."""
        del ctx
        return ["COMMAND ..."]

    def sections(self, ctx: Any) -> dict[str, list[str]]:
        """Headings of the overview, and the names of the commands below them."""
        return {"Commands": self.list_commands(ctx)}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help."""
        page = _Page(_width())
        page.line(f"Usage: {ctx.command_path} COMMAND ...")
        page.text(self.help)
        sections = self.sections(ctx)
        width = max(len(name) for names in sections.values() for name in names)
        options = parameter_rows(self).options
        for heading, names in sections.items():
            commands: list[Any] = [self.get_command(ctx, name) for name in names]
            rows = [(one.name.ljust(width), first_sentence(one)) for one in commands]
            if heading == MORE:
                rows, options = rows + options, []
            page.rows(heading, rows)
        page.rows("Options", options)
        page.examples(self.epilog)
        formatter.write(page.written())


def command(
    app: typer.Typer, name: str | None = None, *, examples: Sequence[str] = (), **settings: Any
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorator: adds a command with our help.

    Args:
        app: the application or group to which the command is added.
        name: the name of the command; the function's when None.
        examples: command lines without ``aerolog``.
        settings: further settings of Typer.
    """
    epilog = "\n".join(f"aerolog {example}" for example in examples) or None
    add: Callable[[Callable[..., T]], Callable[..., T]] = app.command(
        name, cls=HouseCommand, epilog=epilog, **settings
    )
    return add


class ParameterRows(NamedTuple):
    """Names and meanings of what a command takes, of which help and manual are made."""

    arguments: list[tuple[str, str]]
    options: list[tuple[str, str]]
    connection: list[tuple[str, str]]


def parameter_rows(described: Any) -> ParameterRows:
    """What a command takes, its options for driver and archive apart (without variables)."""
    params: list[Any] = list(described.params)
    options = [param for param in params if _is_option(param) and not param.hidden]
    reaching = [param for param in options if _panel(param) == CONNECTION_PANEL]
    return ParameterRows(
        [_argument(p) for p in params if not _is_option(p) and p.help],
        [_option(p) for p in options if p not in reaching],
        [_option(p, variable=False) for p in reaching],
    )


class _Page:
    """Lines of help as they are put together."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[str] = []

    def line(self, text: str) -> None:
        """A line as it is."""
        self._lines.append(text)

    def usage(self, path: str, params: Iterable[Any]) -> None:
        """Adds the usage line."""
        self._lines += textwrap.wrap(
            f"Usage: {' '.join([path, *usage(params)])}",
            self._width,
            subsequent_indent="  ",
            break_on_hyphens=False,
        )

    def text(self, text: str | None) -> None:
        """Adds paragraphs."""
        for paragraph in re.split(r"\n\s*\n", (text or "").strip()):
            self._lines += ["", *textwrap.wrap(paragraph, self._width)]

    def rows(self, heading: str, rows: Iterable[tuple[str, str]]) -> None:
        """A heading and names with their meanings beside them."""
        listed = list(rows)
        if not listed:
            return
        self._lines += ["", f"{heading}:"]
        width = min(max(len(name) for name, _ in listed), _NAME_MAX) + 4
        for name, meaning in listed:
            head = f"  {name}".ljust(width)
            if len(name) > width - 4:
                self._lines.append(head)
                head = " " * width
            wrapped = textwrap.wrap(
                meaning, max(self._width - width, 20), break_on_hyphens=False
            ) or [""]
            self._lines.append((head + wrapped[0]).rstrip())
            self._lines += [" " * width + more for more in wrapped[1:]]

    def examples(self, text: str | None) -> None:
        """Command lines, as they are."""
        if text:
            self._lines += ["", "Examples:", *(f"  {line}" for line in text.splitlines())]

    def written(self) -> str:
        """The whole page."""
        return "\n".join(self._lines)


def usage(params: Iterable[Any]) -> Iterator[str]:
    """What stands behind a command's name: arguments, required options, a word for the others."""
    params = list(params)
    for param in params:
        if not _is_option(param):
            shown = param.metavar or param.name.upper()
            yield shown if param.required or shown.startswith("[") else f"[{shown}]"
    yield from (f"{p.opts[0]} {p.metavar}" for p in params if _is_option(p) and p.required)
    yield "[OPTIONS]"


def _give_help(ctx: Any) -> NoReturn:
    import typer

    typer.echo(ctx.get_help())
    raise typer.Exit


def _is_option(param: Any) -> bool:
    return bool(param.param_type_name == "option")


def _panel(param: Any) -> str | None:
    panel: str | None = getattr(param, "rich_help_panel", None)
    return panel


def _argument(param: Any) -> tuple[str, str]:
    return param.metavar or param.name.upper(), param.help


def _option(param: Any, *, variable: bool = True) -> tuple[str, str]:
    """An option's name and what it means, with its default and its environment variable."""
    names = ", ".join([*param.opts, *param.secondary_opts])
    if param.metavar and not param.is_flag:
        names += f" {param.metavar}"
    meaning = param.help or ""
    default = getattr(param.default, "value", param.default)
    notes = []
    if isinstance(default, str | int | float) and not isinstance(default, bool) and default != "":
        notes.append(f"default {default:g}" if isinstance(default, float) else f"default {default}")
    if param.required:
        notes.append("required")
    if param.envvar and variable:
        notes.append(f"${param.envvar}")
    return names, f"{meaning} [{'; '.join(notes)}]" if notes else meaning


def first_sentence(shown: Any) -> str:
    """What a command does, in a sentence."""
    sentence, _, _ = " ".join((shown.help or "").split("\n\n")[0].split()).partition(". ")
    return sentence if sentence.endswith(".") else f"{sentence}."


def _width() -> int:
    columns = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
    return max(_WIDTH_MIN, min(columns, _WIDTH_MAX))
