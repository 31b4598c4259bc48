"""Snapshots as files and as messages."""

from __future__ import annotations

import io
import itertools
import pickle
import random
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aerolog.cluster.service import ClusteredService, SnapshotReader, SnapshotWriter

if TYPE_CHECKING:
    from collections.abc import Callable


def written(chunk_length: int, *parts: bytes) -> list[bytes]:
    sent: list[bytes] = []
    writer = SnapshotWriter(sent.append, chunk_length)
    for part in parts:
        assert writer.write(part) == len(part)
    writer.flush()
    return sent


def test_writes_are_cut_into_messages() -> None:
    assert written(4, b"ab", b"cdefghi", b"", b"jk") == [b"abcd", b"efgh", b"ijk"]
    assert written(4, b"abcd") == [b"abcd"]
    assert written(4) == []


def test_other_buffers_are_written_by_their_bytes() -> None:
    sent: list[bytes] = []
    writer = SnapshotWriter(sent.append, 100)
    assert writer.write(memoryview(b"\1\0\2\0").cast("h")) == 4
    writer.flush()
    assert sent == [b"\1\0\2\0"]


def test_messages_keep_their_bounds() -> None:
    sent: list[bytes] = []
    writer = SnapshotWriter(sent.append, 4)
    writer.write(b"a")
    writer.write_message(b"message")
    writer.write_message(b"")
    assert sent == [b"a", b"message", b""]
    assert list(SnapshotReader(iter(sent)).messages()) == sent


def test_a_file_is_read_whole_or_by_parts() -> None:
    content = bytes(range(256)) * 10
    messages = [content[at : at + 100] for at in range(0, len(content), 100)]
    assert SnapshotReader(iter(messages)).read() == content
    reader = SnapshotReader(iter(messages))
    assert reader.read(150) == content[:150]
    assert reader.read1() == content[150:200]
    assert reader.read1(7) == content[200:207]
    assert reader.read(0) == b""
    into = bytearray(300)
    assert reader.readinto(into) == 300
    assert into == content[207:507]
    assert next(reader.messages()) == content[507:600]
    assert reader.read() == content[600:]
    assert reader.read(10) == b""
    assert reader.peek() == b""


def test_lines_and_pickles() -> None:
    value = {"bids": [(1, 2.5), (2, 7.25)], "text": "x" * 1000}
    sent: list[bytes] = []
    writer = SnapshotWriter(sent.append, 64)
    writer.write(b"one\ntwo\n")
    pickle.dump(value, writer)
    writer.flush()
    reader = SnapshotReader(iter(sent))
    assert reader.readline() == b"one\n"
    assert reader.readline() == b"two\n"
    assert pickle.load(reader) == value


def test_neither_does_what_the_other_does() -> None:
    with pytest.raises(io.UnsupportedOperation):
        SnapshotWriter(print, 4).read()
    with pytest.raises(io.UnsupportedOperation):
        SnapshotReader(iter(())).write(b"")


def test_a_service_without_a_state_writes_nothing() -> None:
    sent: list[bytes] = []
    service = ClusteredService()
    service.on_take_snapshot(SnapshotWriter(sent.append, 4))
    assert sent == []


def reread(write: Callable[[SnapshotWriter], object], chunk_length: int = 100) -> SnapshotReader:
    """A reader of what something writes."""
    sent: list[bytes] = []
    writer = SnapshotWriter(sent.append, chunk_length)
    write(writer)
    writer.flush()
    assert writer.tell() == sum(map(len, sent))
    return SnapshotReader(iter(sent))


ARRAYS = [np.arange(1000), np.ones((3, 4), "<f4"), np.array([], "<i2"), np.array(["a", "bc"])]


def test_arrays_of_numpy() -> None:
    """One behind the other, each of which numpy looks at and goes back before it reads it."""

    def write(writer: SnapshotWriter) -> None:
        for array in ARRAYS:
            np.save(writer, array)

    reader = reread(write)
    for array in ARRAYS:
        np.testing.assert_array_equal(np.load(reader), array)
    assert reader.read() == b""


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_numpy(save: Callable[..., None]) -> None:
    def write(writer: SnapshotWriter) -> None:
        writer.write(b"before")
        save(writer, prices=ARRAYS[0], sums=ARRAYS[1])

    reader = reread(write)
    assert reader.read(6) == b"before"
    with np.load(reader) as found:
        np.testing.assert_array_equal(found["sums"], ARRAYS[1])
        np.testing.assert_array_equal(found["prices"], ARRAYS[0])


