"""The to-driver ring buffer: bytes, wrap, claims, unblocking, hostile content.

Spec cnc-and-commands 3.
"""

import struct

import pytest

from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer, RingAction

CAPACITY = 1024
TAIL, HEAD_CACHE, HEAD, CORRELATION, HEARTBEAT = (CAPACITY + n for n in (128, 256, 384, 512, 640))


@pytest.fixture
def mapped():
    return MappedFile.anonymous(CAPACITY + 768)


@pytest.fixture
def ring(mapped):
    return ManyToOneRingBuffer(mapped)


def drain(ring, limit=1000):
    found = []
    ring.read(lambda type_id, message: found.append((type_id, message)), limit)
    return found


def test_a_record_has_the_documented_bytes(mapped, ring):
    assert ring.write(5, b"hello")
    assert bytes(mapped.view(0, 24)) == struct.pack("<ii", 13, 5) + b"hello" + bytes(11)
    assert mapped.load_i64(TAIL) == 16
    assert mapped.load_i64(HEAD) == 0


def test_messages_come_in_order_and_their_space_is_zeroed(mapped, ring):
    for number in range(10):
        assert ring.write(number + 1, bytes([number]) * number)
    assert ring.pending
    assert drain(ring) == [(number + 1, bytes([number]) * number) for number in range(10)]
    assert not ring.pending
    assert bytes(mapped.view(0, CAPACITY)) == bytes(CAPACITY)
    assert ring.consumer_position == ring.producer_position > 0


def test_the_limit_bounds_a_read(ring):
    for number in range(1, 6):
        ring.write(number, b"x")
    assert [type_id for type_id, _ in drain(ring, 2)] == [1, 2]
    assert ring.read(lambda *_: None, 0) == 0
    assert [type_id for type_id, _ in drain(ring)] == [3, 4, 5]


def test_a_full_ring_refuses_until_it_is_read(ring):
    while ring.write(1, b"x" * 56):
        pass
    assert ring.producer_position == CAPACITY
    assert len(drain(ring)) == 16
    assert ring.write(1, b"x")


def test_a_record_that_would_wrap_is_preceded_by_padding(mapped, ring):
    for _ in range(15):
        ring.write(1, b"x" * 56)
    drain(ring)
    ring.write(2, b"y" * 100)
    assert struct.unpack("<ii", mapped.view(960, 8)) == (64, -1)
    assert ring.producer_position == 1024 + 112
    assert drain(ring) == []
    assert drain(ring) == [(2, b"y" * 100)]


def test_a_wrap_with_the_head_in_the_way_pads_the_end_as_the_reference(mapped, ring):
    for _ in range(15):
        ring.write(1, b"x" * 56)
    drain(ring, 1)
    assert not ring.write(2, b"y" * 100)
    assert ring.producer_position == 1024
    assert struct.unpack("<ii", mapped.view(960, 8)) == (64, -1)


def test_the_largest_message_fits_and_one_more_byte_does_not(ring):
    assert ring.max_message_length == 128
    assert ring.write(1, b"x" * 128)
    with pytest.raises(ValueError, match="129 is not within 0 to 128"):
        ring.write(1, b"x" * 129)
    assert drain(ring) == [(1, b"x" * 128)]


@pytest.mark.parametrize("type_id", [0, -1, -(2**31)])
def test_types_below_one_are_refused(ring, type_id):
    with pytest.raises(ValueError, match="greater than 0"):
        ring.write(type_id, b"")
    with pytest.raises(ValueError, match="greater than 0"):
        ring.try_claim(type_id, 8)


def test_a_claim_is_seen_only_after_commit(mapped, ring):
    index = ring.try_claim(7, 5)
    assert struct.unpack("<ii", mapped.view(index, 8)) == (-13, 7)
    assert drain(ring) == []
    ring.claimed_view(index)[:] = b"later"
    ring.commit(index)
    assert drain(ring) == [(7, b"later")]


def test_an_aborted_claim_is_skipped(ring):
    index = ring.try_claim(7, 5)
    ring.write(8, b"next")
    ring.abort(index)
    assert drain(ring) == [(8, b"next")]


def test_a_claim_is_finished_once(ring):
    index = ring.try_claim(7, 5)
    ring.commit(index)
    with pytest.raises(ValueError, match="committed or aborted"):
        ring.commit(index)
    with pytest.raises(ValueError, match="committed or aborted"):
        ring.abort(index)
    with pytest.raises(ValueError, match="committed or aborted"):
        ring.claimed_view(index)


@pytest.mark.parametrize("index", [-8, 3, CAPACITY, 2**40])
def test_an_index_that_is_no_claim_is_refused(ring, index):
    with pytest.raises(ValueError, match=f"{index} is no claim"):
        ring.commit(index)


