"""A node of a cluster, its service and a session: what becomes of the others when one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fate_parts import CLUSTERED
from fate_scenes import play, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from fates import Row

pytestmark = [pytest.mark.interop, pytest.mark.error_log(""), pytest.mark.processes_end]


@pytest.mark.parametrize("whose", ["ours", "reference"])
@pytest.mark.parametrize("row", rows_of(CLUSTERED))
def test_each_part_serves_again_or_ends_with_a_reason(
    row: Row, whose: str, tmp_path: Path, reference: object
) -> None:
    mistakes = play(row, whose, CLUSTERED, tmp_path)
    assert not mistakes, "\n".join(mistakes)
