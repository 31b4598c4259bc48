"""Rigs: see ``archive_rig``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from archive_rig import Rig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    """Makes rigs with options of the archive."""
    made: list[Rig] = []

    def make(**options: object) -> Rig:
        made.append(Rig(**options))
        return made[-1]

    yield make
    for rig in made:
        rig.close()


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    """A rig with a session that is open."""
    rig = make_rig()
    rig.connect()
    return rig
