"""A world with a driver and two clients of it."""

from collections.abc import Iterator

import pytest

from aerolog.testing import SimulatedHost, Simulation


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with Simulation(seed=1) as world:
        yield world


@pytest.fixture
def host(simulation: Simulation) -> SimulatedHost:
    host = simulation.host()
    host.start_driver()
    return host
