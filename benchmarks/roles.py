"""What processes of benchmarks do: ``python -m benchmarks.roles ROLE PLACE [CHANNEL]``.

Publishers send numbered 32-byte messages until their standard input ends; subscribers check number
and order of each, and print their rates as one line of JSON. The churn adds and removes
publications until its standard input ends.
"""

from __future__ import annotations

import json
import struct
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHANNEL = "aeron:ipc"
STREAM_ID = 1001
LENGTH = 32
CHURN_STREAM_ID = 2001
CHURN_TERM_LENGTH = "64m"
CHURN_PERIOD_S = 0.1
WARM_UP_S = 2.0
MEASURED_S = 4.0
_NUMBER = struct.Struct("<q")
# Fails for any other length, so that unpacking checks the length too.
_WHOLE = struct.Struct(f"<q{LENGTH - 8}x")


class OutOfOrderError(Exception):
    """A message was missing, doubled or out of order."""


def _stopped() -> threading.Event:
    """Set when the standard input ends."""
    stopped = threading.Event()

    def watch() -> None:
        sys.stdin.read()
        stopped.set()

    threading.Thread(target=watch, daemon=True).start()
    return stopped


def _report(counts: Iterator[int]) -> None:
    """Rate over the measured time, from an iterator that yields the count so far now and then."""
    next(counts)
    start = time.perf_counter()
    while time.perf_counter() - start < WARM_UP_S:
        before = next(counts)
    start = time.perf_counter()
    elapsed = 0.0
    after = before
    while elapsed < MEASURED_S:
        after = next(counts)
        elapsed = time.perf_counter() - start
    print(json.dumps({"rate": (after - before) / elapsed, "checked": after}), flush=True)


def offer(aeron_dir: str) -> None:
    """Offers messages with one Python call each."""
    from aerolog.transport.client import Aeron

    stopped = _stopped()
    with Aeron(aeron_dir) as aeron, aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as pub:
        pub.wait_connected(30)
        message = bytearray(LENGTH)
        pack, call = _NUMBER.pack_into, pub.offer
        number = 0
        while not stopped.is_set():
            for _ in range(1000):
                pack(message, 0, number)
                if call(message) > 0:
                    number += 1


def poll(aeron_dir: str) -> None:
    """Polls messages with one Python call of a handler each."""
    from aerolog.transport.client import Aeron

    expected = 0
    unpack = _WHOLE.unpack

    def handler(message: memoryview, _header: object) -> None:
        nonlocal expected
        (number,) = unpack(message)
        if number != expected:
            raise OutOfOrderError(f"{number} came instead of {expected}")
        expected += 1

    def counts() -> Iterator[int]:
        while True:
            if subscription.poll(handler, 1000):
                yield expected

    with Aeron(aeron_dir) as aeron, aeron.add_subscription(CHANNEL, STREAM_ID) as subscription:
        _report(counts())


def offer_batch(aeron_dir: str) -> None:
    """Offers many records of a NumPy array with one Python call."""
    import numpy as np

    from aerolog.transport.client import Aeron

    stopped = _stopped()
    records = np.zeros(16_384, dtype=[("number", "<i8"), ("rest", "V24")])
    records["number"] = np.arange(len(records))
    with Aeron(aeron_dir) as aeron, aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as pub:
        pub.wait_connected(30)
        while not stopped.is_set():
            sent = 0
            while sent < len(records) and not stopped.is_set():
                taken = pub.offer_array(records, start=sent)
                if not taken:
                    time.sleep(0)
                sent += taken
            records["number"] += len(records)


def poll_batch(aeron_dir: str) -> None:
    """Polls many records into a NumPy array with one Python call."""
    import numpy as np

    from aerolog.transport.client import Aeron

    records = np.zeros(16_384, dtype=[("number", "<i8"), ("rest", "V24")])
    ascending = np.arange(len(records))

    def counts() -> Iterator[int]:
        expected = 0
        while True:
            found = subscription.poll_array(out=records, limit=len(records))
            count = len(found)
            if not count:
                time.sleep(0)
                continue
            if not np.array_equal(found["number"] - expected, ascending[:count]):
                raise OutOfOrderError(f"a gap behind {expected}")
            expected += count
            yield expected

    with Aeron(aeron_dir) as aeron, aeron.add_subscription(CHANNEL, STREAM_ID) as subscription:
        _report(counts())


def zmq_push(endpoint: str) -> None:
    """One Python call a message, pyzmq."""
    import zmq

    stopped = _stopped()
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        socket.set_hwm(100_000)
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(endpoint)
        message = bytearray(LENGTH)
        pack, call = _NUMBER.pack_into, socket.send
        number = 0
        while not stopped.is_set():
            for _ in range(1000):
                pack(message, 0, number)
                try:
                    call(message, zmq.NOBLOCK)
                except zmq.Again:
                    break
                number += 1


def zmq_pull(endpoint: str) -> None:
    """One Python call a message, pyzmq."""
    import zmq

    def counts() -> Iterator[int]:
        unpack, call = _WHOLE.unpack, socket.recv
        expected = 0
        while True:
            for _ in range(1000):
                (number,) = unpack(call())
                if number != expected:
                    raise OutOfOrderError(f"{number} came instead of {expected}")
                expected += 1
            yield expected

    with zmq.Context() as context, context.socket(zmq.PULL) as socket:
        socket.set_hwm(100_000)
        socket.bind(endpoint)
        _report(counts())


def churn(aeron_dir: str, channel: str) -> None:
    """Adds and removes a publication of large terms that this client reads, ten times a second."""
    from aerolog.transport.client import Aeron

    stopped = _stopped()
    large = f"{channel}{'|' if '?' in channel else '?'}term-length={CHURN_TERM_LENGTH}"
    with Aeron(aeron_dir) as aeron, aeron.add_subscription(channel, CHURN_STREAM_ID):
        due_s = time.perf_counter()
        while not stopped.is_set():
            with aeron.add_publication(large, CHURN_STREAM_ID) as publication:
                publication.wait_connected(30, writable=True)
            due_s = max(due_s + CHURN_PERIOD_S, time.perf_counter())
            stopped.wait(due_s - time.perf_counter())


ROLES: dict[str, Callable[..., None]] = {
    "offer": offer,
    "poll": poll,
    "offer-batch": offer_batch,
    "poll-batch": poll_batch,
    "zmq-push": zmq_push,
    "zmq-pull": zmq_pull,
    "churn": churn,
}

if __name__ == "__main__":
    ROLES[sys.argv[1]](*sys.argv[2:])
