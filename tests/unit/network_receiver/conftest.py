"""A station that receives and a source that is scripted, on a network in memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.testing import FakeNetwork, ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.network.port import Address

# Test modules have no package here: what they share is found by its folder.
sys.path.insert(0, str(Path(__file__).parent))

from receiving_station import Source, Station


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def network(clock: ManualClock) -> FakeNetwork:
    return FakeNetwork(clock, seed=3)


@pytest.fixture
def station_of() -> type[Station]:
    return Station


@pytest.fixture
def source_of() -> type[Source]:
    return Source


@pytest.fixture
def station(clock: ManualClock, network: FakeNetwork) -> Station:
    return Station(clock, network.host())


@pytest.fixture
def make_source(station: Station, network: FakeNetwork) -> Callable[..., Source]:
    def make(target: Address | None = None, **options: Any) -> Source:
        host = network.host()
        port = host.open_receive_port((host.ipv4, 0), so_rcvbuf=1 << 20)
        return Source(port, target or (station.host.ipv4, 4000), **options)

    return make


@pytest.fixture
def source(make_source: Callable[..., Source]) -> Source:
    return make_source()


@pytest.fixture
def streaming(station: Station, source: Source) -> tuple[Station, Source]:
    """A station with an image of the source, which has heard the first status message."""
    station.listen()
    source.setup()
    station.cycle()
    station.cycle()
    assert [type(frame).__name__ for frame in source.heard()] == ["StatusMessage"]
    return station, source
