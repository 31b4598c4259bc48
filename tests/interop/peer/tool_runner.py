"""The reference's command line tools in one JVM: many runs, one start.

A run is as in a process of its own, but for the working directory and the environment.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from peer.artifact import toolchain
from peer.process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ARCHIVE_TOOL = "io.aeron.archive.ArchiveTool"


@dataclass(frozen=True)
class ToolRun:
    """What one run printed, and its exit code."""

    code: int
    out: str
    err: str


class ToolRunner:
    """Runs main classes of the jar; a context manager."""

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        allowed = {"java.security.manager": "allow", **(properties or {})}
        self.process = ServerProcess(
            "java-tools", toolchain().command("ToolRunner", properties=allowed)
        )
        self.process.wait_line("ready")

    def run(
        self, main_class: str, *args: object, stdin: str = "", timeout: float = 60.0
    ) -> ToolRun:
        """Runs one main class to its end."""
        request = {"class": main_class, "args": [str(arg) for arg in args], "stdin": stdin}
        self.process.write_line(json.dumps(request))
        # A line of the JVM itself, a warning, may come before it.
        answer = json.loads(self.process.wait_line('{"code"', timeout))
        return ToolRun(answer["code"], answer["out"], answer["err"])

    def archive_tool(self, folder: str | Path, *args: object, stdin: str = "") -> ToolRun:
        """ArchiveTool on a folder, given absolute: the JVM's working directory is its own."""
        return self.run(ARCHIVE_TOOL, folder, *args, stdin=stdin)

    def stop(self) -> None:
        """Ends the JVM."""
        self.process.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
