"""Doubles of the doors to the world, for tests of aerolog and its users: clock, disk, network."""

from aerolog.testing.filesystem import FakeFileSystem
from aerolog.testing.network import FakeHost, FakeNetwork
from aerolog.transport.concurrent.clock import ManualClock

__all__ = ["FakeFileSystem", "FakeHost", "FakeNetwork", "ManualClock"]
