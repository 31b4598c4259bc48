"""Damage of all kinds, as Hypothesis strategies, and what is damaged."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

from aerolog.testing import FakeFileSystem, ManualClock
from aerolog.transport.memory.cnc import CncFile, CncHeader, CncLengths

# Test modules have no package here: what they share is found by its folder.
sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("fuzz", max_examples=300, deadline=None)
settings.load_profile("fuzz")


@pytest.fixture(scope="session")
def valid_cnc():
    """The bytes of a small cnc.dat of a live driver with something in every section."""
    files, clock = FakeFileSystem(), ManualClock()
    lengths = CncLengths.of(256 + 768, 256 + 128, 128 * 4, 256)
    cnc = CncFile.create(files, "/", CncHeader(lengths, 1, clock.now_epoch_ms(), 1))
    manager = cnc.counters_manager(clock)
    for number in range(3):
        manager.allocate(number, f"counter {number}", bytes([number] * 8), registration_id=number)
    manager.free(1)
    cnc.error_log(clock).record("an error")
    cnc.to_driver.write(1, b"a command")
    cnc.transmitter().send(1, b"an answer")
    cnc.to_driver.consumer_heartbeat_ms = clock.now_epoch_ms()
    cnc.publish()
    return bytes(cnc.mapped.view())
