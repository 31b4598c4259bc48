"""Every message of the cluster: the reference's encoders make the same bytes of the same fields."""

from __future__ import annotations

from itertools import count

import pytest
from layout_values import values_of
from reference_encoders import as_reference_encodes

from aerolog.cluster import protocol as cp
from aerolog.cluster.protocol.node_state_messages import NODE_STATE_SCHEMA

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]


@pytest.mark.parametrize("entries", [0, 1, 3])
def test_all_messages_are_encoded_alike(entries: int) -> None:
    number = count(1 + entries)
    messages = [
        kind(**values_of(kind.LAYOUT, entries, number)) for _, kind in sorted(cp.MESSAGES.items())
    ]
    theirs = as_reference_encodes([message.LAYOUT.name for message in messages], messages)
    assert len(theirs) == len(messages) == 54
    for message, encoded in zip(messages, theirs, strict=True):
        assert message.encode() == encoded, message.LAYOUT.name
        assert cp.decode(encoded) == message


def test_the_head_of_a_mark_file_is_encoded_alike() -> None:
    layout = cp.MarkFileHeader.LAYOUT
    heads: list[cp.Message] = [
        cp.MarkFileHeader(**{**values_of(layout, 1, count(start)), "reserved": 0})
        for start in range(1, 8)
    ]
    theirs = as_reference_encodes(["mark.MarkFileHeader"] * len(heads), heads)
    assert [head.encode() for head in heads] == theirs
    assert [cp.MARK_SCHEMA.decode(encoded) for encoded in theirs] == heads


@pytest.mark.parametrize("entries", [0, 1, 3])
def test_messages_of_the_node_state_are_encoded_alike(entries: int) -> None:
    number = count(1 + entries)
    kinds = NODE_STATE_SCHEMA.messages.values()
    messages = [kind(**values_of(kind.LAYOUT, entries, number)) for kind in kinds]
    theirs = as_reference_encodes([f"node.{each.LAYOUT.name}" for each in messages], messages)
    assert len(theirs) == len(messages) == 4
    assert [each.encode() for each in messages] == theirs
    assert [NODE_STATE_SCHEMA.decode(encoded) for encoded in theirs] == messages
