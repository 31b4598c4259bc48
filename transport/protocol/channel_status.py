"""Values of a channel endpoint's status counter (spec counters 10.1, spec client 16)."""

from __future__ import annotations

from enum import IntEnum


class ChannelStatus(IntEnum):
    """State of a channel, which the driver writes and clients read."""

    ERRORED = -1
    INITIALIZING = 0
    ACTIVE = 1
    CLOSING = 2
    NO_ID_ALLOCATED = -1  # the status of a closed object, as in the reference
