"""Messages of the cluster, encoded by the reference's generated encoders."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import peer
from layout_values import values_of

from aerolog.cluster import protocol as cp
from aerolog.cluster.protocol.node_state_messages import NODE_STATE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.transport.protocol.sbe import Layout

FIRST_VALUE = 2  # of the values in the messages of `one_of_each`


def one_of_each() -> dict[str, cp.Message]:
    """A message of each kind of the cluster, by its name in the package of the encoders.

    No two fields have the same value, and each group has one entry.
    """
    number = count(FIRST_VALUE)
    kinds = [("", kind) for _, kind in sorted(cp.MESSAGES.items())]
    kinds += [("node.", kind) for kind in NODE_STATE_SCHEMA.messages.values()]
    kinds.append(("mark.", cp.MarkFileHeader))
    found = {}
    for prefix, kind in kinds:
        values = values_of(kind.LAYOUT, 1, number)
        if "reserved" in values:
            values["reserved"] = 0
        found[f"{prefix}{kind.LAYOUT.name}"] = kind(**values)
    return found


def as_reference_encodes(names: list[str], messages: list[cp.Message]) -> list[bytes]:
    """The bytes that the reference makes of the fields of messages."""
    lines = [
        " ".join([name, *_words_of(message.LAYOUT, message)])
        for name, message in zip(names, messages, strict=True)
    ]
    encoded = peer.java_tool("ClusterMessages", stdin="\n".join(lines) + "\n").split()
    return [bytes.fromhex(line) for line in encoded]


def _words_of(layout: Layout, record: object) -> Iterator[str]:
    """The fields of a message by name, as the Java program takes them."""
    for field in layout.fixed:
        if field.name == "reserved":
            continue
        yield f"f {_camel(field.name)} {int(getattr(record, field.name))}"
    for group in layout.groups:
        entries = getattr(record, group.name)
        yield f"g {_camel(group.name)} {len(entries)}"
        for entry in entries:
            yield "n"
            yield from _words_of(group.entry.LAYOUT, entry)
        yield "m"
    for var in layout.var:
        value = getattr(record, var.name)
        yield f"v {_camel(var.name)} {(value.encode() if var.is_text else value).hex()}"


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
