"""Snapshots as files and as messages."""

from __future__ import annotations

import io
import pickle

import pytest

from aerolog.cluster.service import ClusteredService, SnapshotReader, SnapshotWriter


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
