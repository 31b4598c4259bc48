"""Codes that a client hands to its user (spec client 9 and 16)."""

from __future__ import annotations

from enum import IntEnum


class OfferStatus(IntEnum):
    """Why an offer was refused; an accepted one returns its position, always positive.

    Test with ``result > 0``: every member is true as an integer.
    """

    NOT_CONNECTED = -1
    BACK_PRESSURED = -2
    ADMIN_ACTION = -3
    CLOSED = -4
    MAX_POSITION_EXCEEDED = -5

    @classmethod
    def name_of(cls, result: int) -> str:
        """The name of a result: ``NONE`` for a position, ``UNKNOWN`` for any other number."""
        if result >= 0:
            return "NONE"
        return cls(result).name if result in cls._value2member_map_ else "UNKNOWN"