def test_abort_leaves_the_record_for_the_next_read(ring):
    ring.write(1, b"a")
    ring.write(2, b"b")
    answers = {1: None, 2: RingAction.ABORT}
    assert ring.read(lambda type_id, _: answers[type_id]) == 1
    assert drain(ring) == [(2, b"b")]


def test_break_takes_the_record_and_stops(ring):
    ring.write(1, b"a")
    ring.write(2, b"b")
    assert ring.read(lambda *_: RingAction.BREAK) == 1
    assert drain(ring) == [(2, b"b")]


def test_commit_moves_the_head_at_once(ring):
    ring.write(1, b"a")
    ring.write(2, b"b")
    seen = []

    def handle(type_id, message):
        seen.append((type_id, ring.consumer_position))
        return RingAction.COMMIT

    assert ring.read(handle) == 2
    assert seen == [(1, 0), (2, 16)]
    assert ring.consumer_position == 32


def test_a_raising_handler_has_read_its_message(ring):
    ring.write(1, b"a")
    ring.write(2, b"b")
    with pytest.raises(ZeroDivisionError):
        ring.read(lambda *_: 1 // 0)
    assert drain(ring) == [(2, b"b")]


def test_a_claim_that_is_never_finished_is_unblocked(ring):
    ring.try_claim(1, 20)
    ring.write(2, b"behind")
    assert drain(ring) == []
    assert ring.unblock()
    assert drain(ring) == [(2, b"behind")]
    assert not ring.unblock()


def test_a_claim_whose_length_was_never_written_is_unblocked(mapped, ring):
    index = ring.try_claim(1, 20)
    mapped.store_i32(index, 0)
    mapped.store_i32(index + 4, 0)
    assert not ring.unblock()
    ring.write(2, b"behind")
    assert ring.unblock()
    assert drain(ring) == [(2, b"behind")]


def test_a_claim_near_the_end_that_was_never_written_is_unblocked(mapped, ring):
    for _ in range(15):
        ring.write(1, b"x" * 56)
    drain(ring)
    for _ in range(4):
        ring.write(3, b"z" * 8)
    mapped.view(960, 16)[:] = bytes(16)
    assert ring.producer_position == 1024
    assert ring.unblock()
    assert drain(ring) == [(3, b"z" * 8)] * 3


def test_nothing_to_unblock_in_an_empty_or_readable_ring(ring):
    assert not ring.unblock()
    ring.write(1, b"x")
    assert not ring.unblock()


def test_correlation_ids_and_the_heartbeat_stand_in_the_trailer(mapped, ring):
    assert [ring.next_correlation_id() for _ in range(3)] == [0, 1, 2]
    assert mapped.load_i64(CORRELATION) == 3
    ring.consumer_heartbeat_ms = 1234
    assert mapped.load_i64(HEARTBEAT) == 1234
    assert ring.consumer_heartbeat_ms == 1234


@pytest.mark.parametrize("length", [1, 7, CAPACITY + 1, 2**31 - 1])
def test_a_length_that_cannot_be_drops_what_was_claimed_so_far(mapped, ring, length):
    ring.write(1, b"good")
    ring.write(2, b"bad")
    ring.write(3, b"behind")
    mapped.store_i32(16, length)
    assert drain(ring) == [(1, b"good")]
    assert drain(ring) == []
    assert ring.corruption_count == 1
    assert ring.consumer_position == ring.producer_position
    ring.write(4, b"again")
    assert drain(ring) == [(4, b"again")]


@pytest.mark.parametrize("position", [3, 2**63 - 1, -(2**63), -5, 2**40 + 1])
def test_positions_that_cannot_be_stay_inside_the_buffer(mapped, ring, position):
    mapped.store_i32(0, 16)
    for word in (HEAD, TAIL, HEAD_CACHE):
        mapped.store_i64(word, position)
        drain(ring)
        ring.unblock()
        if ring.producer_position % 8:
            with pytest.raises(FileFormatError, match="damaged"):
                ring.write(1, b"x" * 100)
        else:
            ring.write(1, b"x" * 100)


@pytest.mark.parametrize("length", [768, 768 + 63, 768 + 100, 100])
def test_a_section_that_is_no_ring_is_refused(length):
    mapped = MappedFile.anonymous(4096)
    with pytest.raises(FileFormatError):
        ManyToOneRingBuffer(mapped, 0, length)
    with pytest.raises(FileFormatError):
        ManyToOneRingBuffer(mapped, 4096 - CAPACITY, CAPACITY + 768)


def test_a_read_only_ring_is_not_written(tmp_path):
    MappedFile.create(str(tmp_path / "a"), CAPACITY + 768)
    ring = ManyToOneRingBuffer(MappedFile.open(str(tmp_path / "a"), writable=False))
    for attempt in (lambda: ring.write(1, b""), lambda: drain(ring), ring.next_correlation_id):
        with pytest.raises(ValueError, match="read-only"):
            attempt()
    assert ring.producer_position == 0
