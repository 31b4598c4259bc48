"""Several processes append to one log at once: nothing is lost, doubled or interleaved."""

from __future__ import annotations

import struct
import subprocess
import sys
import time

import pytest

from aerolog.testing.direct_log import DirectSubscription
from aerolog.transport.logbuffer.cleaner import clean
from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.mapped_file import MappedFile

TERM = 65536
LIMIT, POSITION = 0, 64
HEAD = struct.Struct("<iii")

WRITER = """
import random, struct, sys
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.testing.direct_log import DirectPublication
from aerolog.transport.memory.mapped_file import MappedFile

log, counters, writer, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
publication = DirectPublication(
    LogBuffers.open(MappedFile.open(log)), MappedFile.open(counters), 0, exclusive=False
)
rng = random.Random(writer)
number = 0

def message(length):
    global number
    number += 1
    return struct.pack("<iii", writer, number - 1, length) + bytes([number % 256]) * length

while number < count:
    way = rng.randrange(3)
    if way == 0:
        data = message(rng.choice([0, 20, 1364, 1365, 3000]))
        while publication.offer(data) < 0:
            pass
    elif way == 1:
        data = message(rng.randrange(500))
        while isinstance(claimed := publication.claim(len(data)), int):
            pass
        claimed[32:] = data
        publication.commit()
    else:
        values = [message(rng.randrange(200)) for _ in range(min(20, count - number))]
        ends = [0]
        for value in values:
            ends.append(ends[-1] + len(value))
        offsets, data, done = struct.pack(f"<{len(ends)}i", *ends), b"".join(values), 0
        while done < len(values):
            done += publication.offer_values(data, offsets, 4, done)[0]
"""


@pytest.mark.parametrize("initial_term_id", [0, 2**31 - 3])
def test_writers_in_several_processes(tmp_path, initial_term_id):
    writers, count = 3, 4_000
    metadata = LogMetadata(
        correlation_id=1,
        session_id=5,
        stream_id=6,
        initial_term_id=initial_term_id,
        term_length=TERM,
        mtu_length=1408,
        type=LogType.PUBLICATION,
    )
    log_path, counters_path = str(tmp_path / "1.logbuffer"), str(tmp_path / "counters")
    logs = LogBuffers.create(MappedFile.create(log_path, log_file_length(TERM)), metadata)
    counters = MappedFile.create(counters_path, 4096)
    logs.is_connected = True
    reader = DirectSubscription(logs, counters, POSITION)
    cleaned = 0
    seen = [[] for _ in range(writers)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, log_path, counters_path, str(n), str(count)]
        )
        for n in range(writers)
    ]
    try:
        deadline = time.monotonic() + 90
        while sum(len(numbers) for numbers in seen) < writers * count:
            assert time.monotonic() < deadline, [len(numbers) for numbers in seen]
            while cleaned < reader.position:
                cleaned = clean(logs, cleaned, reader.position)
            counters.store_i64(LIMIT, cleaned + TERM // 2)
            for message in reader.poll(200, assemble=True):
                writer, number, length = HEAD.unpack_from(message.payload)
                filler = message.payload[HEAD.size :]
                assert filler == bytes([(number + 1) % 256]) * length
                seen[writer].append(number)
        assert [process.wait(30) for process in processes] == [0] * writers
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert seen == [list(range(count))] * writers
    assert logs.active_term_count > 10
    assert reader.poll() == []
