"""Many messages per call, in both directions (spec client 28)."""

from __future__ import annotations

import struct

import pytest

BACK_PRESSURED, TOO_LONG, BAD_BLOCK = -2, -6, -7
TERM = 65536


def arrow(values, width):
    code = "i" if width == 4 else "q"
    ends = [0]
    for value in values:
        ends.append(ends[-1] + len(value))
    return b"".join(values), struct.pack(f"<{len(ends)}{code}", *ends)


def offers(world, exclusive, count, length):
    """The bytes of a log after as many single offers."""
    publication = world.publication(exclusive=exclusive)
    index = 0
    while index < count:
        index += publication.offer(struct.pack("<q", index) * (length // 8)) > 0
    return bytes(world.logs.file)


@pytest.mark.parametrize("length", [8, 32, 1376, 4000])
def test_a_batch_of_records_writes_the_bytes_of_single_offers(new_world, exclusive, length):
    count = 60_000 // (length + 200)
    batch = new_world()
    records = b"".join(struct.pack("<q", index) * (length // 8) for index in range(count))
    taken, position = batch.publication(exclusive=exclusive).offer_records(records, length)
    assert taken == count
    assert position == batch.logs.producer_position
    assert bytes(batch.logs.file) == offers(new_world(), exclusive, count, length)


def test_a_batch_crosses_terms(world, exclusive):
    count = 2 * TERM // 64
    records = b"".join(struct.pack("<q", index) for index in range(count))
    taken, position = world.publication(exclusive=exclusive).offer_records(records, 8)
    assert (taken, position) == (count, 2 * TERM)
    subscription = world.subscription()
    numbers = []
    while subscription.position < 2 * TERM:
        numbers += [struct.unpack("<q", each.payload)[0] for each in subscription.poll(1000)]
    assert numbers == list(range(count))


def test_a_batch_stops_at_the_limit_and_goes_on_from_there(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    records = b"".join(struct.pack("<q", index) for index in range(100))
    world.limit = 10 * 64 + 1
    assert publication.offer_records(records, 8) == (11, BACK_PRESSURED)
    world.limit = TERM
    assert publication.offer_records(records, 8, first=11) == (89, 6400)
    payloads = [each.payload for each in world.subscription().poll(1000)]
    assert b"".join(payloads) == records


def test_records_too_long_for_the_publication_are_refused_whole(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    assert publication.offer_records(bytes(8193), 8193) == (0, TOO_LONG)
    assert publication.position == 0


def test_a_batch_carries_one_reserved_value(world, exclusive):
    world.publication(exclusive=exclusive).offer_records(b"aabb", 2, reserved_value=9)
    assert [each.reserved_value for each in world.subscription().poll()] == [9, 9]


@pytest.mark.parametrize("width", [4, 8])
def test_values_go_one_message_each(world, exclusive, width):
    values = [bytes([n % 251]) * ((n * 37) % 5000) for n in range(20)]
    data, offsets = arrow(values, width)
    assert world.publication(exclusive=exclusive).offer_values(data, offsets, width) == (
        20,
        world.logs.producer_position,
    )
    found = world.subscription().poll(1000, assemble=True)
    assert [each.payload for each in found] == values


def test_values_stop_at_the_limit_and_go_on(world, exclusive):
    publication = world.publication(exclusive=exclusive)
    values = [bytes([n]) * n for n in range(50)]
    data, offsets = arrow(values, 4)
    world.limit = 640
    taken, result = publication.offer_values(data, offsets)
    assert result == BACK_PRESSURED
    assert 0 < taken < 50
    world.limit = TERM
    assert publication.offer_values(data, offsets, first=taken)[0] == 50 - taken
    assert [each.payload for each in world.subscription().poll(100)] == values


def test_values_cross_terms(world, exclusive):
    values = [bytes([n % 256]) * (n * 7 % 1300) for n in range(170)]
    data, offsets = arrow(values, 8)
    taken, _ = world.publication(exclusive=exclusive).offer_values(data, offsets, 8)
    subscription = world.subscription()
    found = []
    for _ in range(3):
        found += subscription.poll(1000)
    assert taken == 170
    assert world.logs.active_term_count >= 1
    assert [each.payload for each in found] == values


@pytest.mark.parametrize("ends", [(0, -1), (-4, 2), (3, 2), (0, 5), (0, 2**31 - 1)])
def test_offsets_outside_the_data_are_refused_at_the_value_that_has_them(world, exclusive, ends):
    publication = world.publication(exclusive=exclusive)
    offsets = struct.pack("<4i", 0, 2, *ends)
    taken, result = publication.offer_values(b"abcd", offsets)
    assert result == BAD_BLOCK
    assert taken == len(world.subscription().poll())
    assert taken <= 2


def test_a_value_too_long_stops_the_batch_before_it(world, exclusive):
    data, offsets = arrow([b"ok", b"x" * 8193, b"never"], 4)
    assert world.publication(exclusive=exclusive).offer_values(data, offsets) == (1, TOO_LONG)


def test_records_are_read_into_an_array(world):
    publication = world.publication(exclusive=True)
    records = b"".join(struct.pack("<q", index) for index in range(2500))
    assert publication.offer_records(records, 8)[0] == 2500
    subscription = world.subscription()
    out = bytearray(8 * 2000)
    positions = bytearray(8 * 2000)
    assert subscription.read_records(out, 8, positions) == (2000, -1)
    assert out == records[:16000]
    assert struct.unpack("<2000q", positions) == tuple(64 * n for n in range(1, 2001))
    assert subscription.position == 2000 * 64
    assert subscription.read_records(out, 8) == (500, -1)
    assert out[:4000] == records[16000:]
    assert subscription.read_records(out, 8) == (0, -1)


def test_reading_records_stops_before_another_length(world):
    publication = world.publication(exclusive=True)
    for payload in (b"12345678", b"abcdefgh", b"odd", b"ABCDEFGH"):
        publication.offer(payload)
    subscription = world.subscription()
    out = bytearray(80)
    assert subscription.read_records(out, 8) == (2, 3)
    assert subscription.read_records(out, 8) == (0, 3)
    assert subscription.poll(1)[0].payload == b"odd"
    assert subscription.read_records(out, 8) == (1, -1)
    assert out[:8] == b"ABCDEFGH"


def test_records_longer_than_a_frame_are_assembled(world):
    publication = world.publication(exclusive=True)
    records = b"".join(bytes([n]) * 4000 for n in range(20))
    assert publication.offer_records(records, 4000)[0] == 20
    subscription = world.subscription()
    out = bytearray(4000 * 25)
    assert subscription.read_records(out, 4000) == (20, -1)
    assert out[: len(records)] == records


@pytest.mark.parametrize("width", [4, 8])
def test_values_are_read_as_arrow_has_them(world, width):
    values = [bytes([n]) * ((n * 371) % 4000) for n in range(30)]
    data, offsets = arrow(values, width)
    world.publication(exclusive=True).offer_values(data, offsets, width)
    subscription = world.subscription()
    out, ends = bytearray(len(data)), bytearray(width * 40)
    assert subscription.read_values(out, ends, width) == (30, -1)
    assert out == data
    assert ends[: len(offsets)] == offsets


def test_a_value_that_does_not_fit_waits_for_more_room(world):
    publication = world.publication(exclusive=True)
    for payload in (b"a" * 10, b"b" * 3000, b"c"):
        publication.offer(payload)
    subscription = world.subscription()
    ends = bytearray(4 * 10)
    assert subscription.read_values(bytearray(100), ends) == (1, 3000)
    assert subscription.read_values(bytearray(2999), ends) == (0, 3000)
    out = bytearray(3001)
    assert subscription.read_values(out, ends) == (2, -1)
    assert out == b"b" * 3000 + b"c"
    assert struct.unpack_from("<3i", ends) == (0, 3000, 3001)


def test_a_message_half_written_is_delivered_when_its_end_is_there(world):
    publication = world.publication(exclusive=True)
    publication.offer(b"x" * 3000)
    hidden = bytes(world.logs.term(0)[2816:2820])
    world.write(2816, struct.pack("<i", -280))
    subscription = world.subscription()
    out, ends = bytearray(5000), bytearray(40)
    assert subscription.read_values(out, ends) == (0, -1)
    assert subscription.position == 2816
    world.write(2816, hidden)
    assert subscription.read_values(out, ends) == (1, -1)
    assert out[:3000] == b"x" * 3000


def test_a_log_full_of_padding_ends_a_batch(world):
    for index in range(3):
        world.write(index * TERM, struct.pack("<iBBH", TERM, 0, 0xC0, 0))
    subscription = world.subscription()
    assert subscription.read_records(bytearray(80), 8) == (0, -1)
    assert subscription.position == 3 * TERM
    assert subscription.read_values(bytearray(80), bytearray(40)) == (0, -1)
    assert subscription.position == 6 * TERM
