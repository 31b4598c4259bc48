"""The driver's system counters: their ids, labels and meanings (spec counters 2).

A driver allocates them first and in this order, so that the id of each is also its counter's id.
Clients and tools find them by it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Self

_VERSION: Final = "version={version} commit={commit}"
_CYCLE: Final = " max cycle time doing its work in ns: {mode}"
_EXCEEDED: Final = " work cycle exceeded threshold count: threshold={threshold} {mode}"


class SystemCounter(IntEnum):
    """The system counters. A member is its counter's id.

    Attributes:
        label: the label; fields in braces differ by driver.
        meaning: what the value is, in a sentence without its full stop.
    """

    label: str
    meaning: str

    def __new__(cls, number: int, label: str = "", meaning: str = "") -> Self:
        """Make a member of the table; a call with the number alone returns the one there is."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.label = label
        member.meaning = meaning
        return member

    BYTES_SENT = 0, "Bytes sent", "Bytes sent"
    BYTES_RECEIVED = 1, "Bytes received", "Bytes received"
    RECEIVER_PROXY_FAILS = (
        2,
        "Failed offers to ReceiverProxy",
        "Offers to the full queue of the receiver",
    )
    SENDER_PROXY_FAILS = 3, "Failed offers to SenderProxy", "Offers to the full queue of the sender"
    CONDUCTOR_PROXY_FAILS = (
        4,
        "Failed offers to DriverConductorProxy",
        "Offers to the full queue of the conductor",
    )
    NAK_MESSAGES_SENT = 5, "NAKs sent", "Requests to send again, sent"
    NAK_MESSAGES_RECEIVED = 6, "NAKs received", "Requests to send again, received"
    STATUS_MESSAGES_SENT = 7, "Status Messages sent", "Status messages sent"
    STATUS_MESSAGES_RECEIVED = 8, "Status Messages received", "Status messages received"
    HEARTBEATS_SENT = 9, "Heartbeats sent", "Heartbeat frames sent"
    HEARTBEATS_RECEIVED = 10, "Heartbeats received", "Heartbeat frames received"
    RETRANSMITS_SENT = 11, "Retransmits sent", "Retransmits sent"
    FLOW_CONTROL_UNDER_RUNS = 12, "Flow control under runs", "Packets below a receiver's window"
    FLOW_CONTROL_OVER_RUNS = 13, "Flow control over runs", "Packets above a receiver's window"
    INVALID_PACKETS = (
        14,
        "Invalid packets",
        "Packets that are malformed or that the protocol does not know",
    )
    ERRORS = 15, "Errors: " + _VERSION, "Errors, repeated ones included"
    SHORT_SENDS = 16, "Short sends", "Sends that took fewer bytes than they were given"
    FREE_FAILS = (
        17,
        "Failed attempts to free log buffers",
        "Log buffers that could not be freed at once",
    )
    SENDER_FLOW_CONTROL_LIMITS = (
        18,
        "Sender flow control limits, i.e. back-pressure events",
        "Times a sender had no window left",
    )
    UNBLOCKED_PUBLICATIONS = 19, "Unblocked Publications", "Publications unblocked"
    UNBLOCKED_COMMANDS = 20, "Unblocked Control Commands", "Commands unblocked"
    POSSIBLE_TTL_ASYMMETRY = 21, "Possible TTL Asymmetry", "Setups with another time to live"
    CONTROLLABLE_IDLE_STRATEGY = (
        22,
        "ControllableIdleStrategy status",
        "Status of the controllable idle strategy",
    )
    LOSS_GAP_FILLS = 23, "Loss gap fills", "Gaps filled in unreliable streams"
    CLIENT_TIMEOUTS = 24, "Client liveness timeouts", "Clients that were silent for too long"
    RESOLUTION_CHANGES = (
        25,
        "Resolution changes: driverName={driver_name}",
        "Names that changed their address",
    )
    CONDUCTOR_MAX_CYCLE_TIME = (
        26,
        "Conductor" + _CYCLE,
        "Longest duty cycle of the conductor since the start, nanoseconds",
    )
    CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED = (
        27,
        "Conductor" + _EXCEEDED,
        "Duty cycles of the conductor that took longer than the threshold",
    )
    SENDER_MAX_CYCLE_TIME = (
        28,
        "Sender" + _CYCLE,
        "Longest duty cycle of the sender since the start, nanoseconds",
    )
    SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED = (
        29,
        "Sender" + _EXCEEDED,
        "Duty cycles of the sender that took longer than the threshold",
    )
    RECEIVER_MAX_CYCLE_TIME = (
        30,
        "Receiver" + _CYCLE,
        "Longest duty cycle of the receiver since the start, nanoseconds",
    )
    RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED = (
        31,
        "Receiver" + _EXCEEDED,
        "Duty cycles of the receiver that took longer than the threshold",
    )
    NAME_RESOLVER_MAX_TIME = (
        32,
        "NameResolver max time in ns",
        "Longest resolution of a name, nanoseconds",
    )
    NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED = (
        33,
        "NameResolver exceeded threshold count: threshold={threshold}",
        "Resolutions of names that took longer than the threshold",
    )
    AERON_VERSION = (
        34,
        "Aeron software: " + _VERSION,
        "Version of the driver, a byte each for major, minor and patch",
    )
    BYTES_CURRENTLY_MAPPED = 35, "Bytes currently mapped", "Bytes that the driver has mapped"
    RETRANSMITTED_BYTES = 36, "Retransmitted bytes", "Bytes sent again"
    RETRANSMIT_OVERFLOW = (
        37,
        "Retransmit Pool Overflow count",
        "Retransmits refused for want of room",
    )
    ERROR_FRAMES_RECEIVED = 38, "Error Frames received", "Error frames received"
    ERROR_FRAMES_SENT = 39, "Error Frames sent", "Error frames sent"
    PUBLICATIONS_REVOKED = 40, "Publications Revoked", "Publications revoked"
    PUBLICATION_IMAGES_REVOKED = 41, "Publication Images Revoked", "Images revoked"
    IMAGES_REJECTED = 42, "Images rejected", "Images rejected"
    CONTROL_PROTOCOL_VERSION = (
        43,
        "Control protocol version",
        "Version of the commands that the driver understands",
    )
    STATUS_MESSAGES_REJECTED = 44, "Status Messages rejected", "Status messages rejected"
    ASYNC_EXECUTOR_PROXY_FAILS = (
        45,
        "Failed offers to AsyncExecutorProxy",
        "Offers to the full queue of the async executor",
    )
