"""The structures at work between real processes and threads."""

import multiprocessing
import os
import signal
import struct
import threading
import time

import pytest

from aerolog.transport.memory.broadcast import BroadcastReceiver, BroadcastTransmitter
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer

CONTEXT = multiprocessing.get_context("fork")
LIMIT_S = 30
MESSAGE = struct.Struct("<iq")


def produce(path, producer, count):
    ring = ManyToOneRingBuffer(MappedFile.open(path))
    for number in range(count):
        message = MESSAGE.pack(producer, number) + bytes([producer]) * (number % 50)
        while not ring.write(producer + 1, message):
            os.sched_yield()


def collect(ring, expected):
    """Messages of each producer until all are there."""
    found = {}

    def handle(type_id, message):
        producer, number = MESSAGE.unpack_from(message)
        assert type_id == producer + 1
        assert message[MESSAGE.size :] == bytes([producer]) * (number % 50)
        found.setdefault(producer, []).append(number)

    deadline = time.monotonic() + LIMIT_S
    while sum(map(len, found.values())) < expected:
        assert time.monotonic() < deadline, found
        if ring.read(handle) == 0:
            os.sched_yield()
    return found


def test_commands_of_several_processes_arrive_whole_and_in_order(tmp_path):
    path = str(tmp_path / "ring")
    ring = ManyToOneRingBuffer(MappedFile.create(path, 4096 + 768))
    count = 3000
    workers = [CONTEXT.Process(target=produce, args=(path, each, count)) for each in range(3)]
    for worker in workers:
        worker.start()
    found = collect(ring, 3 * count)
    for worker in workers:
        worker.join(LIMIT_S)
        assert worker.exitcode == 0
    assert found == {each: list(range(count)) for each in range(3)}
    assert ring.corruption_count == 0


def test_commands_of_several_threads_arrive_whole_and_in_order():
    mapped = MappedFile.anonymous(4096 + 768)
    ring = ManyToOneRingBuffer(mapped)

    def run(producer):
        for number in range(2000):
            message = MESSAGE.pack(producer, number) + bytes([producer]) * (number % 50)
            while not ring.write(producer + 1, message):
                time.sleep(0)

    threads = [threading.Thread(target=run, args=(each,)) for each in range(3)]
    for thread in threads:
        thread.start()
    found = collect(ring, 6000)
    for thread in threads:
        thread.join(LIMIT_S)
    assert found == {each: list(range(2000)) for each in range(3)}


def claim_and_hang(path, ready):
    ring = ManyToOneRingBuffer(MappedFile.open(path))
    ring.try_claim(1, 64)
    ready.set()
    signal.pause()


def test_the_claim_of_a_killed_process_is_unblocked(tmp_path):
    path = str(tmp_path / "ring")
    ring = ManyToOneRingBuffer(MappedFile.create(path, 4096 + 768))
    ready = CONTEXT.Event()
    worker = CONTEXT.Process(target=claim_and_hang, args=(path, ready))
    worker.start()
    assert ready.wait(LIMIT_S)
    worker.kill()
    worker.join(LIMIT_S)
    ring.write(2, b"behind")
    seen = []
    ring.read(lambda *message: seen.append(message))
    assert seen == []
    assert ring.unblock()
    ring.read(lambda *message: seen.append(message))
    assert seen == [(2, b"behind")]


def take_ids(path, count, results):
    ring = ManyToOneRingBuffer(MappedFile.open(path))
    results.put([ring.next_correlation_id() for _ in range(count)])


def test_correlation_ids_are_unique_across_processes(tmp_path):
    path = str(tmp_path / "ring")
    MappedFile.create(path, 4096 + 768)
    results = CONTEXT.Queue()
    workers = [CONTEXT.Process(target=take_ids, args=(path, 5000, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    ids = results.get(timeout=LIMIT_S) + results.get(timeout=LIMIT_S)
    for worker in workers:
        worker.join(LIMIT_S)
    assert sorted(ids) == list(range(10_000))


def receive(path, count, ready, results):
    receiver = BroadcastReceiver(MappedFile.open(path, writable=False))
    ready.set()
    seen = []
    deadline = time.monotonic() + LIMIT_S
    while len(seen) < count and time.monotonic() < deadline:
        message = receiver.receive_next()
        if message is not None:
            seen.append(message[0])
    results.put(seen)


@pytest.mark.parametrize("readers", [2])
def test_every_process_receives_every_broadcast(tmp_path, readers):
    path = str(tmp_path / "broadcast")
    transmitter = BroadcastTransmitter(MappedFile.create(path, (1 << 20) + 128))
    results = CONTEXT.Queue()
    events = [CONTEXT.Event() for _ in range(readers)]
    workers = [
        CONTEXT.Process(target=receive, args=(path, 5000, event, results)) for event in events
    ]
    for worker in workers:
        worker.start()
    assert all(event.wait(LIMIT_S) for event in events)
    for number in range(1, 5001):
        transmitter.send(number, b"x" * (number % 100))
    for _ in workers:
        assert results.get(timeout=LIMIT_S) == list(range(1, 5001))
    for worker in workers:
        worker.join(LIMIT_S)
