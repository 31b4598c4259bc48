"""The poll family (spec log-buffers 19 to 23)."""

from __future__ import annotations

import struct
import sys

import pytest

ABORT, BREAK, COMMIT, CONTINUE = 1, 2, 3, 4
TERM = 65536


@pytest.fixture
def filled(world):
    publication = world.publication(exclusive=True)
    for n in range(10):
        publication.offer(bytes([n]) * 20)
    return world


def numbers(fragments):
    return [fragment.payload[0] for fragment in fragments]


def test_a_fragment_carries_the_values_of_its_header(filled):
    first, second = filled.subscription().poll(2)
    assert first == (bytes(20), 64, 0xC0, -1364374152, 1001, 801263729, 0, 0)
    assert (second.position, second.term_offset) == (128, 64)


def test_poll_stops_at_its_limit_and_goes_on_there(filled):
    subscription = filled.subscription()
    assert numbers(subscription.poll(3)) == [0, 1, 2]
    assert filled.position == 192
    assert numbers(subscription.poll(100)) == [3, 4, 5, 6, 7, 8, 9]
    assert subscription.poll(100) == []
    assert subscription.poll(0) == []


def test_a_bounded_poll_delivers_a_frame_that_starts_below_the_bound(filled):
    subscription = filled.subscription()
    assert numbers(subscription.poll(10, 65)) == [0, 1]
    assert subscription.poll(10, 128) == []
    assert subscription.poll(10, 0) == []
    assert numbers(subscription.poll(10, 129)) == [2]


def test_a_poll_never_crosses_the_end_of_a_term(new_world):
    world = new_world(term_offset=TERM - 64)
    publication = world.publication(exclusive=True)
    publication.offer(b"\x00")
    publication.offer(b"\x01")
    publication.offer(b"\x01")
    subscription = world.subscription()
    assert numbers(subscription.poll(10)) == [0]
    assert subscription.position == TERM
    assert numbers(subscription.poll(10)) == [1]


def test_padding_is_skipped_and_moves_the_position(world):
    publication = world.publication(exclusive=True)
    publication.offer_padding(100)
    publication.offer(b"\x05")
    publication.offer_padding(0)
    subscription = world.subscription()
    assert numbers(subscription.poll(10)) == [5]
    assert subscription.position == 160 + 64 + 32


def test_a_poll_over_padding_alone_finds_nothing_and_moves(world):
    world.publication(exclusive=True).offer_padding(100)
    subscription = world.subscription()
    assert subscription.poll() == []
    assert subscription.position == 160


@pytest.mark.parametrize(
    ("action", "consumed", "position", "seen"),
    [
        (ABORT, 3, 192, [0, 1, 2, 3]),
        (BREAK, 4, 256, [0, 1, 2, 3]),
        (COMMIT, 10, 640, list(range(10))),
        (CONTINUE, 10, 640, list(range(10))),
    ],
)
def test_actions_of_a_controlled_poll(filled, action, consumed, position, seen):
    handled = []

    def handler(fragment):
        handled.append(fragment.payload[0])
        return action if len(handled) == 4 else CONTINUE

    subscription = filled.subscription()
    assert subscription.poll_controlled(handler, 100) == consumed
    assert subscription.position == position
    assert handled == seen


def test_commit_stores_the_position_at_once_and_continue_at_the_end(filled):
    seen = []

    def handler(fragment):
        seen.append(filled.position)
        return COMMIT if fragment.payload[0] == 2 else CONTINUE

    filled.subscription().poll_controlled(handler, 5)
    assert seen == [0, 0, 0, 192, 192]
    assert filled.position == 320


def test_an_aborted_fragment_comes_again_but_padding_before_it_does_not(world):
    publication = world.publication(exclusive=True)
    publication.offer_padding(0)
    publication.offer(b"\x01")
    subscription = world.subscription()
    assert subscription.poll_controlled(lambda _: ABORT) == 0
    assert subscription.position == 32
    assert numbers(subscription.poll()) == [1]


def test_a_controlled_poll_can_be_bounded(filled):
    subscription = filled.subscription()
    assert subscription.poll_controlled(lambda _: CONTINUE, 10, 129) == 3


