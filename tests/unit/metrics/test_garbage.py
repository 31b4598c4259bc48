"""Files of a live driver whose content is garbage: metrics are made of what makes sense."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from shared_memory import memory_folder

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.metrics.metrics_exporter import Exporter, MetricSources
from aerolog.tools.metrics.otlp import metrics_data
from aerolog.tools.metrics.prometheus import text
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.cnc_header import HEADER_LENGTH, CncHeader, CncLengths, cnc_path
from aerolog.transport.memory.filesystem import RealFileSystem

LENGTHS = CncLengths(1024 + 768, 1024 + 128, 512 * 4 * 32, 128 * 32, 4096)
#: Types that say something of streams, clients, channels, recordings, archives and clusters.
TYPES = (*CounterType, *ArchiveCounterType, *ClusterCounterType)


def make_driver(folder: Path, chance: random.Random) -> None:
    header = CncHeader(LENGTHS, 10_000_000_000, time.time_ns() // 1_000_000, os.getpid())
    cnc = CncFile.create(RealFileSystem(), str(folder), header)
    cnc.to_driver.consumer_heartbeat_ms = time.time_ns() // 1_000_000 + 3_600_000
    cnc.publish()
    counters = cnc.counters_manager(SystemClock())
    for _ in range(chance.randrange(30)):
        counters.allocate(
            chance.choice(TYPES),
            chance.choice(["aeron:udp?endpoint=\u007f|=", "x @-1", " name=", "rec-pos: 1 2 3 4"]),
            chance.randbytes(chance.randrange(112)),
            registration_id=chance.choice([0, 1, -(1 << 63), (1 << 63) - 1]),
            owner_id=chance.choice([0, 1, -1]),
            reference_id=chance.choice([0, 1, -1]),
            value=chance.choice([0, 1, -1, -(1 << 63), (1 << 63) - 1, 1 << 40]),
        )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_garbage_is_no_failure(seed: int) -> None:
    chance = random.Random(seed)
    with memory_folder() as home:
        folder, archive = home / "aeron", home / "archive"
        folder.mkdir()
        archive.mkdir()
        make_driver(folder, chance)
        RecordingBuilder().write(archive, stopped=chance.random() < 0.5)
        watched = MetricSources((str(folder),), (str(archive),), limit=3, interval_s=1e-9)
        with Exporter(watched) as exporter:
            for round_ in range(3):
                collected = exporter.collect()
                assert all(len(one.values) < 100 for one in collected)
                assert list(text_string_to_metric_families(text(exporter)))
                metrics_data(collected, 0, 1)
                spoil(Path(cnc_path(str(folder))), HEADER_LENGTH, chance)
                if round_:
                    spoil(archive / "archive.catalog", 0, chance)


def spoil(path: Path, begin: int, chance: random.Random) -> None:
    """Puts garbage somewhere in a file, behind what makes it be opened at all."""
    with path.open("r+b") as file:
        length = file.seek(0, os.SEEK_END)
        for _ in range(20):
            file.seek(chance.randrange(begin, length - 64))
            file.write(chance.randbytes(chance.randrange(1, 64)))
