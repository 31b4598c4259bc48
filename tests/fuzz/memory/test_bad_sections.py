"""Ring, broadcast, counters, error log and loss report full of anything at all."""

import memory_damage as damage
from hypothesis import example, given
from hypothesis import strategies as st

from aerolog.transport.memory.broadcast import BroadcastReceiver, BroadcastTransmitter
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.memory.error_log import read_error_log
from aerolog.transport.memory.loss_report import read_loss_report
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer

CAPACITY = 256
CONTENT = st.binary(min_size=CAPACITY, max_size=CAPACITY)
GUARD = b"\xa5" * 64


def guarded(length, content, trailer=()):
    """Memory with a section between two guards; content first, then words of a trailer."""
    mapped = MappedFile.anonymous(length + 2 * len(GUARD))
    view = mapped.view()
    view[: len(GUARD)] = GUARD
    view[-len(GUARD) :] = GUARD
    view[len(GUARD) : len(GUARD) + len(content)] = content
    for offset, value in trailer:
        mapped.store_i64(len(GUARD) + offset, value)
    return mapped


def assert_guards(mapped):
    assert bytes(mapped.view(0, len(GUARD))) == GUARD
    assert bytes(mapped.view(mapped.length - len(GUARD))) == GUARD


POSITION = (
    st.sampled_from(damage.EDGES)
    | st.integers(-(2**63), 2**63 - 1)
    | st.integers(0, 64).map(lambda number: 8 * number)
)


@given(CONTENT, st.tuples(POSITION, POSITION, POSITION), damage.PATCHES)
def test_a_ring_of_anything_is_used_within_its_bounds(content, positions, patches):
    trailer = zip((CAPACITY + 128, CAPACITY + 256, CAPACITY + 384), positions, strict=True)
    mapped = guarded(CAPACITY + 768, damage.damaged(content, patches), trailer)
    damage.use_ring(ManyToOneRingBuffer(mapped, len(GUARD), CAPACITY + 768))
    assert_guards(mapped)


@given(st.lists(st.binary(max_size=CAPACITY // 8), max_size=8), damage.PATCHES)
@example([b""], [(0, damage.word(-(2**31)))])
def test_a_damaged_ring_delivers_again_after_it_was_drained(messages, patches):
    mapped = guarded(CAPACITY + 768, b"")
    ring = ManyToOneRingBuffer(mapped, len(GUARD), CAPACITY + 768)
    for message in messages:
        ring.write(1, message)
    mapped.view(len(GUARD), CAPACITY)[:] = damage.damaged(
        mapped.view(len(GUARD), CAPACITY), patches, 8
    )
    for _ in range(2 * CAPACITY // 8):
        ring.read(lambda *_: None)
        ring.unblock()
        if ring.consumer_position == ring.producer_position:
            break
    else:
        # Only claims that nobody can tell from records under way are left.
        assert mapped.load_i32(len(GUARD) + ring.consumer_position % CAPACITY) == 0
        return
    seen = []
    assert ring.write(7, b"after") or ring.write(7, b"after")
    while not seen:
        before = ring.consumer_position
        ring.read(lambda *message: seen.append(message))
        assert seen or ring.consumer_position > before
    assert seen == [(7, b"after")]
    assert_guards(mapped)


@given(CONTENT, st.tuples(POSITION, POSITION, POSITION), damage.PATCHES)
def test_a_broadcast_of_anything_is_read_and_written_within_its_bounds(content, words, patches):
    trailer = zip((CAPACITY, CAPACITY + 8, CAPACITY + 16), words, strict=True)
    mapped = guarded(CAPACITY + 128, damage.damaged(content, patches), trailer)
    receiver = BroadcastReceiver(mapped, len(GUARD), CAPACITY + 128)
    damage.use_receiver(receiver)
    transmitter = BroadcastTransmitter(mapped, len(GUARD), CAPACITY + 128)
    for length in (0, 1, 31, CAPACITY // 8):
        transmitter.send(1, b"x" * length)
    damage.use_receiver(receiver)
    damage.use_receiver(BroadcastReceiver(mapped, len(GUARD), CAPACITY + 128))
    assert_guards(mapped)


@given(st.binary(min_size=4 * 640, max_size=4 * 640), damage.PATCHES)
def test_counters_of_anything_are_read_within_their_bounds(content, patches):
    mapped = guarded(4 * 640, damage.damaged(content, patches))
    counters = CountersReader(mapped, len(GUARD), 4 * 512, len(GUARD) + 4 * 512, 4 * 128)
    damage.use_counters(counters)
    for counter_id in range(4):
        mapped.store_i32(len(GUARD) + 512 * counter_id, 1)
    assert len(damage.use_counters(counters)) == 4
    for counter_id in range(4):
        counters.append_to_label(counter_id, "x" * 400)
        assert len(counters.counter_label(counter_id)) == 380
    assert_guards(mapped)


@given(st.binary(max_size=CAPACITY), damage.PATCHES, st.integers(0, CAPACITY))
def test_an_error_log_of_anything_is_read_within_its_bounds(content, patches, length):
    mapped = guarded(CAPACITY, damage.damaged(content or b"\0", patches))
    for seen in read_error_log(mapped, len(GUARD), length):
        assert len(seen.text) <= length


@given(st.binary(max_size=CAPACITY), damage.PATCHES, st.integers(0, CAPACITY))
def test_a_loss_report_of_anything_is_read_within_its_bounds(content, patches, length):
    mapped = guarded(CAPACITY, damage.damaged(content or b"\0", patches))
    mapped.store_i64(len(GUARD), 1)
    for entry in read_loss_report(mapped, len(GUARD), length):
        assert len(entry.channel) + len(entry.source) <= length
