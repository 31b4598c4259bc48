"""Doubles of the doors to the world, for tests of aerolog and its users: clock, disk, network.

With ``Simulation`` drivers, clients and archives run on them in one thread under one seed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aerolog.testing.filesystem import FakeFileSystem
from aerolog.testing.network import FakeHost, FakeNetwork
from aerolog.transport.concurrent.clock import ManualClock

if TYPE_CHECKING:
    from aerolog.testing.hosts import SimulatedHost
    from aerolog.testing.mounts import MountedFileSystem
    from aerolog.testing.simulation import Pace, Party, Simulation, SimulationTimeoutError
    from aerolog.testing.streams import CheckedReader, CheckedWriter, Ledger, StreamCheckError

__all__ = [
    "CheckedReader",
    "CheckedWriter",
    "FakeFileSystem",
    "FakeHost",
    "FakeNetwork",
    "Ledger",
    "ManualClock",
    "MountedFileSystem",
    "Pace",
    "Party",
    "SimulatedHost",
    "Simulation",
    "SimulationTimeoutError",
    "StreamCheckError",
]

# These bring the driver, the client and the archive with them: imported when first asked for.
_HOMES = {
    "CheckedReader": "streams",
    "CheckedWriter": "streams",
    "Ledger": "streams",
    "MountedFileSystem": "mounts",
    "Pace": "simulation",
    "Party": "simulation",
    "SimulatedHost": "hosts",
    "Simulation": "simulation",
    "SimulationTimeoutError": "simulation",
    "StreamCheckError": "streams",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
