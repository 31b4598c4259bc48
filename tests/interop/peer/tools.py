"""The reference's command line tools, run once and their output returned."""

import subprocess
from pathlib import Path
from typing import Any

from peer.artifact import toolchain


def java_tool(
    main_class: str,
    *args: str,
    properties: dict[str, str] | None = None,
    stdin: str = "",
    timeout: float = 90.0,
    check: bool = True,
) -> str:
    """Runs a main class of the jar and returns its standard output and error together.

    Raises:
        AssertionError: it exited with another code than 0 and ``check`` is set.
    """
    command = toolchain().command(main_class, *args, properties=properties or {})
    done = subprocess.run(
        command,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"{main_class} {args} exited {done.returncode}:\n{done.stdout}")
    return done.stdout


def aeron_stat(aeron_dir: str | Path, *args: str) -> str:
    """One picture of the counters, as AeronStat prints it (``watch=false``)."""
    return java_tool(
        "io.aeron.samples.AeronStat",
        "watch=false",
        *args,
        properties={"aeron.dir": str(aeron_dir)},
    )


def archive_tool(archive_dir: str | Path, *args: str, **options: Any) -> str:
    """ArchiveTool on a folder, for example ``archive_tool(folder, "describe")``."""
    return java_tool("io.aeron.archive.ArchiveTool", str(archive_dir), *args, **options)