def test_a_failing_handler_aborts_and_its_exception_comes_out(filled):
    subscription = filled.subscription()
    with pytest.raises(ZeroDivisionError):
        subscription.poll_controlled(lambda fragment: 1 // fragment.payload[0])
    assert subscription.position == 0


def test_peeking_moves_nothing(filled):
    subscription = filled.subscription()
    seen = []
    assert subscription.peek(0, lambda each: seen.append(each) or CONTINUE, 200) == 256
    assert numbers(seen) == [0, 1, 2, 3]
    assert filled.position == 0


@pytest.mark.parametrize(
    ("action", "result"), [(ABORT, 64), (BREAK, 128), (COMMIT, 640), (CONTINUE, 640)]
)
def test_actions_of_a_peek(filled, action, result):
    def handler(fragment):
        return action if fragment.payload[0] == 1 else CONTINUE

    assert filled.subscription().peek(0, handler) == result


def test_a_peek_result_never_points_into_a_message(world):
    publication = world.publication(exclusive=True)
    publication.offer(b"a")
    publication.offer(b"b" * 3000)
    subscription = world.subscription()
    assert subscription.peek(0, lambda _: CONTINUE, 65) == 64
    assert subscription.peek(0, lambda _: CONTINUE, 65 + 1408) == 64
    assert subscription.peek(0, lambda _: CONTINUE, 65 + 2816) == publication.position
    seen = []
    subscription.peek(0, lambda each: seen.append(each.flags) or (BREAK if len(seen) == 2 else 4))
    assert seen == [0xC0, 0x80]


def test_a_peek_result_passes_padding(world):
    publication = world.publication(exclusive=True)
    publication.offer(b"a")
    publication.offer_padding(10)
    assert world.subscription().peek(0, lambda _: CONTINUE) == 128
    assert world.subscription().peek(0, lambda _: ABORT) == 0
    assert world.subscription().peek(64, lambda _: CONTINUE) == 128


@pytest.mark.parametrize("start", [-32, 32, 60, 65, TERM + 32])
def test_a_peek_from_an_impossible_position_is_refused(filled, start):
    subscription = filled.subscription()
    subscription.poll(1)
    assert subscription.peek(start, lambda _: CONTINUE) == -1


def test_a_block_is_whole_frames_within_its_length(filled):
    subscription = filled.subscription()
    block, session, term_id, file_offset, is_padding = subscription.block(200)
    assert len(block) == 192
    assert block == bytes(filled.logs.term(0)[:192])
    assert (session, term_id, file_offset, is_padding) == (-1364374152, 801263729, 0, False)
    subscription.advance(192)
    assert subscription.block(64)[3] == 192
    assert subscription.block(63) is None
    assert subscription.block(0) is None
    assert len(subscription.block(1 << 40)[0]) == 640 - 192
    assert len(subscription.block(sys.maxsize)[0]) == 640 - 192


def test_a_block_ends_before_padding_unless_it_starts_with_it(world):
    publication = world.publication(exclusive=True)
    publication.offer(b"a")
    publication.offer_padding(100)
    publication.offer(b"b")
    subscription = world.subscription()
    assert len(subscription.block(4096)[0]) == 64
    subscription.advance(64)
    padding = subscription.block(4096)
    assert (len(padding[0]), padding[4]) == (160, True)
    # Even if it is longer than what was asked for.
    assert len(subscription.block(32)[0]) == 160


def test_a_block_in_another_term_says_where_it_is_in_the_file(new_world):
    world = new_world(term_id=801263729 + 4, term_offset=96)
    world.publication(exclusive=True).offer(b"x")
    world.position = 4 * TERM + 96
    assert world.subscription().block(4096)[3] == TERM + 96


def test_a_reader_whose_counter_was_moved_by_others_reads_and_writes_no_more(filled):
    subscription = filled.subscription()
    subscription.advance(192)
    filled.position = 64
    assert subscription.block(4096) is None
    assert subscription.poll(4) == []
    subscription.advance(256)
    assert filled.position == 64


def test_a_scan_leaves_the_position(filled):
    subscription = filled.subscription()
    fragments, end = subscription.scan(4)
    assert (numbers(fragments), end, filled.position) == ([0, 1, 2, 3], 256, 0)


def test_the_position_only_grows(filled):
    subscription = filled.subscription()
    subscription.advance(128)
    subscription.advance(64)
    assert filled.position == 128


def test_a_closed_reader_finds_nothing_and_keeps_its_last_position(filled):
    subscription = filled.subscription()
    subscription.poll(2)
    subscription.close()
    filled.position = 999_936
    assert subscription.poll() == []
    assert subscription.block(4096) is None
    assert subscription.peek(128, lambda _: CONTINUE) == -1
    assert subscription.read_records(bytearray(20), 20) == (0, -1)
    assert subscription.position == 128
    assert filled.position == 999_936


def test_what_a_poll_had_taken_when_its_reader_was_closed_counts(filled):
    subscription = filled.subscription()
    subscription.poll(2)
    subscription.close()
    filled.position = 999_936  # of somebody else by now
    subscription.advance(192)
    subscription.advance(160)
    assert subscription.position == 192
    assert filled.position == 999_936


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 1, 31, TERM - 128 + 1, 2**31 - 1])
def test_an_absurd_frame_length_ends_every_scan(filled, length):
    filled.write(128, struct.pack("<i", length))
    subscription = filled.subscription()
    assert numbers(subscription.scan(100)[0]) == [0, 1]
    assert subscription.peek(0, lambda _: CONTINUE) == 128
    assert len(subscription.block(TERM)[0]) == 128
    assert subscription.read_records(bytearray(2000), 20) == (2, -1)
    assert subscription.poll() == []
    assert subscription.position == 128


