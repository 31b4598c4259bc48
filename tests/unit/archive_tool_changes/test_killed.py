"""Killed between any two operations on files: nothing is lost, and doing it again finishes it.

The tool runs in a forked process that kills itself before its n-th operation on the folder, for
every n until it comes to its end.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
from itertools import count
from typing import TYPE_CHECKING

import pytest
from folder_changes_run import change
from old_archives import mark_version, new_mark, with_legacy_catalog

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.tools.reference.archive_tool.archive_tool import run as run_tool
from aerolog.tools.reference.tool_terminal import Terminal
from aerolog.tools.terminal.command_terminal import ChangeTerminal

if TYPE_CHECKING:
    from pathlib import Path

_OPERATIONS = {"os.remove", "os.rename", "os.link", "os.truncate", "open"}


def run_killed(folder: Path, arguments: list[str], operation: int, *, classic: bool) -> bool:
    """Run the tool and kill it before an operation; whether it came to its end."""
    child = os.fork()
    if child == 0:
        _run_child(folder, arguments, operation, classic=classic)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.waitstatus_to_exitcode(status) == 0
    return True


def _run_child(folder: Path, arguments: list[str], operation: int, *, classic: bool) -> None:
    seen = count(1)

    def watch(event: str, values: tuple[object, ...]) -> None:
        concerned = any(str(folder) in str(value) for value in values if isinstance(value, str))
        if event in _OPERATIONS and concerned and next(seen) == operation:
            os.kill(os.getpid(), signal.SIGKILL)

    code = 1
    try:
        sys.addaudithook(watch)
        out = io.StringIO()
        source = io.StringIO("y\n" * 100)
        if classic:
            given = (
                " ".join(arguments).replace("--all", "-a").replace("orphaned", "orphaned-segments")
            )
            terminal = Terminal(source=source, out=out, err=out)
            code = run_tool([str(folder), *given.split()], terminal)
        else:
            code = change(folder, " ".join(arguments), ChangeTerminal(yes=True, out=out, err=out))
    finally:
        os._exit(code)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def valid(folder: Path) -> dict[int, object]:
    with CatalogReader.open(folder) as catalog:
        return {i: catalog.descriptor(i) for i in catalog.ids()}


def finish(folder: Path, arguments: list[str]) -> dict[str, bytes]:
    assert change(folder, " ".join(arguments), ChangeTerminal(yes=True, out=io.StringIO())) == 0
    return contents(folder)


@pytest.mark.parametrize("classic", [False, True])
@pytest.mark.parametrize("command", ["compact", "delete-orphaned", "checksum CRC-32C --all"])
def test_a_killed_command_loses_nothing_and_can_be_done_again(
    command: str, classic: bool, folder: Path, tmp_path: Path
) -> None:
    for name in ("0-1048576.rec", "1-2097152.rec"):
        (folder / name).write_bytes(bytes(65536))
    arguments = command.split()
    recordings = valid(folder)
    before = contents(folder)
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    wanted = finish(whole, arguments)
    ended, operation = False, 0
    while not ended:
        operation += 1
        at = tmp_path / str(operation)
        shutil.copytree(folder, at)
        ended = run_killed(at, arguments, operation, classic=classic)
        assert valid(at) == recordings
        left = contents(at)
        for name in wanted:
            if name.endswith(".rec"):
                assert left[name] in (before[name], wanted[name])
        assert finish(at, arguments) == wanted
        shutil.rmtree(at)
    # An entry is opened, something written, something removed: more than one moment was tried.
    assert operation > 1


def test_a_killed_migration_of_the_catalog_goes_on(folder: Path, tmp_path: Path) -> None:
    new_mark(folder).terminated()
    mark_version(folder, 2 << 16)
    with_legacy_catalog(folder, 2 << 16)
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    wanted = finish(whole, ["upgrade"])
    ended, operation = False, 0
    while not ended:
        operation += 1
        at = tmp_path / str(operation)
        shutil.copytree(folder, at)
        ended = run_killed(at, ["upgrade"], operation, classic=False)
        assert finish(at, ["upgrade"]) == wanted
        shutil.rmtree(at)
    assert operation > 1
