"""Mappings: their words, their views, their life."""

import errno
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from prerequisites import needs_mounts, small_disk

from aerolog.transport.errors import FileFormatError, StorageSpaceError
from aerolog.transport.memory.mapped_file import MappedFile


def allocated_bytes(path):
    return Path(path).stat().st_blocks * 512


def test_preallocated_files_take_their_space_at_once(tmp_path):
    path = str(tmp_path / "a")
    MappedFile.create(path, 1 << 20)
    assert allocated_bytes(path) >= 1 << 20


def test_sparse_files_take_space_range_by_range(tmp_path):
    path = str(tmp_path / "a")
    mapped = MappedFile.create(path, 1 << 20, preallocate=False)
    assert allocated_bytes(path) == 0
    mapped.view()[4096:4101] = b"hello"
    mapped.allocate_range(0, 65_536)
    assert 65_536 <= allocated_bytes(path) < 1 << 20
    assert bytes(mapped.view(4096, 5)) == b"hello"


@pytest.mark.parametrize("span", [(-1, 10), (0, 0), (4096, 1), (0, 4097), (2**62, 2**62)])
def test_ranges_outside_the_file_are_not_allocated(tmp_path, span):
    mapped = MappedFile.create(str(tmp_path / "a"), 4096, preallocate=False)
    with pytest.raises(OSError, match="cannot allocate"):
        mapped.allocate_range(*span)


def test_who_has_opened_a_sparse_file_allocates_as_well(tmp_path):
    path = str(tmp_path / "a")
    MappedFile.create(path, 1 << 20, preallocate=False)
    mapped = MappedFile.open(path)
    mapped.allocate_range(65_536, 65_536)
    mapped.allocate_range(0, 65_536)
    assert 131_072 <= allocated_bytes(path) < 1 << 20


def test_a_reader_does_not_allocate(tmp_path):
    path = str(tmp_path / "a")
    MappedFile.create(path, 4096, preallocate=False)
    with pytest.raises(OSError, match="cannot allocate 4096 bytes"):
        MappedFile.open(path, writable=False).allocate_range(0, 4096)
    assert allocated_bytes(path) == 0


def test_a_view_keeps_the_memory_mapped():
    mapped = MappedFile.anonymous(4096)
    view = mapped.view(16, 8)
    view[:] = b"12345678"
    del mapped
    gc.collect()
    assert bytes(view) == b"12345678"


def test_a_file_removed_under_its_mapping_stays_readable(tmp_path):
    path = tmp_path / "a"
    mapped = MappedFile.create(str(path), 4096)
    mapped.store_i32(0, 5)
    path.unlink()
    assert mapped.load_i32(0) == 5


def test_read_only_mappings_refuse_stores(tmp_path):
    MappedFile.create(str(tmp_path / "a"), 4096)
    mapped = MappedFile.open(str(tmp_path / "a"), writable=False)
    assert mapped.view().readonly
    with pytest.raises(ValueError, match="read-only"):
        mapped.store_i64(0, 1)
    with pytest.raises(TypeError):
        mapped.view()[0] = 1


@pytest.mark.parametrize("offset", [4096, 4092 + 8, -8, 2**62])
def test_words_outside_the_mapping_are_refused(offset):
    mapped = MappedFile.anonymous(4096)
    with pytest.raises(FileFormatError, match="no room"):
        mapped.load_i64(offset - offset % 8)


def test_words_that_are_not_aligned_are_refused():
    mapped = MappedFile.anonymous(4096)
    with pytest.raises(ValueError, match="multiple of 8"):
        mapped.load_i64(4)
    with pytest.raises(ValueError, match="multiple of 4"):
        mapped.store_i32(2, 1)


def test_words_are_little_endian_and_add_up():
    mapped = MappedFile.anonymous(4096)
    mapped.store_i32(0, -2)
    mapped.store_i64(8, 2**40 + 1)
    assert bytes(mapped.view(0, 4)) == b"\xfe\xff\xff\xff"
    assert mapped.get_and_add_i64(8, 4) == 2**40 + 1
    assert mapped.load_i64(8) == 2**40 + 5


@pytest.mark.parametrize(("offset", "length"), [(0, 4097), (4097, 0), (-1, 1), (1, 4096)])
def test_views_outside_the_mapping_are_refused(offset, length):
    with pytest.raises(FileFormatError):
        MappedFile.anonymous(4096).view(offset, length)


def test_flush_reaches_the_file(tmp_path):
    mapped = MappedFile.create(str(tmp_path / "a"), 4096)
    mapped.view()[:3] = b"abc"
    mapped.flush()
    assert (tmp_path / "a").read_bytes()[:3] == b"abc"


def test_a_forked_child_shares_the_memory():
    mapped = MappedFile.anonymous(4096)
    child = os.fork()
    if child == 0:
        mapped.store_i64(0, os.getpid())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert mapped.load_i64(0) == child


FULL_DISK = """
import sys
from pathlib import Path
from aerolog.transport.errors import StorageSpaceError
from aerolog.transport.memory.mapped_file import MappedFile
whole, sparse = sys.argv[1] + "/whole", sys.argv[1] + "/sparse"
try:
    MappedFile.create(whole, 4 << 20)
except StorageSpaceError as error:
    print("refused", error.errno, "needed=4194304" in str(error))
mapped = MappedFile.create(sparse, 4 << 20, preallocate=False, check_space=False)
mapped.allocate_range(0, 65536)
mapped.view()[65535] = 1
try:
    mapped.allocate_range(65536, 3 << 20)
except StorageSpaceError as error:
    print("withheld", error.errno)
"""


@needs_mounts
def test_a_full_file_system_is_an_error_and_never_a_bus_error(tmp_path):
    with small_disk(tmp_path / "small", 1 << 20) as mount:
        done = subprocess.run(
            [sys.executable, "-c", FULL_DISK, str(mount)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode != -signal.SIGBUS
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["refused 28 True", "withheld 28"]


def test_the_fake_withholds_ranges_that_do_not_fit(fake):
    mapped = fake.create_mapped("/disk/a", 1 << 20, preallocate=False)
    fake.fill_up(8192)
    mapped.allocate_range(0, 8192)
    mapped.allocate_range(0, 8192)
    with pytest.raises(StorageSpaceError, match="usable=0"):
        mapped.allocate_range(8192, 1)


def test_a_sparse_file_holds_no_descriptor_and_is_allocated_by_its_path(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    path = tmp_path / "sparse"
    mapped = MappedFile.create(str(path), 1 << 20, preallocate=False)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    mapped.allocate_range(0, 65536)
    assert allocated_bytes(path) == 65536
    path.rename(tmp_path / "other")
    path.write_bytes(bytes(1 << 20))
    with pytest.raises(OSError, match="cannot allocate") as refused:
        mapped.allocate_range(65536, 65536)
    assert refused.value.errno == errno.ESTALE


def test_a_relative_path_is_allocated_wherever_the_process_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mapped = MappedFile.create("sparse", 1 << 20, preallocate=False)
    monkeypatch.chdir("/")
    mapped.allocate_range(0, 4096)
    assert allocated_bytes(tmp_path / "sparse") >= 4096
