"""Codes of events, and the parsing of the properties that enable them.

A code has a component's number in its upper half and an event's number in its lower half; names and
numbers are the reference's.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

C = TypeVar("C", bound=IntEnum)

DRIVER: Final = 0
ARCHIVE: Final = 1
CLUSTER: Final = 2
_COMPONENT_SHIFT: Final = 16
_EVENT_MASK: Final = 0xFFFF
_ALL: Final = "all"


class DriverEventCode(IntEnum):
    """Events that a driver can log."""

    FRAME_IN = 1
    FRAME_OUT = 2
    CMD_IN_ADD_PUBLICATION = 3
    CMD_IN_REMOVE_PUBLICATION = 4
    CMD_IN_ADD_SUBSCRIPTION = 5
    CMD_IN_REMOVE_SUBSCRIPTION = 6
    CMD_OUT_PUBLICATION_READY = 7
    CMD_OUT_AVAILABLE_IMAGE = 8
    CMD_OUT_ON_OPERATION_SUCCESS = 12
    CMD_IN_KEEPALIVE_CLIENT = 13
    REMOVE_PUBLICATION_CLEANUP = 14
    REMOVE_SUBSCRIPTION_CLEANUP = 15
    REMOVE_IMAGE_CLEANUP = 16
    CMD_OUT_ON_UNAVAILABLE_IMAGE = 17
    SEND_CHANNEL_CREATION = 23
    RECEIVE_CHANNEL_CREATION = 24
    SEND_CHANNEL_CLOSE = 25
    RECEIVE_CHANNEL_CLOSE = 26
    CMD_IN_ADD_DESTINATION = 30
    CMD_IN_REMOVE_DESTINATION = 31
    CMD_IN_ADD_EXCLUSIVE_PUBLICATION = 32
    CMD_OUT_EXCLUSIVE_PUBLICATION_READY = 33
    CMD_OUT_ERROR = 34
    CMD_IN_ADD_COUNTER = 35
    CMD_IN_REMOVE_COUNTER = 36
    CMD_OUT_SUBSCRIPTION_READY = 37
    CMD_OUT_COUNTER_READY = 38
    CMD_OUT_ON_UNAVAILABLE_COUNTER = 39
    CMD_IN_CLIENT_CLOSE = 40
    CMD_IN_ADD_RCV_DESTINATION = 41
    CMD_IN_REMOVE_RCV_DESTINATION = 42
    CMD_OUT_ON_CLIENT_TIMEOUT = 43
    CMD_IN_TERMINATE_DRIVER = 44
    UNTETHERED_SUBSCRIPTION_STATE_CHANGE = 45
    NAME_RESOLUTION_NEIGHBOR_ADDED = 46
    NAME_RESOLUTION_NEIGHBOR_REMOVED = 47
    FLOW_CONTROL_RECEIVER_ADDED = 48
    FLOW_CONTROL_RECEIVER_REMOVED = 49
    NAME_RESOLUTION_RESOLVE = 50
    TEXT_DATA = 51
    NAME_RESOLUTION_LOOKUP = 52
    NAME_RESOLUTION_HOST_NAME = 53
    NAK_SENT = 54
    RESEND = 55
    CMD_IN_REMOVE_DESTINATION_BY_ID = 56
    CMD_IN_REJECT_IMAGE = 57
    NAK_RECEIVED = 58
    PUBLICATION_REVOKE = 59
    PUBLICATION_IMAGE_REVOKE = 60


#: ``admin`` stands for all events except those of frames.
DRIVER_GROUPS: Final[Mapping[str, frozenset[DriverEventCode]]] = {
    "admin": frozenset(DriverEventCode) - {DriverEventCode.FRAME_IN, DriverEventCode.FRAME_OUT},
}


def full_code(component: int, event: int) -> int:
    """Return the code of a component's event, which is above 0."""
    return component << _COMPONENT_SHIFT | event


def split_code(code: int) -> tuple[int, int]:
    """Return the numbers of component and event in a code."""
    return code >> _COMPONENT_SHIFT, code & _EVENT_MASK


def parse_events(
    text: str | None,
    events: type[C],
    unknown: Callable[[str], object],
    groups: Mapping[str, frozenset[C]] | None = None,
) -> frozenset[C]:
    """Parse the text of a property that names events.

    Args:
        text: exact names, numbers, ``all`` and groups, separated by commas.
        events: the events of the component.
        unknown: called with each unknown entry, which is otherwise ignored.
        groups: names that stand for several events.

    Returns:
        The events; no event for None or an empty text.
    """
    found: set[C] = set()
    if not text:
        return frozenset()
    numbers = {str(int(event)): event for event in events}  # int() refuses long digits
    for entry in text.split(","):
        if entry == _ALL:
            found |= set(events)
        elif groups is not None and entry in groups:
            found |= groups[entry]
        elif entry in events.__members__:
            found.add(events[entry])
        elif entry and (number := entry.lstrip("0") or "0") in numbers:
            found.add(numbers[number])
        else:
            unknown(entry)
    return frozenset(found)


def chosen_events(
    enabled: str | None,
    disabled: str | None,
    events: type[C],
    unknown: Callable[[str], object],
    groups: Mapping[str, frozenset[C]] | None = None,
) -> frozenset[C]:
    """Return the events that one property enables and the other one does not disable."""
    on = parse_events(enabled, events, unknown, groups)
    return on - parse_events(disabled, events, unknown, groups)
