"""Every captured control message decodes to its recorded fields and encodes to the same bytes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from golden_data import control_messages

from aerolog.archive.protocol import MESSAGES, MessageHeader, ReplayRequest, decode
from aerolog.transport.errors import MessageFormatError

UNKNOWN_TEMPLATE_SEQ = 117
FOREIGN_SCHEMA_SEQ = 118


MESSAGES_CAPTURED = control_messages()
VALID = [m for m in MESSAGES_CAPTURED if m["seq"] not in {UNKNOWN_TEMPLATE_SEQ, FOREIGN_SCHEMA_SEQ}]


def captured(seq: int) -> bytes:
    return bytes.fromhex(next(m["hex"] for m in MESSAGES_CAPTURED if m["seq"] == seq))


def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", lambda found: "_" + found.group(1).lower(), name)


def plain(value: Any) -> Any:
    """The value of a transcript field as our messages hold it."""
    if not isinstance(value, dict):
        return value
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    return value["value"]


def test_the_transcript_has_every_message_but_the_two_of_the_catalog() -> None:
    seen = {m["header"]["templateId"] for m in VALID}
    assert set(MESSAGES) - seen == {20, 21}
    assert len(VALID) == 694


@pytest.mark.parametrize("entry", VALID, ids=lambda m: f"{m['seq']}-{m['name']}")
def test_message_round_trips_byte_exactly(entry: dict[str, Any]) -> None:
    raw = bytes.fromhex(entry["hex"])
    message = decode(raw)
    assert message is not None
    assert type(message).__name__ == entry["name"]
    for name, value in entry["fields"].items():
        expected = "" if value is None else plain(value)
        assert getattr(message, snake(name)) == expected, name
    encoded = message.encode(entry["header"]["version"])
    assert encoded + bytes(entry["trailing_zero_bytes"]) == raw


def test_the_whole_file_comes_back_but_for_its_two_invalid_messages() -> None:
    refused = []
    for entry in MESSAGES_CAPTURED:
        raw = bytes.fromhex(entry["hex"])
        try:
            message = decode(raw)
        except MessageFormatError:
            message = None
        if message is None:
            refused.append(entry["seq"])
            continue
        version = MessageHeader.read(raw).version
        assert message.encode(version) + bytes(entry["trailing_zero_bytes"]) == raw
    assert len(MESSAGES_CAPTURED) == 696
    assert refused == [UNKNOWN_TEMPLATE_SEQ, FOREIGN_SCHEMA_SEQ]


def test_unknown_template_is_none() -> None:
    assert decode(captured(UNKNOWN_TEMPLATE_SEQ)) is None


def test_foreign_schema_is_refused() -> None:
    with pytest.raises(MessageFormatError, match="expected schemaId=101, actual=102"):
        decode(captured(FOREIGN_SCHEMA_SEQ))


@pytest.mark.parametrize("entry", VALID[::7], ids=lambda m: f"{m['seq']}-{m['name']}")
def test_every_truncation_is_refused_or_shorter_than_nothing(entry: dict[str, Any]) -> None:
    raw = bytes.fromhex(entry["hex"])
    whole = len(raw) - entry["trailing_zero_bytes"]
    header = MessageHeader.read(raw)
    for length in range(whole):
        if length >= 8 and header.template_id in MESSAGES:
            with pytest.raises(MessageFormatError):
                decode(raw[:length])


def test_a_value_that_no_enumeration_lists_is_kept_and_found_by_the_check() -> None:
    message = decode(captured(119))
    assert message is not None
    with pytest.raises(MessageFormatError, match="Unknown value: 9"):
        message.check_enums()


def test_absent_fields_are_null() -> None:
    replay = decode(captured(553))
    assert isinstance(replay, ReplayRequest)
    assert (replay.file_io_max_length, replay.replay_token) == (-(2**31), -(2**63))
