"""Both file systems do the same; see conftest for the two."""

import gc

import pytest

from aerolog.transport.errors import FileFormatError, StorageSpaceError
from aerolog.transport.memory.filesystem import FileSystem


def test_both_satisfy_the_door(disk):
    assert isinstance(disk.files, FileSystem)


def test_a_created_file_is_zero_and_has_its_length(disk):
    mapped = disk.files.create_mapped(disk.path("a"), 10_000)
    assert bytes(mapped.view()) == bytes(10_000)
    assert disk.files.size(disk.path("a")) == 10_000
    assert mapped.writable


def test_two_mappings_of_a_file_share_their_bytes(disk):
    first = disk.files.create_mapped(disk.path("a"), 4096)
    second = disk.files.open_mapped(disk.path("a"))
    first.store_i64(8, 77)
    assert second.load_i64(8) == 77


def test_mappings_and_data_files_share_their_bytes(disk):
    mapped = disk.files.create_mapped(disk.path("a"), 4096)
    with disk.files.open_data_file(disk.path("a"), writable=True) as file:
        file.write_at(b"hello", 100)
        assert bytes(mapped.view(100, 5)) == b"hello"
        mapped.view()[0:2] = b"ok"
        assert file.read_at(2, 0) == b"ok"


def test_creating_over_an_existing_file_is_refused(disk):
    disk.files.create_mapped(disk.path("a"), 4096)
    with pytest.raises(FileExistsError):
        disk.files.create_mapped(disk.path("a"), 4096)
    with pytest.raises(FileExistsError):
        disk.files.open_data_file(disk.path("a"), writable=True, create=True, exclusive=True)


def test_more_than_the_disk_has_is_refused_and_leaves_nothing(disk):
    with pytest.raises(StorageSpaceError, match=r"needed=\d+ usable=\d+.*shorter buffers"):
        disk.files.create_mapped(disk.path("a"), 1 << 50)
    assert not disk.files.exists(disk.path("a"))


@pytest.mark.parametrize("length", [0, -1])
def test_a_length_that_is_not_positive_is_refused(disk, length):
    with pytest.raises(ValueError, match=f"length={length}"):
        disk.files.create_mapped(disk.path("a"), length)


def test_a_missing_file_is_told_as_such(disk):
    with pytest.raises(FileNotFoundError):
        disk.files.open_mapped(disk.path("a"))
    with pytest.raises(FileNotFoundError):
        disk.files.size(disk.path("a"))
    with pytest.raises(FileNotFoundError):
        disk.files.remove(disk.path("a"))


@pytest.mark.parametrize(("content", "needed"), [(b"", 1), (b"x" * 127, 128)])
def test_an_empty_or_short_file_is_not_mapped(disk, content, needed):
    disk.files.write_bytes(disk.path("a"), content)
    with pytest.raises(FileFormatError, match=f"{len(content)} bytes, needs at least {needed}"):
        disk.files.open_mapped(disk.path("a"), min_length=needed)


def test_folders_are_made_listed_and_removed_with_what_they_hold(disk):
    disk.files.make_dirs(disk.path("x/y"))
    disk.files.write_bytes(disk.path("x/b"), b"1")
    disk.files.write_bytes(disk.path("x/a"), b"2")
    assert disk.files.list_dir(disk.path("x")) == ["a", "b", "y"]
    assert disk.files.is_dir(disk.path("x/y"))
    assert not disk.files.is_dir(disk.path("x/a"))
    disk.files.remove_tree(disk.path("x"))
    disk.files.remove_tree(disk.path("x"))
    assert not disk.files.exists(disk.path("x"))


def test_a_file_in_a_missing_folder_is_refused(disk):
    with pytest.raises(FileNotFoundError):
        disk.files.create_mapped(disk.path("none/a"), 4096)


def test_rename_replaces_the_target(disk):
    disk.files.write_bytes(disk.path("a"), b"new")
    disk.files.write_bytes(disk.path("b"), b"old")
    disk.files.rename(disk.path("a"), disk.path("b"))
    disk.files.sync_dir(disk.root)
    assert disk.files.read_bytes(disk.path("b")) == b"new"
    assert not disk.files.exists(disk.path("a"))


def test_write_bytes_replaces_a_longer_file(disk):
    disk.files.write_bytes(disk.path("a"), b"long content")
    disk.files.write_bytes(disk.path("a"), b"short")
    assert disk.files.read_bytes(disk.path("a")) == b"short"


def test_a_file_is_unused_only_when_nobody_has_it_mapped_writable(disk):
    mapped = disk.files.create_mapped(disk.path("a"), 4096)
    reader = disk.files.open_mapped(disk.path("a"), writable=False)
    assert not disk.files.is_unused(disk.path("a"))
    del mapped
    gc.collect()
    assert disk.files.is_unused(disk.path("a"))
    assert reader.length == 4096
    assert not disk.files.is_unused(disk.path("missing"))


def test_space_and_store_are_told_for_paths_that_do_not_exist_yet(disk):
    assert disk.files.usable_space(disk.path("not/yet")) > 0
    assert disk.files.store_name(disk.path("not/yet"))
