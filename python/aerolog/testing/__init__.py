"""Doubles of the doors to the world, for aerolog's tests and its users': clock and disk."""

from aerolog.testing.filesystem import FakeFileSystem
from aerolog.transport.concurrent.clock import ManualClock

__all__ = ["FakeFileSystem", "ManualClock"]
