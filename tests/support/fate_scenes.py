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


def rows_of(names: tuple[str, ...]) -> list[object]:
    """The parameters of a test: the rows of one stage."""
    return [
        pytest.param(
            row,
            id=f"{row.who}-{row.how}",
            marks=[prerequisites.needs_mounts] if row.how == "full" else [],
        )
        for row in ROWS
        if row.who in names
    ]


def play(row: Row, whose: str, names: tuple[str, ...], folder: Path) -> list[str]:
    """Have a part fail; returns what the others did otherwise than the row says."""
    aeron_dir = memory_path()
    with ExitStack() as opened:
        opened.callback(shutil.rmtree, aeron_dir, ignore_errors=True)
        disk = folder / "disk"
        if row.how == "full":
            opened.enter_context(prerequisites.small_disk(disk, DISK_BYTES, lazy=True))
        stage = opened.enter_context(a_stage(whose, names, disk, aeron_dir))
        ACTS[row.how](stage, row)
        found = [stage.mistake(name, fate) for name, fate in row.fates(whose).items()]
        return [each for each in found if each]
