"""How messages are printed."""

import base64
import io
import json
import os
import threading
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.tools.messages.message_output import MessageFormat, MessageWriter


@dataclass
class Row:
    data: bytes
    position: int = 64
    term_id: int = 7
    term_offset: int = 32
    session_id: int = -5
    stream_id: int = 1001
    flags: int = 0xC0
    reserved_value: int = -1


DESCRIPTOR = RecordingDescriptor(
    recording_id=3,
    start_timestamp=0,
    start_position=0,
    initial_term_id=7,
    segment_file_length=65536,
    term_buffer_length=65536,
    mtu_length=1408,
    session_id=99,
    stream_id=1002,
    stripped_channel="aeron:ipc",
    original_channel="aeron:ipc",
    source_identity="aeron:ipc",
)


def printed(form: MessageFormat, *rows: Row, recording: RecordingDescriptor | None = None) -> bytes:
    out = io.BytesIO()
    writer = MessageWriter(form, out=out)
    writer.recording = recording
    writer.write(rows, lambda row: row.data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (MessageFormat.TEXT, "a\u00e4\n\n".encode()),
        (MessageFormat.HEX, b"61c3a4\n\n"),
        (MessageFormat.RAW, "a\u00e4".encode()),
    ],
)
def test_text_and_hex_are_lines_and_raw_is_bare(form: MessageFormat, expected: bytes) -> None:
    assert printed(form, Row("a\u00e4".encode()), Row(b"")) == expected


def test_text_that_is_none_or_steers_is_escaped() -> None:
    row = Row(b"a\xff\x00\tb\r\n\x1b[2J")
    assert printed(MessageFormat.TEXT, row) == b"a\\xff\\x00\tb\\r\\n\\x1b[2J\n"


@given(st.binary(max_size=50))
def test_json_holds_any_payload(data: bytes) -> None:
    row = json.loads(printed(MessageFormat.JSON, Row(data)))

    if row["payload_encoding"] == "base64":
        assert base64.b64decode(row["payload"]) == data
    else:
        assert row["payload"].encode() == data


@given(st.text(max_size=50))
def test_json_is_one_line_a_message(text: str) -> None:
    assert printed(MessageFormat.JSON, Row(text.encode()), Row(b"")).count(b"\n") == 2


def test_json_of_a_recording_has_its_ids_and_a_time() -> None:
    live = json.loads(printed(MessageFormat.JSON, Row(b"x")))
    recorded = json.loads(printed(MessageFormat.JSON, Row(b"x"), recording=DESCRIPTOR))

    assert (live["session_id"], live["stream_id"]) == (-5, 1001)
    assert (recorded["session_id"], recorded["stream_id"]) == (99, 1002)
    assert recorded["recording_id"] == 3
    assert recorded["record_time"] is None
    assert set(recorded) - set(live) == {"recording_id", "record_time"}


def test_a_writer_counts_what_it_has_written() -> None:
    writer = MessageWriter(MessageFormat.RAW, out=io.BytesIO())
    assert writer.written.position is None

    writer.write([Row(b"ab"), Row(b"c", position=96)], lambda row: row.data)
    writer.write([], lambda row: row.data)

    written = writer.written
    assert (written.messages, written.payload_bytes, written.position) == (2, 3, 96)


class Part(io.RawIOBase):
    """Takes a part of what it is given, as a pipe does when its writer is stopped in between."""

    def __init__(self) -> None:
        self.got = b""

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        self.got += bytes(data[:7])
        return min(7, len(data))


def test_nothing_is_lost_in_a_raw_stream_that_takes_parts():
    out = Part()
    MessageWriter(MessageFormat.TEXT, out=out).write([Row(bytes([65]) * 30)], lambda row: row.data)
    assert out.got == b"A" * 30 + b"\n"


def test_a_raw_stream_that_does_not_block_is_waited_for():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    size = 1 << 20
    got = bytearray()

    def read() -> None:
        while data := os.read(reading, 1 << 16):
            got.extend(data)

    with os.fdopen(writing, "wb", buffering=0) as out:
        reader = threading.Thread(target=read)
        reader.start()
        MessageWriter(MessageFormat.RAW, out=out).write([Row(b"B" * size)], lambda row: row.data)
    reader.join()
    os.close(reading)
    assert bytes(got) == b"B" * size
