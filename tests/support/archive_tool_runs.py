"""The archive tool and the reference's, run on the same folder; what each said."""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from aerolog.tools.reference.archive_tool.archive_tool import run as run_tool
from aerolog.tools.reference.tool_terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

_NOW = re.compile(r"^\d\d:\d\d:\d\d (?=\(start)", re.MULTILINE)
NO = "n\n" * 250_000  # each prompt of the reference swallows what its reader can take


class Said(NamedTuple):
    """What a run printed, the time of day left out, and its exit code."""

    out: str
    err: str
    code: int


def reference_says(*arguments: str | Path, answers: str = NO) -> Said:
    """Runs the reference's tool."""
    import peer

    command = peer.toolchain().command(
        "io.aeron.archive.ArchiveTool", *map(str, arguments), properties={}
    )
    done = subprocess.run(
        command, input=answers, capture_output=True, text=True, timeout=90, check=False
    )
    errors = [line for line in done.stderr.splitlines() if not line.startswith("\t")]
    return Said(_NOW.sub("", done.stdout), "".join(f"{e}\n" for e in errors), done.returncode)


def we_say(*arguments: str | Path, answers: str = NO) -> Said:
    """Runs our tool in its classic form, in this process."""
    out, err = io.StringIO(), io.StringIO()
    code = run_tool(
        [str(one) for one in arguments], Terminal(source=io.StringIO(answers), out=out, err=err)
    )
    return Said(_NOW.sub("", out.getvalue()), err.getvalue(), code)


def agree(*arguments: str | Path) -> Said:
    """Runs both and fails when they say different things; what they said."""
    theirs = reference_says(*arguments)
    assert we_say(*arguments) == theirs
    return theirs


def synopses(usage: str) -> list[str]:
    """The commands of a usage text, without their explanations."""
    return re.findall(r"^  (\S[^:\n]*):", usage, re.MULTILINE)


def file_states(folder: Path) -> dict[str, tuple[str, int]]:
    """Contents and times of change of all files."""
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.iterdir()
    }
