"""Counters: layout in bytes, allocation and reuse (spec cnc-and-commands 5)."""

import struct

import pytest

from aerolog.transport.errors import CountersFullError, FileFormatError
from aerolog.transport.memory import counters
from aerolog.transport.memory.counters import CountersManager, CountersReader
from aerolog.transport.memory.mapped_file import MappedFile

CAPACITY = 4
METADATA = 512 * CAPACITY
VALUES = 128 * CAPACITY


@pytest.fixture
def mapped():
    return MappedFile.anonymous(METADATA + VALUES)


@pytest.fixture
def manager(mapped, clock):
    return CountersManager(mapped, 0, METADATA, METADATA, VALUES, clock)


@pytest.fixture
def reader(mapped):
    return CountersReader(mapped, 0, METADATA, METADATA, VALUES)


def test_records_have_the_documented_bytes(mapped, manager):
    first = manager.allocate(0, "system", b"\x01\x00\x00\x00", registration_id=1, owner_id=-1)
    second = manager.allocate(11, "label two", b"key", reference_id=9, value=-7)
    assert (first, second) == (0, 1)
    record = bytes(mapped.view(512, 512))
    assert struct.unpack_from("<iiq", record) == (1, 11, 2**63 - 1)
    assert record[16:128] == b"key" + bytes(109)
    assert struct.unpack_from("<i", record, 128) == (9,)
    assert record[132:512] == b"label two" + bytes(371)
    assert struct.unpack("<4q", mapped.view(METADATA, 32)) == (0, 1, -1, 0)
    assert struct.unpack("<4q", mapped.view(METADATA + 128, 32)) == (-7, 0, 0, 9)


def test_a_snapshot_tells_everything(manager, reader):
    manager.allocate(1, "pub-lmt", b"abc", registration_id=5, owner_id=6, reference_id=7, value=8)
    assert list(reader) == [
        counters.CounterSnapshot(0, 1, 8, 5, 6, 7, "pub-lmt", b"abc" + bytes(109))
    ]


def test_iteration_skips_freed_counters_and_ends_at_the_first_unused(manager, reader):
    for name in ("a", "b", "c"):
        manager.allocate(1, name)
    manager.free(1)
    assert [each.label for each in reader] == ["a", "c"]
    assert reader.snapshot(1) is None
    assert reader.counter_state(1) == counters.RECORD_RECLAIMED
    assert reader.counter_state(3) == counters.RECORD_UNUSED


def test_labels_and_keys_are_cut_and_made_ascii(manager, reader):
    manager.allocate(1, "é" + "x" * 400, b"k" * 200)
    assert reader.counter_label(0) == "?" + "x" * 379
    assert reader.counter_key(0) == b"k" * 112


def test_free_zeroes_the_key_and_leaves_the_rest(manager, reader, clock):
    manager.allocate(1, "label", b"key", registration_id=5, owner_id=6, reference_id=7, value=8)
    manager.free(0)
    assert reader.counter_key(0) == bytes(112)
    assert reader.counter_label(0) == "label"
    assert reader.counter_value(0) == 8
    assert reader.counter_registration_id(0) == 5
    assert reader.free_for_reuse_deadline_ms(0) == clock.now_epoch_ms() + 1000


def test_a_freed_id_rests_before_it_is_reused_with_fresh_values(manager, reader, clock):
    manager.allocate(1, "first", b"key", registration_id=5, owner_id=6, reference_id=7, value=8)
    manager.free(0)
    clock.advance_ns(999_000_000)
    assert manager.allocate(2, "second") == 1
    clock.advance_ns(1_000_000)
    assert manager.allocate(3, "x") == 0
    assert next(iter(reader)) == counters.CounterSnapshot(0, 3, 0, 0, 0, 0, "x", bytes(112))
    assert reader.free_for_reuse_deadline_ms(0) == counters.NOT_FREE_DEADLINE


@pytest.mark.parametrize("difference_ms", [3_600_000, -3_600_000])
def test_a_step_of_the_wall_clock_changes_no_rest(manager, clock, difference_ms):
    manager.allocate(1, "first")
    manager.free(0)
    clock.step_epoch_ms(difference_ms)
    clock.advance_ns(999_000_000)
    assert manager.allocate(2, "second") == 1
    clock.advance_ns(1_000_000)
    assert manager.allocate(3, "third") == 0


