"""What a table of counter types has: the number, the label, the key's layout and the meaning."""

from __future__ import annotations

import struct
from enum import IntEnum
from itertools import takewhile
from typing import Any, Final, Self

from aerolog.transport.memory.counters import MAX_KEY_LENGTH

_FORMATS: Final = {"i32": "i", "i64": "q"}


class KeyLayout:
    """The layout of a counter's key: numbers, and a text that the last of them measures.

    Attributes:
        fields: type and name of each field in their order, as ``i64 registration id``.
        numbers: the numbers before the text; all of them, for a key without a text.
        text_room: how long the text may be, bytes; 0 for a key without one.
    """

    def __init__(self, *fields: str) -> None:
        self.fields = fields
        kinds = [field.partition(" ")[0] for field in fields]
        leading = list(takewhile(_FORMATS.__contains__, kinds))
        self.numbers = struct.Struct("<" + "".join(_FORMATS[kind] for kind in leading))
        behind = "".join(_FORMATS[kind] for kind in kinds[len(leading) + 1 :])
        has_text = len(leading) < len(kinds)
        room = MAX_KEY_LENGTH - self.numbers.size - struct.calcsize("<" + behind)
        self.text_room = room if has_text else 0

    def pack(self, *numbers: int, text: str) -> bytes:
        """Return numbers, the length of a text, and the text as far as there is room for it."""
        data = text.encode("ascii", "replace")[: self.text_room]
        return self.numbers.pack(*numbers, len(data)) + data

    def unpack(self, key: bytes) -> tuple[Any, ...]:
        """Return the numbers before the length, and the text; a length out of bounds is cut."""
        *numbers, length = self.numbers.unpack_from(key)
        start = self.numbers.size
        text = key[start : start + max(0, length)].decode("ascii", "replace")
        return (*numbers, text)


NO_KEY: Final = KeyLayout()


class CounterKind(IntEnum):
    """Base of the tables of counter types. A member is the type id that counters have.

    Attributes:
        label: the beginning of the label; fields in braces differ by counter.
        key: the layout of the key.
        meaning: what the value is, in a sentence without its full stop.
    """

    label: str
    key: KeyLayout
    meaning: str

    def __new__(
        cls, number: int, label: str = "", key: KeyLayout = NO_KEY, meaning: str = ""
    ) -> Self:
        """Make a member of a table; a call with the number alone returns the one that is there."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.label = label
        member.key = key
        member.meaning = meaning
        return member
