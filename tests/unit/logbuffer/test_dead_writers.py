"""A publisher dies between any two stores of an append: the stream goes on without its message.

The states are those that the commit protocol passes through (spec log-buffers 7, 8 and 11); a
driver's part, unblocking where the reader stands still, is played here.
"""

from __future__ import annotations

import struct

import pytest

from aerolog.testing.direct_log import DirectPublication, DirectSubscription
from aerolog.transport.logbuffer.cleaner import unblock

TERM = 65536
FRAGMENTS = [(0, 1408), (1408, 1408), (2816, 280)]
SIZE = 3104
MESSAGE = b"m" * 3000


def frame_bytes(world, offset):
    """The whole frame that a finished message has at an offset of the first term."""
    length = struct.unpack_from("<i", world.logs.term(0), offset)[0]
    return length, bytes(world.logs.term(0)[offset : offset + length])


def stages(length, frame):
    """What may stand in a frame whose writer died: after each store of the protocol."""
    claimed = struct.pack("<iBBH", -length, 0, 0xC0, 1)
    return {
        "nothing": b"",
        "length": claimed,
        "header": claimed + frame[8:24],
        "payload": claimed + frame[8:],
    }


def drain(world, reader):
    """Poll, and unblock wherever the reader is stuck, until it has seen everything."""
    found = []
    for _ in range(20):
        found += [each.payload for each in reader.poll(100, assemble=True)]
        if reader.position == world.logs.producer_position:
            return found
        unblock(world.logs, reader.position)
    return pytest.fail(f"stuck at {reader.position} of {world.logs.producer_position}")


@pytest.mark.parametrize("committed", [0, 1, 2])
@pytest.mark.parametrize("stage", ["nothing", "length", "header", "payload"])
def test_death_in_a_fragmented_message(new_world, committed, stage):
    whole = new_world()
    whole.publication(exclusive=False).offer(MESSAGE)
    world = new_world()
    world.logs.file.get_and_add_i64(len(world.logs.file) - 4096, SIZE)
    for offset, _ in FRAGMENTS[:committed]:
        world.write(offset, frame_bytes(whole, offset)[1])
    length, frame = frame_bytes(whole, FRAGMENTS[committed][0])
    world.write(FRAGMENTS[committed][0], stages(length, frame)[stage])
    reader = world.subscription()
    assert reader.poll(100, assemble=True) == []
    world.publication(exclusive=False).offer(b"next")
    assert drain(world, reader) == [b"next"]


@pytest.mark.parametrize("stage", ["moved", "length", "header", "padded", "tail"])
def test_death_at_the_end_of_a_term(new_world, stage):
    world = new_world(term_offset=TERM - 640)
    meta = len(world.logs.file) - 4096
    world.logs.file.get_and_add_i64(meta, 4096)
    position = TERM - 640
    claimed = struct.pack("<iBBH", -640, 0, 0xC0, 1)
    header = struct.pack("<iiii", position, -1364374152, 1001, 801263729)
    if stage == "length":
        world.write(position, claimed)
    elif stage == "header":
        world.write(position, claimed + header)
    elif stage in ("padded", "tail"):
        world.write(position, struct.pack("<iBBH", 640, 0, 0xC0, 0) + header)
    if stage == "tail":
        world.logs.file.store_i64(meta + 8, (801263729 + 1) << 32)
    reader = world.subscription()
    publication = world.publication(exclusive=False)
    for _ in range(5):
        unblock(world.logs, reader.position)
        reader.poll()
    while publication.offer(b"next") < 0:
        assert world.logs.active_term_count == 1
    assert drain(world, reader) == [b"next"]
    assert world.logs.active_term_count == 1


def test_death_with_a_claim_open_loses_only_the_claim(world):
    dying = world.publication(exclusive=False)
    dying.offer(b"before")
    claimed = dying.claim(100)
    claimed[32:] = b"x" * 100
    del dying
    other = DirectPublication(world.logs, world.counters, 0, exclusive=False)
    other.offer(b"after")
    reader = DirectSubscription(world.logs, world.counters, 64)
    assert [each.payload for each in reader.poll()] == [b"before"]
    assert drain(world, reader) == [b"after"]


def test_an_exclusive_publisher_s_batch_that_stops_in_the_middle_ends_at_a_frame(new_world):
    whole = new_world()
    whole.publication(exclusive=True).offer_records(b"a" * 8 + b"b" * 8 + b"c" * 8, 8)
    world = new_world()
    # One tail update for three messages, of which one was written.
    world.logs.file.get_and_add_i64(len(world.logs.file) - 4096, 192)
    world.write(0, bytes(whole.logs.term(0)[:64]))
    reader = world.subscription()
    assert [each.payload for each in reader.poll()] == [b"a" * 8]
    assert unblock(world.logs, 64) == 0
    successor = world.publication(exclusive=True)
    successor.offer(b"next")
    assert drain(world, reader) == [b"next"]
