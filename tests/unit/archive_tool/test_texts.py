"""Lines of text: the native writer against the plain one, and both against the tables."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING

import pytest
from archive_tool_runs import we_say
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerolog.archive.protocol import SCHEMA_ID, SCHEMA_VERSION
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.archive_files import message_text
from aerolog.tools.archive_files.entry_texts import DescriptorWriter, walk_entries
from aerolog.tools.command_line.java_error import JavaError, parse_long
from aerolog.tools.reference.tool_terminal import Terminal
from aerolog.tools.terminal.hexdump import hex_box

if TYPE_CHECKING:
    from pathlib import Path

_I64 = st.integers(-(2**63), 2**63 - 1)
_TEXT = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40)
BOUNDED = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def entry(channel: str, source: str, stamp: int, *, state: int = 1) -> bytes:
    recording = RecordingBuilder(session_id=-7).descriptor(channel=channel)
    body = recording.with_changes(source_identity=source, start_timestamp=stamp).encode()
    fill = -(32 + len(body)) % 64
    return struct.pack("<iii20x", len(body) + fill, state, 0) + body + bytes(fill)


def test_ids_of_the_schema_are_the_protocols() -> None:
    assert (message_text.SCHEMA_ID, message_text.SCHEMA_VERSION) == (SCHEMA_ID, SCHEMA_VERSION)


@given(st.lists(st.tuples(_TEXT, _TEXT, _I64), min_size=1, max_size=8))
@BOUNDED
def test_the_native_writer_writes_what_the_plain_one_writes(
    wanted: list[tuple[str, str, int]],
) -> None:
    entries = [entry(*one) for one in wanted]
    data = b"".join(entries)
    offsets: list[int] = []
    lengths: list[int] = []
    # Ids are all 0: only one VALID entry may have it, the walk stops at the second.
    at = 0
    for one in entries:
        offsets.append(at)
        lengths.append(len(one))
        at += len(one)
    text, index = message_text.descriptor_writer("|VALID\n").write(
        data, offsets, lengths, 0, 1 << 20
    )
    assert index == len(entries)
    assert text.decode() == "".join(
        f"{message_text.descriptor_text(one)}|VALID\n" for one in entries
    )


def test_the_native_writer_stops_where_something_is_out_of_the_ordinary() -> None:
    sound = entry("aeron:ipc", "x", 1)
    long_string = bytearray(sound)
    struct.pack_into("<i", long_string, 112, len(sound))
    strange = [entry("a", "b", 1, state=2), entry("a", "b", 1, state=9), bytes(long_string)]
    strange += [sound.replace(b"ipc", odd * 3) for odd in (b"\xff", b"\n", b"\x1f", b"\x7f")]
    for other in strange:
        data = sound + other
        got = message_text.descriptor_writer("\n").write(
            data, [0, len(sound)], [len(sound), len(other)], 0, 1 << 20
        )
        assert got == (f"{message_text.descriptor_text(sound)}\n".encode(), 1)
    assert message_text.descriptor_writer("\n").write(sound, [0], [len(sound)], 0, 16) == (b"", 0)
    assert message_text.descriptor_writer("\n").write(sound, [64], [len(sound)], 0, 1 << 20) == (
        b"",
        0,
    )


def test_a_layout_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="out of the block"):
        DescriptorWriter([(b"a=", 76, 8)], [b"", b"", b""], b"", 80)
    with pytest.raises(ValueError, match="other layout"):
        DescriptorWriter([], [b""], b"", 80)


@given(st.binary(max_size=400), st.integers(-64, 500), st.sampled_from([0, 3, 32, 64, -64, 1024]))
@BOUNDED
def test_no_bytes_lead_the_walk_out_of_them(data: bytes, at: int, alignment: int) -> None:
    offsets: list[int] = []
    lengths: list[int] = []
    walk_entries(data, at, alignment, -1, offsets, lengths)
    assert all(
        one >= 0 and one + length <= len(data) for one, length in zip(offsets, lengths, strict=True)
    )


@given(st.data())
@BOUNDED
def test_the_classic_form_ends_in_good_order_on_any_bytes(
    folder: Path, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(["archive.catalog", "1-0.rec", "3-0.rec"]))
    path = folder / name
    sound = path.read_bytes()
    content = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, min(len(content), 4096) - 1))
        content[at] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        for command in ("describe", "describe-all", "describe 3", "count-entries", "dump 3"):
            said = we_say(folder, *command.split())
            assert said.code in (0, 1)
            assert said.err.count("\n") == said.code
    finally:
        path.write_bytes(sound)


@pytest.mark.parametrize(
    "text", ["", "-", "+", "1 ", " 1", "0x1", "1e3", "9223372036854775808", "٣"]
)
def test_what_is_no_number_is_refused_in_the_references_words(text: str) -> None:
    with pytest.raises(JavaError, match="NumberFormatException: For input string"):
        parse_long(text)


def test_numbers() -> None:
    assert [parse_long(one) for one in ("-3", "+5", "9223372036854775807")] == [-3, 5, 2**63 - 1]


@pytest.mark.parametrize(
    ("answer", "yes"),
    [("\n", True), ("y\n", True), ("YES\r\n", True), ("no\n", False), ("yo", False)],
)
def test_answers(answer: str, yes: bool) -> None:
    out = io.StringIO()
    assert Terminal(source=io.StringIO(answer), out=out).ask("Continue? (y/n)") is yes
    assert out.getvalue() == "\nContinue? (y/n): "


def test_no_answer_ends_the_tool() -> None:
    with pytest.raises(JavaError, match="No line found"):
        Terminal(source=io.StringIO(), out=io.StringIO()).ask("Continue?")


def test_a_box_of_bytes() -> None:
    assert hex_box(b"") == ""
    last = hex_box(bytes(range(0x1E, 0x30))).splitlines()[-2:]
    assert (
        last[0] == "|00000010| 2e 2f                                           |./              |"
    )
