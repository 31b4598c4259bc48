"""What commands print: tables and JSON to stdout, progress and remarks to stderr.

Whatever is printed is fit for a line, see ``terminal_text``, and has no secrets in it, see
``aerolog.transport.secrets``.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aerolog.tools.terminal.terminal_text import fit, fit_json
from aerolog.transport.secrets import without_secrets, without_secrets_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

#: Wide enough for any row: what reads a pipe wants a record a line, not a terminal's wrapping.
_PIPE_WIDTH = 4096
#: Longer tables are not folded to a terminal's width either.
_ROWS_FOLDED = 1000


class Progress:
    """The bar of a long command, which says how much is done and, once known, of how much.

    This one shows nothing.
    """

    def update(self, completed: float, total: float | None = None) -> None:
        """Sets how much is done and, where that is known now, how much there is."""


def print_json(value: Any) -> None:
    """One JSON document, indented for people, sorted as given."""
    import json

    shown = json.dumps(without_secrets_in(value), indent=2, ensure_ascii=False)
    sys.stdout.write(fit_json(shown) + "\n")


def print_json_line(value: Any, *, exact: bool = False) -> None:
    """One JSON document on a line of its own, flushed so that a reader of a pipe sees it.

    Args:
        value: the document.
        exact: whether it is the user's own data, in which nothing is hidden.
    """
    import json

    shown = value if exact else without_secrets_in(value)
    sys.stdout.write(fit_json(json.dumps(shown, ensure_ascii=False)) + "\n")
    sys.stdout.flush()


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Iterable[str] = (),
    exact: bool = False,
) -> None:
    """A table with a heading line.

    Args:
        columns: the heading.
        rows: their cells; None is an empty one.
        right: the columns of numbers, which stand to the right.
        exact: whether it is the user's own data, in which nothing is hidden.
    """
    cells = [[_cell(value, exact=exact) for value in row] for row in rows]
    aligned = set(right)
    if not sys.stdout.isatty() or len(cells) > _ROWS_FOLDED:
        lines = _lines([list(columns), *cells], [column in aligned for column in columns])
        if lines is not None:
            sys.stdout.writelines(lines)
            return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in aligned else "left", overflow="fold")
    for cell_row in cells:
        table.add_row(*map(_plain, cell_row))
    _out().print(table)


def _cell(value: Any, *, exact: bool = False) -> str:
    if value is None:
        return ""
    return fit(str(value) if exact else without_secrets(str(value)))


def _lines(rows: list[list[str]], right: list[bool]) -> list[str] | None:
    """A table's lines as Rich lays them out, which takes it a millisecond a row.

    Returns:
        None where a cell is not of plain characters, or a line is wider than a pipe's.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 2 * len(widths) > _PIPE_WIDTH:
        return None
    # Rich moves blanks at a cell's end.
    if not all(
        cell.isascii() and cell.isprintable() and cell[-1:] != " " for row in rows for cell in row
    ):
        return None
    form = "  ".join(
        f"{{:{'>' if to_right else '<'}{max(width, 1)}}}"
        for width, to_right in zip(widths, right, strict=True)
    )
    return [form.format(*row) + "\n" for row in rows]


def print_fields(values: Mapping[str, Any]) -> None:
    """A name and a value a line."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in values.items():
        table.add_row(name, _plain(_cell(value)))
    _out().print(table)


def say(text: str) -> None:
    """A line to stdout."""
    sys.stdout.write(fit(without_secrets(text), tabs=True) + "\n")
    sys.stdout.flush()


def print_result(row: Any, text: str, *, as_json: bool) -> None:
    """What a command has done: a JSON document, or a line to stdout."""
    if as_json:
        print_json(row)
    else:
        say(text)


def remark(text: str) -> None:
    """A line to stderr; further lines, as of another program's message, are indented."""
    lines = without_secrets(text).rstrip("\n").replace("\n", "\n  ")
    sys.stderr.write(fit(lines, lines=True) + "\n")
    sys.stderr.flush()


def write_error_text(text: str) -> None:
    """Lines to stderr as they are laid out, such as a usage error or the trace of an exception."""
    sys.stderr.write(fit(without_secrets(text), lines=True))
    sys.stderr.flush()


@contextmanager
def progress(
    description: str,
    total: float | None,
    *,
    bytes_: bool = False,
    quiet: bool = False,
    total_follows: bool = False,
) -> Iterator[Progress]:
    """A progress bar on stderr while something long runs; nothing where stderr is no terminal.

    Args:
        description: what is going on.
        total: how much there is, None when nobody knows.
        bytes_: whether the unit is bytes.
        quiet: show nothing, as when messages are printed to the same terminal.
        total_follows: ``update`` may tell how much there is.
    """
    if quiet or not sys.stderr.isatty():
        yield Progress()
        return
    from rich import progress as bars
    from rich.console import Console

    shown: list[bars.ProgressColumn] = [
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        *([bars.DownloadColumn(), bars.TransferSpeedColumn()] if bytes_ else []),
        *([] if bytes_ else [bars.MofNCompleteColumn()]),
        bars.TimeRemainingColumn() if total or total_follows else bars.TimeElapsedColumn(),
    ]
    with bars.Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        yield _BarProgress(bar, bar.add_task(fit(without_secrets(description)), total=total))


@contextmanager
def position_progress(
    description: str, start: int, length: int | None, *, quiet: bool = False
) -> Iterator[Callable[[int], None]]:
    """A progress bar over stream positions; call what it gives with the position reached."""
    with progress(description, length, bytes_=True, quiet=quiet) as bar:
        yield lambda position: bar.update(position - start)


def transfer_progress(description: str) -> AbstractContextManager[Progress]:
    """Bytes, rate and remaining time of a transfer whose length is not known at first."""
    return progress(description, None, bytes_=True, total_follows=True)


class _BarProgress(Progress):
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task

    def update(self, completed: float, total: float | None = None) -> None:
        self._bar.update(self._task, completed=completed, total=total)


def _plain(text: str) -> Any:
    # Channels contain brackets, which Rich would take for markup.
    from rich.text import Text

    return Text(text)


def _out() -> Any:
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with 1: leave it to the command's own handling.
            raise BrokenPipeError

    return PipeConsole(
        file=sys.stdout,
        highlight=False,
        soft_wrap=False,
        width=None if sys.stdout.isatty() else _PIPE_WIDTH,
    )
