"""Folders with recordings of all states, and the tool on them."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from folder_changes_run import change

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.protocol.enums import RecordingState
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.reference.archive_tool.archive_tool import run as run_tool
from aerolog.tools.reference.tool_terminal import Terminal
from aerolog.tools.terminal.command_terminal import ChangeTerminal

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
    """``tool("checksum", "CRC-32", "--all", answers="y\\n", dry_run=True)``."""

    def call(*arguments: object, answers: str | None = None, **switches: Any) -> Ran:
        source = io.StringIO("") if answers is None else Keyboard(answers)
        command = " ".join(map(str, arguments))
        code = change(folder, command, ChangeTerminal(source=source, **switches))
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return call


@pytest.fixture
def classic(folder: Path) -> Callable[..., Ran]:
    """The reference's tool as ours; ``answers`` is its standard input."""

    def call(*arguments: object, answers: str = "") -> Ran:
        out, err = io.StringIO(), io.StringIO()
        terminal = Terminal(source=io.StringIO(answers), out=out, err=err)
        code = run_tool([str(folder), *map(str, arguments)], terminal)
        return Ran(code, out.getvalue(), err.getvalue())

    return call
