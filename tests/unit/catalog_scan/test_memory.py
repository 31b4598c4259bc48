"""The memory of a scan is that of a window and a batch, however long the recording."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024
LENGTH = 128 * MIB
GROWTH_MAX = 40 * MIB

READ = """
import resource, sys
import duckdb
from aerolog.catalog import open_recording
from aerolog.catalog.arrow.dataset import ArchiveDataset
def read(name, until):
    if name == 'scan':
        with open_recording(sys.argv[1], 0) as recording:
            for batch in recording.to_batches(until_position=until):
                pass
    elif name == 'dataset':
        wanted = [('position', '<=', until), ('reserved_value', '>=', 0)]
        for batch in ArchiveDataset(sys.argv[1]).to_reader(filter=wanted):
            pass
    else:
        connection = duckdb.connect(config={'threads': 1})
        connection.register('frames', ArchiveDataset(sys.argv[1]))
        query = f'SELECT sum(octet_length(payload)) FROM frames WHERE position <= {until}'
        connection.execute(query).fetchall()
def peak():
    with open('/proc/self/status') as status:
        return next(int(line.split()[1]) for line in status if line.startswith('VmHWM')) * 1024
read(sys.argv[2], 4 << 20)
before = peak()
read(sys.argv[2], int(sys.argv[3]))
print(peak() - before)
"""


@pytest.fixture(scope="module")
def long_recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    builder = RecordingBuilder(term_length=16 * MIB, segment_length=64 * MIB, mtu_length=65504)
    payload = bytes(65472)
    while builder.position < LENGTH:
        builder.add(payload)
    builder.write(folder)
    return folder


@pytest.mark.parametrize("way", ["scan", "dataset", "duckdb"])
def test_resident_memory_does_not_grow_with_the_recording(long_recording: Path, way: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, str(long_recording), way, str(LENGTH)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < GROWTH_MAX
