"""cnc.dat files that are cut, garbage or damaged: refused by a typed error, or safe to use."""

import memory_damage as damage
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.testing import FakeFileSystem, ManualClock
from aerolog.transport.errors import AerologError, FileFormatError
from aerolog.transport.memory.aeron_directory import AeronDirectory
from aerolog.transport.memory.cnc import HEADER_LENGTH, CncFile

HEADER_FIELDS = range(0, 52, 4)


def disk_with(data):
    files = FakeFileSystem()
    files.make_dirs("/aeron")
    files.write_bytes("/aeron/cnc.dat", data)
    return files


def use(files):
    """Opens and uses the file; True when it was refused."""
    try:
        cnc = CncFile.open(files, "/aeron", writable=True)
    except FileFormatError:
        return True
    damage.use_counters(cnc.counters)
    assert all(len(each.text) <= cnc.header.lengths.error_log for each in cnc.errors())
    damage.use_ring(cnc.to_driver)
    damage.use_receiver(cnc.receiver())
    cnc.transmitter().send(1, b"x")
    cnc.mark_closed()
    return False


def take_over(files):
    """What a starting driver makes of the file: it goes on, or refuses with a typed error."""
    clock = ManualClock()
    directory = AeronDirectory(
        "/aeron", 50, files, clock, lambda seconds: clock.advance_ns(int(seconds * 1e9))
    )
    try:
        directory.claim()
    except AerologError:
        assert files.exists("/aeron/cnc.dat")
    else:
        assert files.list_dir("/aeron") == []


def test_the_undamaged_file_is_used(valid_cnc):
    assert not use(disk_with(valid_cnc))


@pytest.mark.parametrize("length", [*range(1, 140), 255, 1000, 3000])
def test_files_cut_short_are_refused(valid_cnc, length):
    assert use(disk_with(valid_cnc[:length]))


def test_every_cut_is_refused_or_only_padding_is_missing(valid_cnc):
    total = HEADER_LENGTH + 1024 + 384 + 2048 + 512 + 256
    for length in range(140, len(valid_cnc), 61):
        assert use(disk_with(valid_cnc[:length])) == (length < total)


@given(st.binary(max_size=600))
def test_garbage_is_refused_or_used(data):
    refused = use(disk_with(data))
    assert refused or len(data) > HEADER_LENGTH
    take_over(disk_with(data))


@given(data=st.data())
def test_any_header_is_refused_or_used(valid_cnc, data):
    fields = data.draw(
        st.dictionaries(st.sampled_from(HEADER_FIELDS), st.integers(-(2**31), 2**31 - 1))
    )
    patched = damage.damaged(valid_cnc, [(at, damage.word(value)) for at, value in fields.items()])
    assert use(disk_with(patched)) or patched[:4] == valid_cnc[:4] or patched[2:4] == b"\0\0"
    take_over(disk_with(patched))


@given(patches=damage.PATCHES)
def test_damage_anywhere_behind_the_header_is_survived(valid_cnc, patches):
    patched = valid_cnc[:128] + damage.damaged(valid_cnc[128:], patches)
    assert not use(disk_with(patched))
    take_over(disk_with(patched))
