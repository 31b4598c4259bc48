"""Changing commands of the archive tool, run as the reference's and as ours on copies of a folder.

Both run on the same path, one after the other, so that what they print and the order of the
folder's listing are the same. Compared are the exit code, both outputs without stack frames, and
every byte of the folder. A stop timestamp that a run has stored counts as a change, not its value.
"""

from __future__ import annotations

import io
import re
import shutil
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.tools.reference.archive_tool.archive_tool import run as run_tool
from aerolog.tools.reference.tool_terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from peer.tool_runner import ToolRunner

ALWAYS = {answer: f"{answer}\n" * 5000 for answer in ("y", "n")}
_FRAMES = re.compile(r"^\t(at |\.\.\. \d+ more)[^\n]*\n", re.MULTILINE)
_STOP_TIMESTAMP_OFFSET = 64
_ALIGNMENT = 32


@dataclass(frozen=True)
class Outcome:
    """What a run has left.

    Attributes:
        code: exit code.
        out: standard output, without stack frames.
        err: first line of standard error, or all of it where it is no exception.
        files: contents by name; the kind where it is no file.
    """

    code: int
    out: str
    err: str
    files: dict[str, bytes | str]


def run_ours(folder: Path | str, *args: object, stdin: str = "") -> Outcome:
    """Our tool in its classic form, in this process."""
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(source=io.StringIO(stdin), out=out, err=err)
    code = run_tool([str(folder), *map(str, args)], terminal)
    return Outcome(code, out.getvalue(), err.getvalue(), contents(Path(folder)))


def run_theirs(runner: ToolRunner, folder: Path, *args: object, stdin: str = "") -> Outcome:
    """The reference's tool."""
    done = runner.archive_tool(folder, *args, stdin=stdin)
    err = without_frames(done.err)
    return Outcome(done.code, _FRAMES.sub("", done.out), err, contents(folder))


def without_frames(err: str) -> str:
    """What is said on standard error, without stack frames."""
    return _FRAMES.sub("", err).partition("Caused by: ")[0]


def contents(folder: Path) -> dict[str, bytes | str]:
    """Everything in a folder."""
    found: dict[str, bytes | str] = {}
    for path in folder.iterdir():
        if path.is_symlink():
            found[path.name] = "link"
        else:
            found[path.name] = "folder" if path.is_dir() else path.read_bytes()
    return found


def assert_same(
    runner: ToolRunner,
    folder: Path,
    args: list[str],
    *,
    damage: Callable[[Path], object] = lambda _: None,
    stdin: str = "",
) -> Outcome:
    """Run both on copies of a folder; gives what ours has left."""
    damage(folder)
    at = folder.with_name("copy")
    begun_ms = time.time_ns() // 1_000_000
    _copy(folder, at)
    theirs = run_theirs(runner, at, *args, stdin=stdin)
    _copy(folder, at)
    ours = run_ours(at, *args, stdin=stdin)
    before = contents(folder)
    assert (ours.code, ours.out, ours.err) == (theirs.code, theirs.out, theirs.err)
    for name in sorted(theirs.files.keys() | ours.files.keys()):
        assert _seen(ours, name, begun_ms) == _seen(theirs, name, begun_ms), (
            f"{name} differs after {args}; before it was {type(before.get(name)).__name__}"
        )
    return ours


def _copy(folder: Path, at: Path) -> None:
    shutil.rmtree(at, ignore_errors=True)
    shutil.copytree(folder, at, symlinks=True)


def _seen(outcome: Outcome, name: str, begun_ms: int) -> bytes | str | None:
    content = outcome.files.get(name)
    if name != "archive.catalog" or not isinstance(content, bytes):
        return content
    masked = bytearray(content)
    for at in range(_ALIGNMENT, len(masked) - _STOP_TIMESTAMP_OFFSET - 8 + 1, _ALIGNMENT):
        (stored,) = struct.unpack_from("<q", masked, at + _STOP_TIMESTAMP_OFFSET)
        if begun_ms <= stored <= begun_ms + 3_600_000:
            struct.pack_into("<q", masked, at + _STOP_TIMESTAMP_OFFSET, 0)
    return bytes(masked)
