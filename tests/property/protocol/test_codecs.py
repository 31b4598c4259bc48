"""Any command and response survives its bytes; any bytes are read or refused, never worse."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.errors import ControlProtocolError, ErrorCode, MessageFormatError
from aerolog.transport.protocol import commands, responses
from aerolog.transport.protocol.layout import FieldKind

I16 = st.integers(-(2**15), 2**15 - 1)
U16 = st.integers(0, 2**16 - 1)
I32 = st.integers(-(2**31), 2**31 - 1)
I64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(max_codepoint=127), max_size=200)
VALUES = {
    FieldKind.I16: I16,
    FieldKind.U16: U16,
    FieldKind.I32: I32,
    FieldKind.I64: I64,
    FieldKind.STRING: TEXT,
    FieldKind.BYTES: st.binary(max_size=150),
    FieldKind.ADDRESS: st.binary(min_size=16, max_size=16),
}


def messages(table):
    """Messages of any type, built from their layouts."""
    return st.one_of(
        *(
            st.builds(message, **{field.name: VALUES[field.kind] for field in message.LAYOUT})
            for message in table.values()
        )
    )


@pytest.mark.parametrize("table", [commands.COMMANDS, responses.RESPONSES])
def test_tables_name_every_member(table):
    for message in table.values():
        assert {field.name for field in message.LAYOUT} == {field.name for field in fields(message)}


@given(messages(commands.COMMANDS), st.binary(max_size=8))
def test_commands_survive_their_bytes(command, behind):
    if isinstance(command, commands.RemovePublication):
        behind = b""
    data = commands.encode_command(command) + behind
    assert commands.decode_command(command.TYPE_ID, data) == command


@given(messages(responses.RESPONSES), st.binary(max_size=8))
def test_responses_survive_their_bytes(response, behind):
    data = responses.encode_response(response) + behind
    assert responses.decode_response(response.TYPE_ID, data) == response


def decode_or_refusal(decode, refusals, type_id, data):
    """What came out of a decoder: a message or one of the errors that it may raise."""
    try:
        return decode(type_id, data)
    except refusals as error:
        return error


@given(st.integers(-2, 0x20), st.binary(max_size=100))
def test_any_bytes_are_a_command_or_are_refused_with_a_code(type_id, data):
    found = decode_or_refusal(commands.decode_command, ControlProtocolError, type_id, data)
    if type_id not in commands.COMMANDS:
        assert found.code is ErrorCode.UNKNOWN_COMMAND_TYPE_ID
        assert found.message == f"command typeId={type_id}"
    elif isinstance(found, ControlProtocolError):
        assert found.code is ErrorCode.MALFORMED_COMMAND
        assert f"length={len(data)}" in found.message
    else:
        assert type_id == found.TYPE_ID
        assert len(data) >= 16


@given(st.integers(0x0F00, 0x0F10), st.binary(max_size=120))
def test_any_bytes_are_a_response_or_are_refused(type_id, data):
    found = decode_or_refusal(responses.decode_response, MessageFormatError, type_id, data)
    if type_id not in responses.RESPONSES:
        assert found is None
    elif isinstance(found, MessageFormatError):
        assert f"{len(data)} bytes" in str(found)
    else:
        assert type_id == found.TYPE_ID


@given(messages(commands.COMMANDS), st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_damaged_commands_are_read_or_refused(command, at, damage):
    data = bytearray(commands.encode_command(command))
    at %= len(data)
    data[at : at + len(damage)] = damage
    found = decode_or_refusal(
        commands.decode_command, ControlProtocolError, command.TYPE_ID, bytes(data)
    )
    assert isinstance(found, type(command)) or found.code is ErrorCode.MALFORMED_COMMAND
