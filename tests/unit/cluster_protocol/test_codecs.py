"""The cluster's messages: they are those of the spec, and no bytes do harm."""

from __future__ import annotations

import re
import struct
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sbe_values import messages_in

from aerolog.cluster import protocol as cp
from aerolog.cluster.protocol.node_state_messages import NODE_STATE_SCHEMA
from aerolog.transport.errors import MessageFormatError
from aerolog.transport.protocol.sbe import NULL_INT64

SPEC = Path(__file__).parents[3] / "docs" / "spec" / "cluster.md"
ROW = re.compile(r"\| (\d+) \| (\w+) \| (\d+) \| (.*?) \| (.*) \|$", re.MULTILINE)
FIELD = re.compile(r"(\d+):`(\w+)`:(\w+)(?: \(0 = null\))?(?: \(since v(\d+))?")
CODES = {"int64": "q", "int32": "i", "uint8": "B"}
ANY = messages_in(cp.SCHEMA)


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)


def spec_rows() -> dict[int, tuple[str, int, list[tuple[str, ...]], str]]:
    text = SPEC.read_text()
    tables = text[text.index("## 7. Message tables") : text.index("## 8. Ingress and egress")]
    return {
        int(number): (name[0].upper() + name[1:], int(block), FIELD.findall(fixed), behind)
        for number, name, block, fixed, behind in ROW.findall(tables)
    }


def test_each_message_is_as_the_spec_has_it() -> None:
    rows = spec_rows()
    assert len(rows) == 54
    assert sorted(rows) == sorted(cp.MESSAGES)
    for template_id, (name, block_length, spec_fields, behind) in rows.items():
        layout = cp.MESSAGES[template_id].LAYOUT
        assert (layout.name, layout.block_length) == (name, block_length)
        ours = [
            (f.offset, f.name, f.enum.__name__ if f.enum else f.kind.code, f.since)
            for f in layout.fixed
        ]
        assert ours == [
            (int(offset), snake(field), CODES.get(kind, kind), int(since or 0))
            for offset, field, kind, since in spec_fields
        ]
        own = re.sub(r"\(block [^)]*\)", "", behind)
        names = [group.name for group in layout.groups] + [var.name for var in layout.var]
        assert names == [snake(found) for found in re.findall(r"`(\w+)`", own)]
        for group, entry in zip(
            layout.groups, re.findall(r"\(block (\d+): ([^)]*)\)", behind), strict=True
        ):
            described = re.findall(r"`(\w+)`", entry[1])
            entry_layout = group.entry.LAYOUT
            assert entry_layout.block_length == int(entry[0])
            assert [f.name for f in fields(group.entry)] == [  # type: ignore[arg-type]
                snake(found) for found in described
            ]


@given(ANY)
def test_a_message_survives_the_round_trip(message: cp.Message) -> None:
    encoded = message.encode()
    assert cp.decode(encoded) == message
    assert type(message).decode(encoded + b"whatever follows") == message


@given(ANY, st.data())
def test_a_cut_message_is_refused(message: cp.Message, data: st.DataObject) -> None:
    encoded = message.encode()
    cut = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(MessageFormatError):
        cp.decode(encoded[:cut])


@given(
    st.sampled_from(sorted(cp.MESSAGES)), st.binary(max_size=120), st.integers(0, 200),
    st.integers(0, 20),
)  # fmt: skip
def test_any_body_behind_a_sound_header(
    template_id: int, body: bytes, block_length: int, version: int
) -> None:
    header = struct.pack("<HHHH", block_length, template_id, cp.SCHEMA_ID, version)
    try:
        message = cp.decode(header + body)
    except MessageFormatError:
        return
    assert message is not None
    assert cp.decode(message.encode()) == message


@given(ANY, st.integers(0, cp.SCHEMA_VERSION))
def test_a_message_of_an_older_version_lacks_what_came_later(
    message: cp.Message, version: int
) -> None:
    layout = message.LAYOUT
    read = cp.decode(message.encode(version))
    for field in layout.fixed:
        expected = getattr(message, field.name) if field.since <= version else field.kind.null
        assert getattr(read, field.name) == expected
    for group in layout.groups:
        assert getattr(read, group.name) == getattr(message, group.name)


@given(ANY, st.integers(1, 64))
def test_a_longer_block_of_a_newer_schema_is_read(message: cp.Message, extra: int) -> None:
    encoded = bytearray(message.encode())
    length = message.LAYOUT.block_length
    struct.pack_into("<HHHH", encoded, 0, length + extra, message.LAYOUT.template_id, 111, 99)
    encoded[8 + length : 8 + length] = b"\xee" * extra
    assert cp.decode(bytes(encoded)) == message


def test_a_client_of_an_old_version_is_told_nothing_of_heartbeats() -> None:
    event = cp.SessionEvent(
        cluster_session_id=1, correlation_id=2, leadership_term_id=3, leader_member_id=0,
        code=cp.EventCode.OK, leader_heartbeat_timeout_ns=10**10,
    )  # fmt: skip
    read = cp.decode(event.encode(version=6))
    assert isinstance(read, cp.SessionEvent)
    assert read.leader_heartbeat_timeout_ns == NULL_INT64
    assert read.version == cp.CLIENT_PROTOCOL_VERSION


@pytest.mark.parametrize("block_length", [0, 1, 44, 65_535])
def test_a_hostile_group_is_refused_before_its_entries_are_made(block_length: int) -> None:
    head = cp.SnapshotRecordings(correlation_id=1, snapshots=(), member_endpoints="").encode()[:16]
    with pytest.raises(MessageFormatError, match="65535 entries of"):
        cp.decode(head + struct.pack("<HH", block_length, 65_535) + b"\0" * 100)


def test_an_entry_that_does_not_fit_is_refused_by_name() -> None:
    entry = cp.SnapshotEntry(
        recording_id=2**63, leadership_term_id=0, term_base_log_position=0, log_position=0,
        timestamp=0, service_id=0,
    )  # fmt: skip
    message = cp.SnapshotRecordings(correlation_id=1, snapshots=(entry,), member_endpoints="")
    with pytest.raises(MessageFormatError, match="SnapshotEntry cannot be encoded"):
        message.encode()


@given(messages_in(cp.MARK_SCHEMA), st.data())
def test_the_head_of_a_mark_file_is_read_whole_or_refused(
    head: cp.Message, data: st.DataObject
) -> None:
    encoded = head.encode()
    assert head.LAYOUT.block_length == 128
    assert cp.MARK_SCHEMA.decode(encoded) == head
    with pytest.raises(MessageFormatError):
        cp.MARK_SCHEMA.decode(encoded[: data.draw(st.integers(0, len(encoded) - 1))])


@given(messages_in(NODE_STATE_SCHEMA), st.data())
def test_messages_of_the_node_state_are_read_whole_or_refused(
    message: cp.Message, data: st.DataObject
) -> None:
    encoded = message.encode()
    assert int.from_bytes(encoded[8:12], "little") == len(encoded)
    assert NODE_STATE_SCHEMA.decode(encoded) == message
    with pytest.raises(MessageFormatError):
        NODE_STATE_SCHEMA.decode(encoded[: data.draw(st.integers(0, len(encoded) - 1))])
