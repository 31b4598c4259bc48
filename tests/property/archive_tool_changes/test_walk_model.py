"""The native walk beside a walk in Python, on bytes drawn at random; the tool on any folder."""

from __future__ import annotations

import io
import struct
import tempfile
from pathlib import Path

from folder_changes_run import change
from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.archive.format import segment_walk as sw
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.segment_window import SegmentWindow
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.reference.archive_tool.archive_tool import run as run_tool
from aerolog.tools.reference.tool_terminal import Terminal
from aerolog.tools.terminal.command_terminal import ChangeTerminal
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import RealFileSystem

HEADER = struct.Struct("<iBBHiiiiq")
CHECKSUM = checksum_for("CRC-32C")
TERM_LENGTH = 64 * 1024


def frames_of(lengths: list[int], damages: list[tuple[int, int]]) -> bytes:
    """Frames one behind the other, with checksums, then damages: place and byte."""
    assert CHECKSUM is not None
    data = bytearray()
    for length in lengths:
        body = bytes([length % 251]) * length
        body = body.ljust((length + 31) // 32 * 32, b"\0")
        value = CHECKSUM.compute(body)
        data += HEADER.pack(32 + length, 0, 0xC0, 1, len(data), value, 10, 7, 0) + body
    data += bytes(64)
    for place, byte in damages:
        data[place % len(data)] ^= byte
    return bytes(data)


def model(data: bytes) -> tuple[int, int]:
    """Status and offset that a verification comes to."""
    assert CHECKSUM is not None
    at = 0
    while at < len(data) or at == 0:
        if len(data) - at < 32:
            return sw.WALK_NO_HEADER, at
        length, _, _, kind, offset, stored, stream, term, _ = HEADER.unpack_from(data, at)
        if length == 0:
            return sw.WALK_END, at
        if (offset, stream, term) != (at, 10, 7):
            return sw.WALK_MISMATCH, at
        body = (length - 32 + 31) // 32 * 32
        body = body + 2**32 if length - 32 < -(2**31) else body
        if body < 0:
            return sw.WALK_NEGATIVE, at
        if body > sw.BODY_LENGTH_MAX:
            return sw.WALK_TOO_LONG, at
        if at + 32 + body > len(data):
            return sw.WALK_NO_BODY, at
        if kind == 1 and CHECKSUM.compute(data[at + 32 : at + 32 + body]) != stored:
            return sw.WALK_CHECKSUM, at
        at += (length + 31) // 32 * 32
    return sw.WALK_END, at


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 3000), max_size=15),
    st.lists(st.tuples(st.integers(0, 60_000), st.integers(1, 255)), max_size=3),
    st.sampled_from([4096, 8192, 65536]),
)
def test_the_walk_comes_as_far_as_the_model(
    lengths: list[int], damages: list[tuple[int, int]], room: int
) -> None:
    data = frames_of(lengths, damages)
    walk = sw.SegmentWalk(
        SegmentWindow(room),
        term_length=TERM_LENGTH,
        initial_term_id=7,
        stream_id=10,
        checksum=CHECKSUM,
    )
    with tempfile.NamedTemporaryFile() as made:
        made.write(data)
        made.flush()
        with RealFileSystem().open_data_file(made.name) as file:
            walk.walk(file, 0, 0, len(data))
    assert (walk.status, walk.offset) == model(data)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["catalog", "segment"]), st.integers(0, 4000), st.binary(max_size=9)
        ),
        max_size=6,
    ),
    st.sampled_from(
        ["verify", "verify -a -checksum CRC-32", "compact", "delete-orphaned-segments"]
    ),
    st.sampled_from(["checksum CRC-32 --all", "compact", "delete-orphaned"]),
)
def test_any_folder_is_told_about_and_a_dry_run_leaves_it(
    damages: list[tuple[str, int, bytes]], command: str, own: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        builder = RecordingBuilder(stream_id=10)
        for _ in range(5):
            builder.add(bytes(700))
        builder.write(folder)
        for where, at, data in damages:
            path = folder / ("archive.catalog" if where == "catalog" else "0-0.rec")
            content = bytearray(path.read_bytes())
            content[at % 400 : at % 400 + len(data)] = data
            path.write_bytes(content)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        said = io.StringIO()
        arguments = [name, *command.split()]
        refusal = ""
        try:
            code = change(folder, own, ChangeTerminal(dry_run=True, out=said, err=said))
        except AerologError as error:
            code, refusal = 1, str(error)
        assert code in {0, 1}
        assert "\n" not in refusal
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        source = io.StringIO("n\n" * 10)
        assert run_tool(arguments, Terminal(source=source, out=said, err=said)) in {0, 1, 255}
