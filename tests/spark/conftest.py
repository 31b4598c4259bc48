"""One Spark session for all tests here, and the flights' modules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def examples() -> Iterator[Path]:
    """The checkout, with ``examples`` importable while it is in use."""
    sys.path.append(str(CHECKOUT))
    yield CHECKOUT
    sys.path.remove(str(CHECKOUT))


@pytest.fixture(scope="session")
def spark(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from examples.flights.query import LocalSpark

    with LocalSpark(tmp_path_factory.mktemp("spark") / "spark.log") as local:
        yield local.session
