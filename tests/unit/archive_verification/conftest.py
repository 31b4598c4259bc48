"""Folders with recordings to verify, and an archive that verifies its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from archive_rig import Rig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    """Makes archives that are turned by hand; all are closed at the end."""
    made: list[Rig] = []

    def make(**options: object) -> Rig:
        rig = Rig(**options)
        made.append(rig)
        return rig

    yield make
    for rig in made:
        rig.close()
