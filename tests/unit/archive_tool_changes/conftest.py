"""Folders with recordings of all states, and the tool on them."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.protocol.enums import RecordingState
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.reference.archive_tool.classic_tool import run_classic
from aerolog.tools.reference.archive_tool.table_tool import run
from aerolog.tools.reference.tool_terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Keyboard(io.StringIO):
    """Somebody who answers."""

    def isatty(self) -> bool:
        return True


@dataclass
class Ran:
    """A run of the tool."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five recordings: 0 and 1 stopped, 2 active, 3 invalid, 4 deleted without segments."""
    path = tmp_path / "archive"
    path.mkdir()
    for number in range(5):
        builder = RecordingBuilder(stream_id=10 + number)
        for index in range(40 if number % 2 else 100):
            builder.add(bytes([number + 1]) * (1000 + index))
        builder.write(path, stopped=number != 2)
    with CatalogFile.open(path) as catalog:
        catalog.change_state(3, RecordingState.INVALID)
        catalog.change_state(4, RecordingState.DELETED)
    for segment in path.glob("4-*.rec"):
        segment.unlink()
    return path


@pytest.fixture
def tool(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """``tool("verify", "-a", answers="y\\n", dry_run=True)``."""

    def call(*arguments: object, answers: str | None = None, **switches: Any) -> Ran:
        source = io.StringIO("") if answers is None else Keyboard(answers)
        code = run([str(folder), *map(str, arguments)], Terminal(source=source, **switches))
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return call


@pytest.fixture
def classic(folder: Path) -> Callable[..., Ran]:
    """The classic form; ``answers`` is its standard input."""

    def call(*arguments: object, answers: str = "") -> Ran:
        out, err = io.StringIO(), io.StringIO()
        terminal = Terminal(source=io.StringIO(answers), out=out, err=err)
        code = run_classic([str(folder), *map(str, arguments)], terminal)
        return Ran(code, out.getvalue(), err.getvalue())

    return call
