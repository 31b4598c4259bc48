"""Files at offsets, and the faults of the fake disk."""

import errno

import pytest

from aerolog.transport.errors import ResourceClosedError, StorageSpaceError


@pytest.fixture
def file(disk):
    with disk.files.open_data_file(
        disk.path("a"), writable=True, create=True, exclusive=True
    ) as opened:
        yield opened


def test_what_is_written_is_read(file):
    assert file.write_at(b"hello world", 5) == 11
    assert file.read_at(11, 5) == b"hello world"
    assert file.file_size() == 16


@pytest.mark.parametrize("data", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_any_buffer_is_written(file, data):
    assert file.write_at(data, 0) == 3
    assert file.read_at(3, 0) == b"abc"


def test_empty_reads_and_writes_do_nothing(file):
    assert file.write_at(b"", 100) == 0
    assert file.read_at(0, 100) == b""
    assert file.file_size() == 0


def test_a_read_past_the_end_is_short(file):
    file.write_at(b"abc", 0)
    assert file.read_at(10, 1) == b"bc"
    assert file.read_at(10, 100) == b""


def test_a_target_is_filled(file):
    file.write_at(b"abcdef", 0)
    target = bytearray(4)
    assert file.read_into(target, 1) == 4
    assert target == b"bcde"


@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_sync_level_works(file, level):
    file.write_at(b"abc", 0)
    file.flush(level)
    assert file.read_at(3, 0) == b"abc"


def test_the_length_can_be_set(file):
    file.write_at(b"abcdef", 0)
    file.set_length(2)
    file.set_length(4)
    assert file.read_at(10, 0) == b"ab\0\0"


def test_allocation_extends_the_file(file):
    file.allocate_range(0, 8192)
    assert file.file_size() == 8192


def test_negative_offsets_are_refused(file):
    with pytest.raises(OSError, match="Invalid argument"):
        file.read_at(1, -1)


def test_a_closed_file_is_told_as_such(file):
    file.close()
    file.close()
    assert file.closed
    with pytest.raises(ResourceClosedError, match="cannot write"):
        file.write_at(b"abc", 0)
    with pytest.raises(ResourceClosedError, match="cannot sync"):
        file.flush(2)


def test_a_read_only_file_is_not_written(disk):
    disk.files.write_bytes(disk.path("b"), b"abc")
    with (
        disk.files.open_data_file(disk.path("b")) as file,
        pytest.raises(OSError, match=r"Bad file descriptor"),
    ):
        file.write_at(b"x", 0)
    assert disk.files.read_bytes(disk.path("b")) == b"abc"


@pytest.fixture
def faulty(fake):
    with fake.open_data_file("/disk/a", writable=True, create=True) as opened:
        yield opened


def test_a_full_disk_takes_what_fits(fake, faulty):
    fake.fill_up(4096)
    with pytest.raises(StorageSpaceError, match="needed=5000"):
        faulty.write_at(b"x" * 5000, 0)
    assert faulty.file_size() == 4096
    faulty.write_at(b"y", 0)


def test_a_torn_write_keeps_its_beginning_and_ends_the_disk(fake, faulty):
    fake.tear_after(6)
    faulty.write_at(b"1234", 0)
    with pytest.raises(OSError, match="Input/output") as failed:
        faulty.write_at(b"5678", 4)
    assert failed.value.errno == errno.EIO
    with pytest.raises(OSError, match="Input/output"):
        faulty.flush()
    fake.restart()
    assert fake.read_bytes("/disk/a") == b"123456"


def test_a_power_cut_takes_what_was_not_synced(fake, faulty):
    faulty.write_at(b"durable", 0)
    faulty.flush()
    faulty.write_at(b"LOST", 2)
    faulty.write_at(b"LOST TOO", 7)
    fake.restart(lose_unsynced=True)
    assert fake.read_bytes("/disk/a") == b"durable"


def test_failing_syncs_are_told_and_leave_data_volatile(fake, faulty):
    fake.fail_sync(times=1)
    faulty.write_at(b"abc", 0)
    with pytest.raises(OSError, match="cannot sync"):
        faulty.flush()
    fake.restart(lose_unsynced=True)
    assert fake.read_bytes("/disk/a") == b""
    faulty.flush()
    assert fake.sync_count == 1
