"""Appending (spec log-buffers 6 to 12; the bytes are those of spec log-buffers 25)."""

from __future__ import annotations

import struct

import pytest

from aerolog.transport.errors import FileFormatError

NOT_CONNECTED, BACK_PRESSURED, ADMIN_ACTION, CLOSED, MAX_POSITION = -1, -2, -3, -4, -5
TOO_LONG, BAD_BLOCK = -6, -7
TERM = 65536


def retried(offer, *args):
    result = offer(*args)
    return offer(*args) if result == ADMIN_ACTION else result


def test_the_worked_example_gives_the_reference_s_positions_and_frames(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    session, stream, term = -1364374152, 1001, 801263729
    assert publication.offer(b"0123456789") == 64
    assert publication.offer(b"") == 96
    assert publication.offer(bytes(range(250)) * 12) == 3200
    assert world.frame(0) == (42, 0, 0xC0, 1, 0, session, stream, term, 0)
    assert world.frame(64) == (32, 0, 0xC0, 1, 64, session, stream, term, 0)
    assert world.frame(96) == (1408, 0, 0x80, 1, 96, session, stream, term, 0)
    assert world.frame(1504) == (1408, 0, 0x00, 1, 1504, session, stream, term, 0)
    assert world.frame(2912) == (280, 0, 0x40, 1, 2912, session, stream, term, 0)
    payload = b"".join(
        bytes(world.logs.term(0)[at + 32 : at + length])
        for at, length in ((96, 1408), (1504, 1408), (2912, 280))
    )
    assert payload == bytes(range(250)) * 12
    claimed = publication.claim(100)
    assert world.frame(3200)[0] == -132
    claimed[32:132] = b"c" * 100
    publication.commit()
    assert world.frame(3200)[:4] == (132, 0, 0xC0, 1)
    assert publication.position == 3360
    publication.claim(20)
    publication.abort()
    assert world.frame(3360)[:4] == (52, 0, 0xC0, 0)
    assert publication.position == 3424


def test_a_message_of_exactly_whole_fragments_has_no_empty_last_one(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    assert publication.offer(b"x" * 1376 * 2) == 2816
    assert world.frame(0)[2] == 0x80
    assert world.frame(1408)[:3] == (1408, 0, 0x40)
    assert world.frame(2816)[0] == 0


def test_the_longest_message_goes_and_one_byte_more_does_not(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    assert publication.offer(b"x" * 8192) == 8384
    assert publication.offer(b"x" * 8193) == TOO_LONG
    assert publication.position == 8384


def test_a_message_too_long_is_back_pressured_before_it_is_an_error(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    world.limit = 0
    assert publication.offer(b"x" * 9000) == BACK_PRESSURED


def test_the_limit_is_compared_with_the_current_position_only(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    world.limit = 64
    assert publication.offer(b"x" * 8) == 64
    assert publication.offer(b"x") == BACK_PRESSURED
    world.limit = 65
    assert publication.offer(b"x" * 5000) > 5000
    world.logs.is_connected = False
    assert publication.offer(b"x") == NOT_CONNECTED
    assert publication.available_window == 65 - publication.position


def test_a_closed_publication_answers_closed_to_everything(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    publication.offer(b"before")
    publication.close()
    tail = world.logs.raw_tail(0)
    assert publication.offer(b"x") == CLOSED
    assert publication.offer_parts([b"x", b"y"]) == CLOSED
    assert publication.claim(8) == CLOSED
    assert publication.offer_records(b"12345678", 4) == (0, CLOSED)
    assert publication.offer_values(b"ab", struct.pack("<3i", 0, 1, 2)) == (0, CLOSED)
    assert publication.position == CLOSED
    assert publication.position_limit == CLOSED
    assert publication.available_window == CLOSED
    assert world.logs.raw_tail(0) == tail


def test_the_end_of_a_term_is_padded_and_the_log_rotated(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    message = b"x" * 4000
    first = world.logs.initial_term_id
    results = [publication.offer(message) for _ in range(16)]
    # 4000 bytes take 3 fragments: 1408 + 1408 + 1280 = 4096, sixteen of them fill the term.
    assert results == [4096 * n for n in range(1, 17)]
    assert publication.offer(message) == ADMIN_ACTION
    assert world.logs.raw_tail(0) == (first << 32) | 69_632
    assert world.logs.raw_tail(1) == (first + 1) << 32
    assert world.logs.active_term_count == 1
    assert publication.offer(message) == TERM + 4096


def test_what_does_not_fit_leaves_padding_to_the_end(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    for _ in range(15):
        publication.offer(b"x" * 4000)
    publication.offer(b"x" * 1376)
    assert publication.offer(b"x" * 4000) == ADMIN_ACTION
    at = 15 * 4096 + 1408
    assert world.frame(at)[:5] == (TERM - at, 0, 0xC0, 0, at)
    assert world.logs.raw_tail(0) & 0xFFFFFFFF == at + 4096
    assert publication.offer(b"x") == TERM + 64


def test_three_rotations_come_back_to_the_first_partition(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    first = world.logs.initial_term_id
    rotations = 0
    while publication.position < 3 * TERM:
        result = publication.offer(b"x" * 4000)
        rotations += result == ADMIN_ACTION
        if result > 0 and result % TERM == 0:
            # The driver's part: the term after next has to be clean.
            world.write(result + 2 * TERM, bytes(TERM))
            world.write(result + TERM, bytes(TERM))
    assert rotations in (2, 3)
    assert retried(publication.offer, b"x" * 4000) == 3 * TERM + 4096
    assert world.logs.raw_tail(0) == (first + 3) << 32 | 4096
    assert world.logs.active_term_count == 3


def test_term_ids_wrap_in_the_middle_of_a_stream(new_world, exclusive):
    world = new_world(initial_term_id=2**31 - 1, term_offset=TERM - 64)
    publication = world.publication(exclusive=exclusive)
    assert publication.offer(b"a") == TERM
    assert publication.offer(b"b") == ADMIN_ACTION
    assert publication.offer(b"b") == TERM + 64
    assert world.frame(TERM)[7] == -(2**31)
    assert world.logs.raw_tail(1) >> 32 == -(2**31)
    assert world.logs.active_term_count == 1


def last_term(new_world, term_offset):
    return new_world(initial_term_id=0, term_id=2**31 - 1, term_offset=term_offset)


def test_the_last_position_of_all_can_be_reached_and_no_more(new_world, exclusive):
    world = last_term(new_world, TERM - 64)
    publication = world.publication(exclusive=exclusive)
    assert publication.offer(b"x" * 32) == 140_737_488_355_328
    assert publication.offer(b"") == MAX_POSITION
    assert publication.offer(b"") == MAX_POSITION


def test_a_message_beyond_the_last_position_pads_the_term(new_world, exclusive):
    world = last_term(new_world, TERM - 64)
    publication = world.publication(exclusive=exclusive)
    assert publication.offer(b"x" * 100) == MAX_POSITION
    position = 140_737_488_355_328 - 64
    assert world.frame(position)[0] == 64
    assert world.frame(position)[3] == 0
    assert world.logs.active_term_count == 2**31 - 1


def test_back_pressure_at_the_very_end_is_final(new_world, exclusive):
    world = last_term(new_world, TERM - 64)
    world.limit = 0
    assert world.publication(exclusive=exclusive).offer(b"x" * 32) == MAX_POSITION
    assert world.publication(exclusive=exclusive).offer(b"") == BACK_PRESSURED


def test_parts_are_gathered_in_order_over_fragment_borders(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    parts = [b"a" * 1000, b"", b"b" * 1000, b"c" * 2000, b"d"]
    assert publication.offer_parts(parts) == 1408 + 1408 + 1312
    (message,) = world.subscription().poll(10, assemble=True)[-1:]
    assert message.payload == b"".join(parts)
    assert publication.offer_parts([]) == 4128 + 32


def test_parts_that_are_too_long_together_are_refused(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    assert publication.offer_parts([b"x" * 4096, b"x" * 4097]) == TOO_LONG
    assert publication.position == 0


def test_a_reserved_value_goes_into_every_fragment(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    publication.offer(b"x" * 3000, -42)
    assert [fragment.reserved_value for fragment in world.subscription().poll(10)] == [-42] * 3


def test_a_reserved_value_supplier_sees_each_fragment_before_it_is_visible(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    seen = []

    def supply(frame):
        seen.append((struct.unpack_from("<iBB", frame), bytes(frame[32:34]), len(frame)))
        return len(seen)

    publication.offer(b"ab" + b"x" * 1374 + b"cd", supply)
    assert seen == [((-1408, 0, 0x80), b"ab", 1408), ((-34, 0, 0x40), b"cd", 34)]
    assert [each.reserved_value for each in world.subscription().poll(10)] == [1, 2]


def test_what_a_supplier_raises_comes_out_after_the_message_is_complete(world, exclusive):
    publication = world.publication(exclusive=exclusive)

    def fail(_frame):
        raise KeyError("no checksum")

    with pytest.raises(KeyError, match="no checksum"):
        publication.offer(b"x", fail)
    assert world.subscription().poll(1)[0].payload == b"x"


@pytest.mark.parametrize("length", [-1, 1377])
def test_a_claim_longer_than_a_frame_is_refused(world, exclusive, length):
    assert world.publication(exclusive=exclusive).claim(length) == TOO_LONG


def test_a_claim_hides_what_comes_after_it_until_it_is_finished(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    publication.claim(8)
    world.publication(exclusive=False).offer(b"later") if not exclusive else publication.offer(
        b"later"
    )
    subscription = world.subscription()
    assert subscription.poll() == []
    publication.abort()
    assert [each.payload for each in subscription.poll()] == [b"later"]


def test_a_claim_at_the_end_of_a_term_rotates(new_world, exclusive):
    world = new_world(term_offset=TERM - 32)
    publication = world.publication(exclusive=exclusive)
    assert publication.claim(1) == ADMIN_ACTION
    assert len(publication.claim(1)) == 33
    publication.commit()
    assert publication.position == TERM + 64


def test_padding_moves_the_position_and_is_not_delivered(new_world):
    world = new_world(initial_term_id=-5, term_id=2, term_offset=160)
    publication = world.publication(exclusive=True)
    assert publication.position == 458_912
    assert publication.offer_padding(100) == 459_072
    assert world.frame(458_912)[:4] == (132, 0, 0xC0, 0)
    subscription = world.subscription()
    assert subscription.poll() == []
    assert subscription.position == 459_072


def test_padding_is_limited_to_what_the_longest_message_takes(world):
    publication = world.publication(exclusive=True)
    assert publication.offer_padding(8384) == 8416
    assert publication.offer_padding(8385) == TOO_LONG
    assert publication.offer_padding(-1) == TOO_LONG


def test_a_block_of_frames_continues_the_stream(new_world):
    source = new_world()
    for n in range(5):
        source.publication(exclusive=True).offer(bytes([n]) * (n * 700))
    block, session, term_id, file_offset, is_padding = source.subscription().block(8000)
    assert (session, term_id, file_offset, is_padding) == (-1364374152, 801263729, 0, False)
    target = new_world()
    publication = target.publication(exclusive=True)
    assert publication.offer_block(block) == len(block)
    assert publication.position == len(block)
    assert target.logs.raw_tail(0) == source.logs.raw_tail(0)
    assert bytes(target.logs.term(0)) == bytes(source.logs.term(0))


def test_a_block_may_fill_the_term_and_the_next_one_rotates(new_world):
    source = new_world(term_offset=TERM - 64)
    source.publication(exclusive=True).offer(b"last")
    source.position = TERM - 64
    block = source.subscription().block(TERM)[0]
    target = new_world(term_offset=TERM - 64)
    publication = target.publication(exclusive=True)
    assert publication.offer_block(block) == TERM
    assert publication.offer_block(block) == BAD_BLOCK
    assert target.logs.active_term_count == 1
    assert publication.position == TERM


@pytest.mark.parametrize(
    ("offset", "fmt", "value"),
    [(8, "<i", 32), (12, "<i", 1), (16, "<i", 1), (20, "<i", 1), (6, "<H", 0)],
)
def test_a_block_that_does_not_continue_the_stream_is_refused(world, offset, fmt, value):
    block = bytearray(64)
    struct.pack_into("<iBBHiiiiq", block, 0, 40, 0, 0xC0, 1, 0, -1364374152, 1001, 801263729, 0)
    struct.pack_into(fmt, block, offset, value)
    assert world.publication(exclusive=True).offer_block(block) == BAD_BLOCK
    assert world.logs.raw_tail(0) == 801263729 << 32


@pytest.mark.parametrize("length", [0, 31, 33, 65568])
def test_a_block_of_an_impossible_length_is_refused(world, length):
    block = bytearray(max(length, 32))
    struct.pack_into("<iBBHiiiiq", block, 0, 32, 0, 0xC0, 1, 0, -1364374152, 1001, 801263729, 0)
    assert world.publication(exclusive=True).offer_block(block[:length]) == BAD_BLOCK


def test_an_exclusive_publication_goes_on_where_the_tail_stands(world):
    world.publication(exclusive=True).offer(b"x" * 100)
    assert world.publication(exclusive=True).position == 160


@pytest.mark.parametrize(("index", "raw"), [(0, 5 << 32), (0, (801263729 << 32) | 7)])
def test_an_exclusive_publication_refuses_a_tail_that_contradicts_the_count(world, index, raw):
    start = len(world.logs.file) - 4096
    world.logs.file.store_i64(start + 8 * index, raw)
    with pytest.raises(FileFormatError, match="contradicts the tail"):
        world.publication(exclusive=True)


def test_a_stale_term_count_is_an_admin_action(world):
    publication = world.publication(exclusive=False)
    start = len(world.logs.file) - 4096
    world.logs.file.store_i64(start, (801263729 + 3) << 32)
    assert publication.offer(b"x") == ADMIN_ACTION
    assert publication.offer_records(b"12345678", 4) == (0, ADMIN_ACTION)


def test_a_publisher_whose_peer_died_in_a_rotation_finishes_it(new_world):
    world = new_world(term_offset=TERM - 32)
    publication = world.publication(exclusive=False)
    assert publication.offer(b"") == TERM
    # A peer tripped the end and moved the next tail, but not the count.
    start = len(world.logs.file) - 4096
    first = world.logs.initial_term_id
    world.logs.file.store_i64(start + 8, (first + 1) << 32)
    assert publication.offer(b"x") == ADMIN_ACTION
    assert world.logs.active_term_count == 1
    assert publication.offer(b"x") == TERM + 64


@pytest.mark.parametrize("offset", [TERM - 5, 5, 33])
def test_a_tail_off_the_frame_grid_writes_nothing_and_moves_to_the_next_term(world, offset):
    start = len(world.logs.file) - 4096
    world.logs.file.store_i64(start, (801263729 << 32) | offset)
    publication = world.publication(exclusive=False)
    assert publication.offer(b"xxxx") == ADMIN_ACTION
    assert bytes(world.logs.term(0)) + bytes(world.logs.term(1)) == bytes(2 * TERM)
    assert publication.offer(b"xxxx") == TERM + 64
