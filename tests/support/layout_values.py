"""Values for each field of a message, by which a test tells the fields apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.transport.protocol.sbe import Layout

RANGES = {"b": 2**7, "B": 2**8, "i": 2**31, "q": 2**63}


def values_of(layout: Layout, entries: int, number: Iterator[int]) -> dict[str, Any]:
    """Values that differ from field to field, of both signs and with every byte in use."""
    values: dict[str, Any] = {}
    for field in layout.fixed:
        at = next(number)
        if field.enum is not None:
            values[field.name] = list(field.enum)[at % len(field.enum)]
        else:
            value = at * 0x9E37_79B9_7F4A_7C15 % RANGES[field.kind.code]
            values[field.name] = -value if at % 2 and field.kind.code != "B" else value
    for group in layout.groups:
        made = group.entry
        values[group.name] = tuple(
            made(**values_of(made.LAYOUT, entries, number)) for _ in range(entries)
        )
    for var in layout.var:
        text = f"{var.name} {next(number)}" * entries
        values[var.name] = text if var.is_text else text.encode() + bytes(range(256)) * entries
    return values
