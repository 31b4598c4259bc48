"""A reference archive and one of ours for each module, to be told the same and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from archive_storage.teller import Teller
from peer.lifetimes import server_starter, stop_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peer.servers import Server

IMPLEMENTATIONS = ("reference", "ours")


@pytest.fixture(scope="module")
def pair(
    reference: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Server]]:
    """An archiving driver of each make that nobody else uses."""
    running: list[Server] = []
    folders: list = []
    start = server_starter(running, folders, tmp_path_factory.mktemp("pair"))
    try:
        yield {name: start(name, "archiving-driver") for name in IMPLEMENTATIONS}
    finally:
        stop_all(running, folders)


def minutes(server: Server, scenario: Callable[[Teller], None]) -> list[str]:
    """What an archive says to a scenario."""
    teller = Teller(server)
    try:
        scenario(teller)
    finally:
        teller.close()
    return teller.lines


@pytest.fixture
def told_of(pair: dict[str, Server]) -> Callable[[str, Callable[[Teller], None]], list[str]]:
    """What one of the two archives says to a scenario."""
    return lambda name, scenario: minutes(pair[name], scenario)


@pytest.fixture
def alike(pair: dict[str, Server]) -> Callable[[Callable[[Teller], None]], list[str]]:
    """Play a scenario on both archives, which must say the same; what they said."""

    def play(scenario: Callable[[Teller], None]) -> list[str]:
        expected = minutes(pair["reference"], scenario)
        assert minutes(pair["ours"], scenario) == expected
        return expected

    return play
