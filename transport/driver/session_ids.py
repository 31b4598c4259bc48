"""Session ids that the driver hands out (spec cnc-and-commands 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

_INT32_MODULUS = 1 << 32
_INT32_MAX = (1 << 31) - 1


def wrap_int32(value: int) -> int:
    """The signed 32-bit number with the same low 32 bits."""
    value &= _INT32_MODULUS - 1
    return value - _INT32_MODULUS if value > _INT32_MAX else value


class SessionIds:
    """A sequence of int32 ids that skips a reserved range and those in use.

    Args:
        start: first id to consider, any int32.
        reserved_low: lowest id that is never handed out.
        reserved_high: highest id that is never handed out.
    """

    def __init__(self, start: int, reserved_low: int, reserved_high: int) -> None:
        self._next = wrap_int32(start)
        self._reserved_low = reserved_low
        self._reserved_high = reserved_high

    def take(self, in_use: Container[int]) -> int:
        """The next id that is neither reserved nor in use; the sequence moves past it."""
        while True:
            session_id = self._next
            if self._reserved_low <= session_id <= self._reserved_high:
                session_id = wrap_int32(self._reserved_high + 1)
            self._next = wrap_int32(session_id + 1)
            if session_id not in in_use:
                return session_id
