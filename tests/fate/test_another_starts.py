"""Another part is started with the same folders: beside the first, or when that was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fate_parts import CLUSTERED, SEPARATE
from fate_scenes import play, rows_of_another

if TYPE_CHECKING:
    from pathlib import Path

    from fates import Row

pytestmark = [pytest.mark.interop, pytest.mark.error_log(""), pytest.mark.processes_end]


@pytest.mark.parametrize("whose", ["ours", "reference"])
@pytest.mark.parametrize("row", rows_of_another())
def test_each_part_serves_again_or_ends_with_a_reason(
    row: Row, whose: str, tmp_path: Path, reference: object
) -> None:
    names = SEPARATE if row.who in SEPARATE else CLUSTERED
    mistakes = play(row, whose, names, tmp_path)
    assert not mistakes, "\n".join(mistakes)
