"""The folders in which benchmarks put the drivers and archives that they measure."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_VARIABLE = "AEROLOG_BENCH_ARCHIVES"


def chosen_folder() -> str | None:
    """The folder that AEROLOG_BENCH_ARCHIVES names, None without."""
    return os.environ.get(_VARIABLE)


def memory_folder() -> str | None:
    """The folder of shared memory, None where there is none."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def archive_folder() -> str | None:
    """The folder for measured archives: in memory, or what AEROLOG_BENCH_ARCHIVES names."""
    return chosen_folder() or memory_folder()


def temporary_folder(parent: str | None = None) -> tempfile.TemporaryDirectory[str]:
    """A new folder, removed at the end of its block; in that of the system when parent is None."""
    return tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir=parent)
