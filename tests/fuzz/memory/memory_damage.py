"""Ways in which a file goes bad, and the use of everything that can be opened."""

import struct

import pytest
from hypothesis import strategies as st

from aerolog.transport.errors import BroadcastLappedError, FileFormatError

EDGES = (0, 1, -1, 7, 8, 9, 63, 64, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**62, 4096, 24)


def word(value):
    """A number as a word of 4 or 8 bytes."""
    return struct.pack("<i" if -(2**31) <= value < 2**31 else "<q", value)


WORDS = st.sampled_from(EDGES).map(word) | st.integers(-(2**63), 2**63 - 1).map(word)
PATCHES = st.lists(
    st.tuples(st.integers(0, 1 << 20), WORDS | st.binary(min_size=1, max_size=16)), max_size=12
)


def damaged(data, patches, alignment=4):
    """A copy with patches written over it, where they fit."""
    copy = bytearray(data)
    for at, patch in patches:
        start = at % len(copy) // alignment * alignment
        fitting = patch[: len(copy) - start]
        copy[start : start + len(fitting)] = fitting
    return bytes(copy)


def use_ring(ring):
    """Everything a driver and a client do with a ring; refusals must be typed errors.

    Returns how many messages were read.
    """
    read = 0
    for _ in range(4):
        read += ring.read(lambda _type_id, message: assert_message(ring, message))
        ring.unblock()
        if ring.producer_position % 8:
            with pytest.raises(FileFormatError, match="damaged"):
                ring.write(1, b"x")
            break
        ring.write(1, b"x" * ring.max_message_length)
        index = ring.try_claim(2, 3)
        if index >= 0:
            assert len(ring.claimed_view(index)) == 3
            ring.abort(index)
    ring.next_correlation_id()
    return read


def assert_message(ring, message):
    assert len(message) <= ring.capacity


def use_receiver(receiver):
    """Receives what there is, however often the receiver believes to be lapped."""
    received = 0
    for _ in range(20):
        try:
            message = receiver.receive_next()
        except BroadcastLappedError:
            continue
        if message is None:
            break
        received += 1
        assert len(message[1]) <= receiver.capacity // 8
    return received


def use_counters(counters):
    """Reads all counters in every way."""
    seen = list(counters)
    for counter in seen:
        assert len(counter.key) == 112
        assert len(counter.label) <= 380
    counters.find_by_registration_id(1)
    counters.find_by_registration_id(1, 2)
    counters.find_by_key_i64(1, 1)
    assert len(seen) <= counters.max_counter_id + 1
    return seen