def test_a_counter_is_live_until_it_is_freed_for_its_own_registration_only(manager, reader, clock):
    manager.allocate(1, "first", registration_id=5)
    assert reader.is_live(0, 5)
    assert not reader.is_live(0, 6)
    manager.free(0)
    assert not reader.is_live(0, 5)
    clock.advance_ns(1_000_000_000)
    manager.allocate(1, "second", registration_id=6)
    assert not reader.is_live(0, 5)
    assert reader.is_live(0, 6)


def test_the_id_freed_first_is_reused_first(manager, clock):
    for name in ("a", "b", "c"):
        manager.allocate(1, name)
    manager.free(2)
    manager.free(0)
    clock.advance_ns(2_000_000_000)
    assert manager.allocate(1, "d") == 2
    assert manager.allocate(1, "e") == 0


def test_a_full_buffer_is_an_error_that_names_its_size(manager, clock):
    assert manager.available() == CAPACITY
    for _ in range(CAPACITY):
        manager.allocate(1, "x")
    assert manager.available() == 0
    with pytest.raises(CountersFullError, match="buffer is full: maxCounterId=3"):
        manager.allocate(1, "x")
    manager.free(3)
    assert manager.available() == 0
    clock.advance_ns(1_000_000_000)
    assert manager.available() == 1
    assert manager.allocate(1, "x") == 3


def test_freeing_what_is_not_allocated_is_refused(manager):
    manager.allocate(1, "x")
    manager.free(0)
    with pytest.raises(ValueError, match="not allocated: id=0"):
        manager.free(0)
    with pytest.raises(IndexError, match="4 is not within 0 to 3"):
        manager.free(4)


def test_counters_are_found_by_registration_and_by_key(manager, reader):
    manager.allocate(1, "a", registration_id=10)
    manager.allocate(2, "b", struct.pack("<q", 42), registration_id=10)
    manager.allocate(2, "c", struct.pack("<q", 43), registration_id=11)
    assert reader.find_by_registration_id(10) == 0
    assert reader.find_by_registration_id(10, 2) == 1
    assert reader.find_by_registration_id(12) == counters.NULL_COUNTER_ID
    assert reader.find_by_key_i64(2, 43) == 2
    assert reader.find_by_key_i64(1, 43) == counters.NULL_COUNTER_ID
    manager.free(2)
    assert reader.find_by_registration_id(11) == counters.NULL_COUNTER_ID


def test_values_change_as_told(manager, reader):
    manager.allocate(1, "a", value=5)
    assert reader.get_and_add(0, 3) == 5
    assert not reader.propose_max(0, 8)
    assert reader.propose_max(0, 9)
    assert reader.compare_and_set(0, 9, 1)
    assert not reader.compare_and_set(0, 9, 2)
    assert reader.counter_value(0) == 1
    reader.set_value(0, -1)
    assert manager.counter_value(0) == -1


def test_the_owner_appends_to_its_label_up_to_the_limit(manager, reader):
    manager.allocate(11, "client-heartbeat: id=1")
    assert reader.append_to_label(0, " name=x") == 7
    assert reader.counter_label(0) == "client-heartbeat: id=1 name=x"
    assert reader.append_to_label(0, "y" * 400) == 380 - 29
    assert len(reader.counter_label(0)) == 380
    assert reader.append_to_label(0, "z") == 0


@pytest.mark.parametrize(("stored", "shown"), [(-1, 0), (381, 380), (2**31 - 1, 380)])
def test_a_label_length_that_cannot_be_is_cut(mapped, manager, reader, stored, shown):
    manager.allocate(1, "label")
    mapped.store_i32(128, stored)
    assert len(reader.counter_label(0)) == shown


@pytest.mark.parametrize("counter_id", [-1, CAPACITY, 2**31 - 1])
def test_ids_out_of_range_are_refused(reader, counter_id):
    with pytest.raises(IndexError):
        reader.counter_value(counter_id)
    with pytest.raises(IndexError):
        reader.snapshot(counter_id)


def test_sections_outside_the_file_are_refused(mapped, clock):
    with pytest.raises(FileFormatError):
        CountersReader(mapped, 0, METADATA, METADATA, VALUES + 1)
    with pytest.raises(FileFormatError):
        CountersReader(mapped, -8, METADATA, METADATA, VALUES)
    with pytest.raises(FileFormatError, match="aligned"):
        CountersManager(mapped, 4, METADATA, METADATA, 128, clock)


def test_the_smaller_section_sets_the_limit(mapped):
    assert CountersReader(mapped, 0, 512, METADATA, VALUES).max_counter_id == 0
    assert CountersReader(mapped, 0, METADATA, METADATA, 0).max_counter_id == -1
