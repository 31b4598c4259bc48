"""File systems, sections of memory and a driver's cnc.dat with small buffers."""

from dataclasses import dataclass

import pytest

from aerolog.testing import FakeFileSystem, ManualClock
from aerolog.transport.memory.cnc import CncFile, CncHeader, CncLengths
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem

SMALL = CncLengths.of(
    to_driver=1024 + 768, to_clients=1024 + 128, counter_values=128 * 8, error_log=1024
)
LIVENESS_NS = 5_000_000_000
PID = 4_000_000  # above the kernel's default maximum, so no process has it


@dataclass
class Disk:
    """A file system and a folder on it for the test."""

    files: FileSystem
    root: str

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"


@pytest.fixture(params=["real", "fake"])
def disk(request, tmp_path):
    files = RealFileSystem() if request.param == "real" else FakeFileSystem()
    files.make_dirs(str(tmp_path))
    return Disk(files, str(tmp_path))


@pytest.fixture
def fake():
    files = FakeFileSystem()
    files.make_dirs("/disk")
    return files


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def driver_file(disk, clock):
    """What a driver has created but not yet published."""
    return CncFile.create(
        disk.files, disk.root, CncHeader(SMALL, LIVENESS_NS, clock.now_epoch_ms(), PID)
    )