def test_streams_and_files_of_arrow() -> None:
    table = pa.table({"item": range(1000), "name": [f"name {n}" for n in range(1000)]})

    def write_stream(writer: SnapshotWriter) -> None:
        with pa.ipc.new_stream(writer, table.schema) as stream:
            stream.write_table(table, max_chunksize=100)

    def write_file(writer: SnapshotWriter) -> None:
        with pa.ipc.new_file(writer, table.schema) as file:
            file.write_table(table, max_chunksize=100)

    assert pa.ipc.open_stream(reread(write_stream)).read_all() == table
    assert pa.ipc.open_file(reread(write_file)).read_all() == table
    assert pq.read_table(reread(lambda writer: pq.write_table(table, writer))) == table


def test_pickles_with_buffers_and_text() -> None:
    value = {"prices": np.arange(100_000), "text": "y" * 100_000}

    def write(writer: SnapshotWriter) -> None:
        pickle.dump(value, writer, protocol=5)
        text = io.TextIOWrapper(writer, "utf-8")
        text.write("a line\nand another")
        text.detach()

    reader = reread(write)
    found = pickle.load(reader)
    np.testing.assert_array_equal(found["prices"], value["prices"])
    assert found["text"] == value["text"]
    assert io.TextIOWrapper(reader, "utf-8").read().splitlines() == ["a line", "and another"]


@pytest.mark.parametrize("seed", range(20))
def test_it_is_read_as_another_file(seed: int) -> None:
    """Any reads and seeks give what they give of a file in memory."""
    dice = random.Random(seed)
    content = dice.randbytes(20_000)
    cuts = sorted(dice.choices(range(len(content)), k=40))
    messages = [content[a:b] for a, b in itertools.pairwise([0, *cuts, len(content)])]
    ours, model = SnapshotReader(iter(messages)), io.BytesIO(content)
    for _ in range(300):
        match dice.randrange(5):
            case 0:
                size = dice.randrange(3000)
                assert ours.read(size) == model.read(size)
            case 1:
                to = dice.randrange(len(content) + 1)
                assert ours.seek(to) == model.seek(to)
            case 2:
                by = max(-model.tell(), dice.randrange(-2000, len(content) - model.tell() + 1))
                assert ours.seek(by, io.SEEK_CUR) == model.seek(by, io.SEEK_CUR)
            case 3:
                back = -dice.randrange(len(content))
                assert ours.seek(back, io.SEEK_END) == model.seek(back, io.SEEK_END)
            case 4:
                peeked = ours.peek(dice.randrange(10))
                assert model.getvalue()[model.tell() :].startswith(peeked)
        assert ours.tell() == model.tell()


def test_what_is_far_behind_is_not_kept() -> None:
    reader = SnapshotReader(iter([bytes([n]) * 1024 for n in range(200)]))
    assert len(reader.read(150 * 1024)) == 150 * 1024
    assert reader.seek(-64 * 1024, io.SEEK_CUR) == 86 * 1024
    assert reader.read(1) == bytes([86])
    with pytest.raises(
        io.UnsupportedOperation, match=r"offset 0 of the snapshot is no longer kept"
    ):
        reader.seek(0)
    assert reader.tell() == 86 * 1024 + 1
    with pytest.raises(ValueError, match="offset -1 is before the start"):
        reader.seek(-1)
    with pytest.raises(ValueError, match="whence 3 is none of 0, 1 and 2"):
        reader.seek(0, 3)
    assert reader.seek(10**9) == 200 * 1024
    assert reader.read() == b""


def test_small_reads_of_a_long_message_copy_little() -> None:
    """Each of them copied all that was left of the message, which took minutes."""
    reader = SnapshotReader(iter([bytes(1 << 24)]))
    tracemalloc.start()
    try:
        for _ in range(100):
            assert len(reader.read(8)) == 8
            assert len(reader.peek()) < 1 << 20
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
