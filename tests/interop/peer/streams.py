"""Messages that tell their number and carry a checksum, and loops that move and check them.

A message is its number (8 bytes), the CRC-32 of number and body (4 bytes), and a random body.
"""

import itertools
import os
import random
import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

PAUSE_S = 0.0005
_HEAD = struct.Struct("<qI")
# Below are ports that documents and tests name, above those that the kernel gives. Workers that run
# side by side have a share each, so that none is given what another has just probed.
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_share = 6_700 // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_own = range(26_000 + _worker * _share, 26_000 + (_worker + 1) * _share)
_begin = random.Random().randrange(_share)
_ports = itertools.cycle((*_own[_begin:], *_own[:_begin]))


def checked_message(number: int, length: int, source: random.Random) -> bytes:
    """Message ``number`` with ``length`` bytes, at least 12."""
    body = source.randbytes(length - _HEAD.size)
    return _HEAD.pack(number, _checksum(number, body)) + body


def checked_messages(
    count: int, shortest: int = 16, longest: int = 5000, *, first: int = 0, seed: int = 1
) -> list[bytes]:
    """Messages of random lengths, the longest one among them, numbered from ``first``."""
    source = random.Random(f"{seed} {first}")
    lengths = [source.randint(shortest, longest) for _ in range(count)]
    lengths[count // 2] = longest
    return [checked_message(first + i, length, source) for i, length in enumerate(lengths)]


def number_of(data: bytes) -> int:
    """The number of a message, whose checksum must be right."""
    number, checksum = _HEAD.unpack_from(data)
    assert checksum == _checksum(number, data[_HEAD.size :]), f"message {number} is damaged"
    return int(number)


def _checksum(number: int, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(number.to_bytes(8, "little", signed=True)))


def free_port(host: str = "127.0.0.1") -> int:
    """A UDP port that is free and that the kernel gives to nobody who asks for any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in itertools.islice(_ports, _share):
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port left")


class Receipt:
    """What one subscription (or image) got: numbers and checksums are verified on arrival.

    Attributes:
        next_number: of the message that must come next; None accepts any first one.
        first_number: of the first one that came.
        count: how many came.
        position: after the last one.
        ends: positions after each of them.
    """

    def __init__(self, source: Any, next_number: int | None = 0) -> None:
        self.source = source
        self.next_number = next_number
        self.first_number: int | None = None
        self.count = 0
        self.position = 0
        self.ends: list[int] = []
        self.bytes = 0

    def poll(self, limit: int = 64) -> int:
        """Takes what is there and checks it; how many messages."""
        messages = self.source.poll_messages(limit)
        for message in messages:
            number = number_of(message.data)
            if self.next_number is None:
                self.next_number = number
            assert number == self.next_number, f"{number} came when {self.next_number} was due"
            if self.first_number is None:
                self.first_number = number
            self.next_number += 1
            self.count += 1
            self.position = message.position
            self.ends.append(message.position)
            self.bytes += len(message.data)
        return len(messages)


def transfer(
    publication: Any,
    receipts: Sequence[Receipt],
    messages: Iterable[bytes],
    *,
    timeout: float = 30.0,
    also: Callable[[], Any] | None = None,
) -> int:
    """Offers the messages and polls in turn until each receipt has them all; the end position.

    Args:
        publication: of ours, on whatever driver.
        receipts: of subscriptions that get the whole of it.
        messages: numbered without gaps.
        timeout: seconds without any progress.
        also: called in each turn, for what else must go on.
    """
    pending = list(messages)
    last = number_of(pending[-1])
    sent, deadline = 0, time.monotonic() + timeout
    while sent < len(pending) or any((r.next_number or 0) <= last for r in receipts):
        before = sent
        while sent < len(pending) and publication.offer(pending[sent]) > 0:
            sent += 1
        work = sent - before + sum(receipt.poll() for receipt in receipts)
        if also is not None:
            also()
        if work:
            deadline = time.monotonic() + timeout
        else:
            assert time.monotonic() < deadline, stuck(publication, receipts, sent, len(pending))
            time.sleep(PAUSE_S)
    return int(publication.position)


def stuck(publication: Any, receipts: Sequence[Receipt], sent: int, count: int) -> str:
    """Why a transfer does not go on."""
    got = [f"next {r.next_number} at {r.position}" for r in receipts]
    return (
        f"no progress: {sent} of {count} messages offered, connected {publication.is_connected}, "
        f"position {publication.position}, limit {publication.position_limit}; received {got}"
    )