@pytest.mark.parametrize("position", [-64, -1, 5, 33])
def test_an_absurd_position_reads_nothing(filled, position):
    filled.position = position
    subscription = filled.subscription()
    assert subscription.poll() == []
    assert subscription.block(4096) is None
    assert subscription.position == position


def test_a_position_anywhere_in_the_range_of_int64_stays_in_the_log(filled):
    for position in (2**63 - 32, 2**62, 3 * TERM, 140_737_488_355_328):
        filled.position = position
        subscription = filled.subscription()
        found = subscription.poll()
        assert subscription.position - position == 64 * len(found)


def test_fragments_come_together_to_messages(world):
    publication = world.publication(exclusive=True)
    messages = [bytes([n]) * length for n, length in enumerate((5, 3000, 1376, 1377, 0, 8192))]
    for n, message in enumerate(messages):
        publication.offer(message, n)
    found = world.subscription().poll(100, assemble=True)
    assert [each.payload for each in found] == messages
    assert [each.reserved_value for each in found] == list(range(6))
    assert {each.flags for each in found} == {0xC0}
    assert [each.term_offset for each in found] == [0, 64, 3168, 4576, 6048, 6080]
    assert found[-1].position == publication.position
    assert found[1].position == 3168


def test_the_limit_counts_fragments_and_a_message_goes_on_in_the_next_poll(world):
    publication = world.publication(exclusive=True)
    publication.offer(b"x" * 3000)
    subscription = world.subscription()
    assert subscription.poll(2, assemble=True) == []
    assert subscription.position == 2816
    assert [len(each.payload) for each in subscription.poll(1, assemble=True)] == [3000]


def test_who_joins_in_the_middle_of_a_message_gets_the_next_one(world):
    publication = world.publication(exclusive=True)
    publication.offer(b"x" * 3000)
    publication.offer(b"y" * 3000)
    world.position = 1408
    assert [each.payload[:1] for each in world.subscription().poll(10, assemble=True)] == [b"y"]


def test_a_gap_in_a_message_drops_it(world):
    publication = world.publication(exclusive=True)
    publication.offer(b"x" * 4500)
    publication.offer(b"y" * 3000)
    subscription = world.subscription()
    subscription.poll(1, assemble=True)
    subscription.advance(2816)
    assert [each.payload[:1] for each in subscription.poll(10, assemble=True)] == [b"y"]


def test_an_aborted_message_is_completed_again_by_its_last_fragment(world):
    world.publication(exclusive=True).offer(b"a" * 1376 + b"b" * 1376 + b"c")
    subscription = world.subscription()
    seen = []

    def refuse(message):
        seen.append(message.payload)
        return ABORT

    assert subscription.poll_controlled(refuse, 10, assemble=True) == 2
    assert subscription.position == 2816
    assert subscription.poll_controlled(refuse, 10, assemble=True) == 0
    (message,) = subscription.poll(10, assemble=True)
    assert seen == [message.payload, message.payload]
    assert message.payload == b"a" * 1376 + b"b" * 1376 + b"c"
    assert (message.flags, message.position) == (0xC0, 2880)


def test_an_endless_message_is_dropped_at_the_longest_length(world):
    publication = world.publication(exclusive=True)
    for _ in range(4):
        start = publication.position
        publication.offer(b"x" * 4000)
        # A hostile publisher that never ends its message.
        flags = 0x80 if start == 0 else 0
        world.write(start + 5, bytes([flags]))
        for at in (start + 1408, start + 2816):
            world.write(at + 5, b"\x00")
    publication.offer(b"good")
    assert [each.payload for each in world.subscription().poll(100, assemble=True)] == [b"good"]
