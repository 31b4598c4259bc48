"""The to-clients broadcast buffer: bytes, wrap, late and slow readers (spec cnc-and-commands 4)."""

import struct
from itertools import islice

import pytest

from aerolog.transport.errors import BroadcastLappedError, FileFormatError
from aerolog.transport.memory.broadcast import BroadcastReceiver, BroadcastTransmitter
from aerolog.transport.memory.mapped_file import MappedFile

CAPACITY = 1024
INTENT, TAIL, LATEST = CAPACITY, CAPACITY + 8, CAPACITY + 16


@pytest.fixture
def mapped():
    return MappedFile.anonymous(CAPACITY + 128)


@pytest.fixture
def transmitter(mapped):
    return BroadcastTransmitter(mapped)


@pytest.fixture
def receiver(mapped):
    return BroadcastReceiver(mapped)


def test_a_record_has_the_documented_bytes(mapped, transmitter):
    transmitter.send(5, b"hello")
    transmitter.send(6, b"")
    assert bytes(mapped.view(0, 24)) == (
        struct.pack("<ii", 13, 5) + b"hello" + bytes(3) + struct.pack("<ii", 8, 6)
    )
    assert [mapped.load_i64(word) for word in (INTENT, TAIL, LATEST)] == [24, 24, 16]


def test_messages_come_in_order(transmitter, receiver):
    assert receiver.receive_next() is None
    for number in range(1, 6):
        transmitter.send(number, bytes([number]) * number)
    messages = iter(receiver.receive_next, None)
    seen = list(islice(messages, 2))
    assert len(seen) == 2
    seen += messages
    assert len(seen) == 5
    assert seen == [(number, bytes([number]) * number) for number in range(1, 6)]
    assert receiver.lapped_count == 0


def test_a_late_reader_begins_with_the_last_record(mapped, transmitter):
    transmitter.send(1, b"old")
    transmitter.send(2, b"last")
    assert BroadcastReceiver(mapped).receive_next() == (2, b"last")


def test_many_wraps_are_followed(transmitter, receiver):
    for number in range(1, 2000):
        message = bytes([number % 256]) * (number % 128)
        transmitter.send(number, message)
        assert receiver.receive_next() == (number, message)
        assert receiver.receive_next() is None


def test_padding_fills_the_end(mapped, transmitter):
    for _ in range(15):
        transmitter.send(1, b"x" * 56)
    transmitter.send(2, b"y" * 100)
    assert struct.unpack("<ii", mapped.view(960, 8)) == (64, -1)
    assert [mapped.load_i64(word) for word in (INTENT, TAIL, LATEST)] == [1136, 1136, 1024]


def test_a_slow_reader_is_told_and_goes_on_with_what_is_new(transmitter, receiver):
    for _ in range(40):
        transmitter.send(1, b"x" * 56)
    with pytest.raises(BroadcastLappedError, match="unable to keep up with broadcast"):
        receiver.receive_next()
    assert receiver.lapped_count == 1
    assert receiver.receive_next() is None
    transmitter.send(2, b"new")
    assert receiver.receive_next() == (2, b"new")


def test_a_reader_just_within_the_capacity_is_not_lapped(transmitter, receiver):
    for _ in range(15):
        transmitter.send(1, b"x" * 56)
    assert len(list(iter(receiver.receive_next, None))) == 15


def test_an_intent_that_overtakes_the_reader_invalidates_its_message(mapped, transmitter, receiver):
    transmitter.send(1, b"x" * 56)
    mapped.store_i64(INTENT, CAPACITY)
    with pytest.raises(BroadcastLappedError):
        receiver.receive_next()


def test_the_largest_message_fits_and_one_more_byte_does_not(transmitter, receiver):
    transmitter.send(1, b"x" * 128)
    assert receiver.receive_next() == (1, b"x" * 128)
    with pytest.raises(ValueError, match="129 at most 128"):
        transmitter.send(1, b"x" * 129)
    with pytest.raises(ValueError, match="greater than 0"):
        transmitter.send(0, b"")


@pytest.mark.parametrize("length", [-1, 0, 7, CAPACITY + 1, 2**31 - 1, -(2**31), 200])
def test_a_record_length_that_cannot_be_is_not_followed(mapped, transmitter, receiver, length):
    transmitter.send(1, b"x")
    mapped.store_i32(0, length)
    with pytest.raises(BroadcastLappedError):
        receiver.receive_next()
    transmitter.send(2, b"new")
    assert receiver.receive_next() == (2, b"new")


def test_endless_padding_is_not_followed(mapped, transmitter, receiver):
    transmitter.send(1, b"x")
    mapped.store_i32(0, CAPACITY)
    mapped.store_i32(4, -1)
    with pytest.raises(BroadcastLappedError):
        receiver.receive_next()


@pytest.mark.parametrize("tail", [3, -5, 2**63 - 1, -(2**63)])
def test_a_tail_that_cannot_be_stays_inside_the_buffer(mapped, transmitter, receiver, tail):
    mapped.store_i64(TAIL, tail)
    mapped.store_i64(LATEST, tail)
    transmitter.send(1, b"x" * 100)
    late = BroadcastReceiver(mapped)
    for reader in (receiver, late):
        try:
            reader.receive_next()
        except BroadcastLappedError:
            assert reader.lapped_count == 1


def test_sections_that_are_no_broadcast_buffer_are_refused(mapped, tmp_path):
    for length in (128, 128 + 63, 128 + 1000):
        with pytest.raises(FileFormatError):
            BroadcastReceiver(mapped, 0, length)
    with pytest.raises(FileFormatError):
        BroadcastTransmitter(mapped, 512, CAPACITY + 128)
    MappedFile.create(str(tmp_path / "a"), CAPACITY + 128)
    with pytest.raises(ValueError, match="read-only"):
        BroadcastTransmitter(MappedFile.open(str(tmp_path / "a"), writable=False))
