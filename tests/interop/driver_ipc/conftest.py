"""Two fresh drivers and a client that sees every message of theirs."""

from collections.abc import Callable, Iterator

import pytest
from peer.raw_client import RawClient, Transcript


@pytest.fixture
def raw_client() -> Callable[[str], RawClient]:
    return RawClient


@pytest.fixture
def transcript() -> Callable[[str], Transcript]:
    return Transcript


@pytest.fixture
def both_drivers(start_server) -> Iterator[tuple[object, object]]:
    """A fresh driver of either kind, ours first, configured alike and with a fast timer."""

    def start(properties: dict[str, str]) -> list[object]:
        return [
            start_server(kind, "driver", properties=properties) for kind in ("ours", "reference")
        ]

    return start
