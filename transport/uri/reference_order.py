"""The order in which the reference writes the parameters of a parsed channel (spec channel-uri 4).

The reference keeps them in an open-addressing hash table and writes them in the table's order, so
that the order depends on the keys and the sequence of their insertion. No program needs the same
bytes, but they appear in error texts, and an operator who compares the responses of two drivers
should see no difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_INITIAL_CAPACITY = 8
_LOAD_FACTOR = 0.65
_MULTIPLIER = 0x119DE1F3
_MASK_32 = 0xFFFFFFFF


def render(prefix: str, media: str, params: Mapping[str, str], keys: Iterable[str]) -> str:
    """Writes a channel with its parameters in the order of ``keys``."""
    head = f"{prefix}:aeron:{media}" if prefix else f"aeron:{media}"
    if not params:
        return head
    return head + "?" + "|".join(f"{key}={params[key]}" for key in keys)


def reference_order(keys: Iterable[str]) -> list[str]:
    """Sort keys, given in their order of insertion, into the order of the reference's table."""
    slots: list[str | None] = [None] * _INITIAL_CAPACITY
    for size, key in enumerate(keys, 1):
        _insert(slots, key)
        if size > int(len(slots) * _LOAD_FACTOR):
            grown: list[str | None] = [None] * (2 * len(slots))
            for present in slots:
                if present is not None:
                    _insert(grown, present)
            slots = grown
    # The order is downwards; it starts below the lowest free slot if a chain wraps around the end.
    start = len(slots) if slots[-1] is None else slots.index(None)
    walk = (slots[(start + step) % len(slots)] for step in range(len(slots) - 1, -1, -1))
    return [key for key in walk if key is not None]


def _insert(slots: list[str | None], key: str) -> None:
    mask = 2 * len(slots) - 1
    mixed = _mix(_string_hash(key))
    slot = (((mixed << 1) - (mixed << 8)) & mask) >> 1
    while slots[slot] is not None:
        slot = (slot + 1) % len(slots)
    slots[slot] = key


def _string_hash(text: str) -> int:
    value = 0
    encoded = text.encode("utf-16-le", "surrogatepass")
    for index in range(0, len(encoded), 2):
        value = (31 * value + int.from_bytes(encoded[index : index + 2], "little")) & _MASK_32
    return value


def _mix(value: int) -> int:
    value = (((value >> 16) ^ value) * _MULTIPLIER) & _MASK_32
    value = (((value >> 16) ^ value) * _MULTIPLIER) & _MASK_32
    return (value >> 16) ^ value
