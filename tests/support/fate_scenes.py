"""Acts a row of `fates` and looks at every part that is left."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING

import prerequisites
import pytest
from fate_acts import ACTS
from fate_parts import a_stage
from fates import ROWS
from shared_memory import memory_path

if TYPE_CHECKING:
    from pathlib import Path

    from fates import Row

DISK_BYTES = 8 << 20
MEMORY_BYTES = 64 << 20
ANOTHER = {"again", "beside", "stopped"}


def rows_of(names: tuple[str, ...]) -> list[object]:
    """The parameters of a test: the rows of one stage in which no part is started again."""
    return [parameter(row) for row in ROWS if row.who in names and row.how not in ANOTHER]


def rows_of_another() -> list[object]:
    """The rows in which a part is started again, or beside the one that runs."""
    return [parameter(row) for row in ROWS if row.how in ANOTHER]


def parameter(row: Row) -> object:
    """A row with its name and marks."""
    return pytest.param(
        row,
        id=f"{row.who}-{row.how}" + ("" if row.mode == "SHARED" else f"-{row.mode}"),
        marks=[
            *([prerequisites.needs_mounts] if row.how == "full" else []),
            *([pytest.mark.slow] if row.is_slow else []),
        ],
    )


def play(row: Row, whose: str, names: tuple[str, ...], folder: Path) -> list[str]:
    """Have a part fail; returns what the others did otherwise than the row says."""
    aeron_dir = memory_path()
    with ExitStack() as opened:
        opened.callback(shutil.rmtree, aeron_dir, ignore_errors=True)
        disk, files = folder / "disk", folder / "files"
        if row.how == "full":
            is_memory = row.who == "driver"
            size = MEMORY_BYTES if is_memory else DISK_BYTES
            opened.enter_context(prerequisites.small_disk(disk, size, lazy=True))
            aeron_dir, files = (disk / "aeron", files) if is_memory else (aeron_dir, disk)
        stage = opened.enter_context(a_stage(whose, names, files, aeron_dir, row.mode))
        ACTS[row.how](stage, row)
        fates = {name: fate for name, fate in row.fates(whose).items() if name not in stage.checked}
        found = [stage.mistake(name, fate) for name, fate in fates.items()]
        return [each for each in found if each]
