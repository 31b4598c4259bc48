"""The file of duty-cycle histograms: what is written is read, garbage is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.cycle_histograms import (
    BUCKETS,
    FILE_NAME,
    CycleHistograms,
    read_cycles,
)
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.mapped_file import MappedFile


def test_each_agent_has_counts_of_its_own(tmp_path):
    path = str(tmp_path / FILE_NAME)
    made = CycleHistograms.create(RealFileSystem(), path, ("Conductor", "Sender"))
    made.mapped.store_i64(made.offset_of("Sender") + 8 * 12, 5)
    made.mapped.store_i64(made.offset_of("Conductor") + 8 * 63, 7)
    conductor, sender = read_cycles(MappedFile.open(path, writable=False))
    assert (conductor.agent, sender.agent) == ("Conductor", "Sender")
    assert sender.counts == tuple(5 if n == 12 else 0 for n in range(BUCKETS))
    assert conductor.counts == tuple(7 if n == 63 else 0 for n in range(BUCKETS))
    with pytest.raises(ValueError, match="tuple"):
        made.offset_of("Receiver")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\1", "truncated"),
        (bytes(64), "version 0"),
        (b"\2" + bytes(700), "version 2"),
        (b"\1\0\0\0\2\0\0\0" + bytes(1_000), "agents=2"),
        (b"\1\0\0\0\xff\xff\xff\xff" + bytes(1_000), "agents=-1"),
    ],
)
def test_another_file_is_refused(tmp_path, content, told):
    path = tmp_path / FILE_NAME
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=told):
        read_cycles(MappedFile.open(str(path), writable=False))


@given(st.binary(min_size=1, max_size=1_500))
def test_any_bytes_are_borne(content):
    mapped = MappedFile.anonymous(len(content))
    mapped.view()[:] = content
    try:
        found = read_cycles(mapped)
    except FileFormatError:
        return
    assert all(len(one.counts) == BUCKETS and min(one.counts) >= 0 for one in found)
