"""Codecs: any message survives the way there and back, and no bytes do harm."""

from __future__ import annotations

import struct
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sbe_values import messages_in

from aerolog.archive import protocol as ap
from aerolog.transport.errors import MessageFormatError
from aerolog.transport.protocol.sbe import VAR_LENGTH_MAX

ANY = messages_in(ap.SCHEMA)


@given(ANY)
def test_a_message_survives_the_round_trip(message: ap.Message) -> None:
    encoded = message.encode()
    assert ap.decode(encoded) == message
    assert type(message).decode(encoded + b"whatever follows") == message
    assert message.check_enums() is message


@given(ANY, st.data())
def test_a_cut_message_is_refused(message: ap.Message, data: st.DataObject) -> None:
    encoded = message.encode()
    cut = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(MessageFormatError):
        ap.decode(encoded[:cut])


@given(st.binary(max_size=200))
def test_any_bytes_give_a_message_nothing_or_a_typed_error(data: bytes) -> None:
    try:
        message = ap.decode(data)
    except MessageFormatError:
        return
    assert message is None or isinstance(message, ap.Message)


@given(
    st.sampled_from(sorted(ap.MESSAGES)), st.binary(max_size=120), st.integers(0, 200),
    st.integers(0, 20),
)  # fmt: skip
def test_any_body_behind_a_sound_header(
    template_id: int, body: bytes, block_length: int, version: int
) -> None:
    header = struct.pack("<HHHH", block_length, template_id, ap.SCHEMA_ID, version)
    try:
        message = ap.decode(header + body)
    except MessageFormatError:
        return
    assert message is not None
    # What was read can be written: nothing out of range was made up.
    assert ap.decode(message.encode()) == message


@given(ANY, st.integers(1, 64))
def test_a_longer_block_of_a_newer_schema_is_read(message: ap.Message, extra: int) -> None:
    encoded = bytearray(message.encode())
    length = message.LAYOUT.block_length
    struct.pack_into("<HHHH", encoded, 0, length + extra, message.LAYOUT.template_id, 101, 99)
    encoded[8 + length : 8 + length] = b"\xee" * extra
    assert ap.decode(bytes(encoded)) == message


def test_every_message_has_the_schemas_block_length() -> None:
    lengths = {t: c.LAYOUT.block_length for t, c in ap.MESSAGES.items()}
    assert len(lengths) == 50
    some = {1: 32, 6: 56, 18: 60, 20: 32, 21: 32, 22: 80, 24: 44, 58: 16, 66: 68, 106: 8}
    assert {t: lengths[t] for t in some} == some


def test_fields_are_in_the_schemas_order_without_gaps() -> None:
    for message_class in ap.MESSAGES.values():
        names = [f.name for f in fields(message_class)]  # type: ignore[arg-type]
        layout = message_class.LAYOUT
        assert names == [f.name for f in layout.fixed] + [v.name for v in layout.var]
        if layout.template_id not in {20, 21}:
            ends = [0] + [f.end for f in layout.fixed]
            assert [f.offset for f in layout.fixed] == ends[:-1]


def test_text_outside_ascii_is_written_as_the_reference_writes_it() -> None:
    request = ap.StopRecordingRequest(
        control_session_id=1, correlation_id=2, stream_id=3, channel="a\u00e9b\U0001f600c"
    )
    decoded = ap.decode(request.encode())
    assert isinstance(decoded, ap.StopRecordingRequest)
    assert decoded.channel == "a?b??c"


def test_a_value_that_does_not_fit_is_refused_by_name() -> None:
    request = ap.StopReplayRequest(control_session_id=1, correlation_id=2, replay_session_id=2**63)
    with pytest.raises(MessageFormatError, match="StopReplayRequest cannot be encoded"):
        request.encode()


def test_a_hostile_length_is_refused_before_it_is_used() -> None:
    encoded = ap.StopRecordingRequest(
        control_session_id=1, correlation_id=2, stream_id=3, channel="abc"
    ).encode()
    hostile = encoded[:-7] + struct.pack("<I", VAR_LENGTH_MAX) + encoded[-3:]
    with pytest.raises(MessageFormatError, match="length 1073741824, but 3 bytes are left"):
        ap.decode(hostile)


@pytest.mark.parametrize(
    ("numbers", "packed", "text"),
    [((1, 12, 0), 68608, "1.12.0"), ((255, 1, 2), 16711938, "255.1.2")],
)
def test_semantic_versions(numbers: tuple[int, int, int], packed: int, text: str) -> None:
    assert ap.semantic_version(*numbers) == packed
    assert ap.semantic_version_text(packed) == text
    assert ap.semantic_version_major(packed) == numbers[0]


@pytest.mark.parametrize("numbers", [(0, 0, 0), (256, 0, 0), (0, -1, 0)])
def test_what_is_no_semantic_version_is_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="not a semantic version"):
        ap.semantic_version(*numbers)
