"""Folders in shared memory, where drivers have their directories; a run that leaves one fails."""

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
_numbers = itertools.count(1)


def prefix() -> str:
    """How the names of all folders of this process begin."""
    return f"aerolog-test-{os.getpid()}-"


def memory_path(name: str = "") -> Path:
    """A path that does not exist yet, short enough for the labels of counters."""
    return SHARED_MEMORY / f"{prefix()}{name}{next(_numbers)}"


@contextmanager
def memory_folder() -> Iterator[Path]:
    """A new folder, which is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=prefix(), dir=SHARED_MEMORY))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def left() -> list[str]:
    """The names of the folders of this process that are still there."""
    return sorted(path.name for path in SHARED_MEMORY.glob(f"{prefix()}*"))
