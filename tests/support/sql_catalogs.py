"""Empty SQL catalogs in both kinds of database, in turn; import the fixtures into a conftest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerolog.catalog.index import RecordingCatalog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.database)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'catalog.db'}"
    made: str = request.getfixturevalue("postgres_url")
    return made


@pytest.fixture
def catalog(url: str) -> Iterator[RecordingCatalog]:
    with RecordingCatalog.open(url) as opened:
        yield opened
