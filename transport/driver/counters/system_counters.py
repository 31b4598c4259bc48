"""The driver's own counters: ids 0 to 45, allocated first and in this order (spec counters 2).

Clients and tools find them by id, so the order of the enumeration is part of the contract.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING

from aerolog.transport.config.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.memory.counters import CountersManager

SYSTEM_COUNTER_TYPE_ID = 0
_DRIVER_OWNER = -1

VERSION_MAJOR = 1
VERSION_MINOR = 51
VERSION_PATCH = 0
VERSION_TEXT = f"{VERSION_MAJOR}.{VERSION_MINOR}.{VERSION_PATCH}"
SEMANTIC_VERSION = VERSION_MAJOR << 16 | VERSION_MINOR << 8 | VERSION_PATCH
CONTROL_PROTOCOL_VERSION = 1 << 16


class SystemCounter(IntEnum):
    """The driver's system counters: each value is the counter id and the system counter id."""

    BYTES_SENT = 0
    BYTES_RECEIVED = 1
    RECEIVER_PROXY_FAILS = 2
    SENDER_PROXY_FAILS = 3
    CONDUCTOR_PROXY_FAILS = 4
    NAK_MESSAGES_SENT = 5
    NAK_MESSAGES_RECEIVED = 6
    STATUS_MESSAGES_SENT = 7
    STATUS_MESSAGES_RECEIVED = 8
    HEARTBEATS_SENT = 9
    HEARTBEATS_RECEIVED = 10
    RETRANSMITS_SENT = 11
    FLOW_CONTROL_UNDER_RUNS = 12
    FLOW_CONTROL_OVER_RUNS = 13
    INVALID_PACKETS = 14
    ERRORS = 15
    SHORT_SENDS = 16
    FREE_FAILS = 17
    SENDER_FLOW_CONTROL_LIMITS = 18
    UNBLOCKED_PUBLICATIONS = 19
    UNBLOCKED_COMMANDS = 20
    POSSIBLE_TTL_ASYMMETRY = 21
    CONTROLLABLE_IDLE_STRATEGY = 22
    LOSS_GAP_FILLS = 23
    CLIENT_TIMEOUTS = 24
    RESOLUTION_CHANGES = 25
    CONDUCTOR_MAX_CYCLE_TIME = 26
    CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED = 27
    SENDER_MAX_CYCLE_TIME = 28
    SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED = 29
    RECEIVER_MAX_CYCLE_TIME = 30
    RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED = 31
    NAME_RESOLVER_MAX_TIME = 32
    NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED = 33
    AERON_VERSION = 34
    BYTES_CURRENTLY_MAPPED = 35
    RETRANSMITTED_BYTES = 36
    RETRANSMIT_OVERFLOW = 37
    ERROR_FRAMES_RECEIVED = 38
    ERROR_FRAMES_SENT = 39
    PUBLICATIONS_REVOKED = 40
    PUBLICATION_IMAGES_REVOKED = 41
    IMAGES_REJECTED = 42
    CONTROL_PROTOCOL_VERSION = 43
    STATUS_MESSAGES_REJECTED = 44
    ASYNC_EXECUTOR_PROXY_FAILS = 45


_VERSION_LABEL = "version={version} commit={commit}"
_CYCLE_LABEL = "{agent} max cycle time doing its work in ns: {mode}"
_THRESHOLD_LABEL = "{agent} work cycle exceeded threshold count: threshold={threshold} {mode}"

_LABELS: dict[SystemCounter, str] = {
    SystemCounter.BYTES_SENT: "Bytes sent",
    SystemCounter.BYTES_RECEIVED: "Bytes received",
    SystemCounter.RECEIVER_PROXY_FAILS: "Failed offers to ReceiverProxy",
    SystemCounter.SENDER_PROXY_FAILS: "Failed offers to SenderProxy",
    SystemCounter.CONDUCTOR_PROXY_FAILS: "Failed offers to DriverConductorProxy",
    SystemCounter.NAK_MESSAGES_SENT: "NAKs sent",
    SystemCounter.NAK_MESSAGES_RECEIVED: "NAKs received",
    SystemCounter.STATUS_MESSAGES_SENT: "Status Messages sent",
    SystemCounter.STATUS_MESSAGES_RECEIVED: "Status Messages received",
    SystemCounter.HEARTBEATS_SENT: "Heartbeats sent",
    SystemCounter.HEARTBEATS_RECEIVED: "Heartbeats received",
    SystemCounter.RETRANSMITS_SENT: "Retransmits sent",
    SystemCounter.FLOW_CONTROL_UNDER_RUNS: "Flow control under runs",
    SystemCounter.FLOW_CONTROL_OVER_RUNS: "Flow control over runs",
    SystemCounter.INVALID_PACKETS: "Invalid packets",
    SystemCounter.ERRORS: "Errors: " + _VERSION_LABEL,
    SystemCounter.SHORT_SENDS: "Short sends",
    SystemCounter.FREE_FAILS: "Failed attempts to free log buffers",
    SystemCounter.SENDER_FLOW_CONTROL_LIMITS: (
        "Sender flow control limits, i.e. back-pressure events"
    ),
    SystemCounter.UNBLOCKED_PUBLICATIONS: "Unblocked Publications",
    SystemCounter.UNBLOCKED_COMMANDS: "Unblocked Control Commands",
    SystemCounter.POSSIBLE_TTL_ASYMMETRY: "Possible TTL Asymmetry",
    SystemCounter.CONTROLLABLE_IDLE_STRATEGY: "ControllableIdleStrategy status",
    SystemCounter.LOSS_GAP_FILLS: "Loss gap fills",
    SystemCounter.CLIENT_TIMEOUTS: "Client liveness timeouts",
    SystemCounter.RESOLUTION_CHANGES: "Resolution changes: driverName={driver_name}",
    SystemCounter.CONDUCTOR_MAX_CYCLE_TIME: _CYCLE_LABEL,
    SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED: _THRESHOLD_LABEL,
    SystemCounter.SENDER_MAX_CYCLE_TIME: _CYCLE_LABEL,
    SystemCounter.SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED: _THRESHOLD_LABEL,
    SystemCounter.RECEIVER_MAX_CYCLE_TIME: _CYCLE_LABEL,
    SystemCounter.RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED: _THRESHOLD_LABEL,
    SystemCounter.NAME_RESOLVER_MAX_TIME: "NameResolver max time in ns",
    SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED: (
        "NameResolver exceeded threshold count: threshold={threshold}"
    ),
    SystemCounter.AERON_VERSION: "Aeron software: " + _VERSION_LABEL,
    SystemCounter.BYTES_CURRENTLY_MAPPED: "Bytes currently mapped",
    SystemCounter.RETRANSMITTED_BYTES: "Retransmitted bytes",
    SystemCounter.RETRANSMIT_OVERFLOW: "Retransmit Pool Overflow count",
    SystemCounter.ERROR_FRAMES_RECEIVED: "Error Frames received",
    SystemCounter.ERROR_FRAMES_SENT: "Error Frames sent",
    SystemCounter.PUBLICATIONS_REVOKED: "Publications Revoked",
    SystemCounter.PUBLICATION_IMAGES_REVOKED: "Publication Images Revoked",
    SystemCounter.IMAGES_REJECTED: "Images rejected",
    SystemCounter.CONTROL_PROTOCOL_VERSION: "Control protocol version",
    SystemCounter.STATUS_MESSAGES_REJECTED: "Status Messages rejected",
    SystemCounter.ASYNC_EXECUTOR_PROXY_FAILS: "Failed offers to AsyncExecutorProxy",
}

_AGENTS = {
    SystemCounter.CONDUCTOR_MAX_CYCLE_TIME: "Conductor",
    SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED: "Conductor",
    SystemCounter.SENDER_MAX_CYCLE_TIME: "Sender",
    SystemCounter.SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED: "Sender",
    SystemCounter.RECEIVER_MAX_CYCLE_TIME: "Receiver",
    SystemCounter.RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED: "Receiver",
}


def system_counter_label(
    counter: SystemCounter,
    *,
    mode: str,
    commit: str,
    threshold_ns: Callable[[SystemCounter], int],
    driver_name: str | None,
) -> str:
    """Return the label of one system counter.

    Args:
        counter: the counter that the label is for.
        mode: the name of the threading mode.
        commit: identifies this build.
        threshold_ns: the configured threshold, which the labels of some counters show.
        driver_name: the driver's name in the name resolver; the reference writes ``null`` for none.
    """
    text = _LABELS[counter]
    threshold = format_duration(threshold_ns(counter)) if "{threshold}" in text else ""
    return text.format(
        agent=_AGENTS.get(counter, ""),
        mode=mode,
        version=VERSION_TEXT,
        commit=commit,
        threshold=threshold,
        driver_name="null" if driver_name is None else driver_name,
    )


def allocate_system_counters(
    counters: CountersManager,
    *,
    mode: str,
    commit: str,
    threshold_ns: Callable[[SystemCounter], int],
    driver_name: str | None,
) -> None:
    """Allocate all system counters in an empty buffer, so that counter id and system id agree.

    Args:
        counters: the counters, none of which is allocated yet.
        mode: the name of the threading mode.
        commit: identifies this build.
        threshold_ns: the configured threshold, which the labels of some counters show.
        driver_name: the driver's name in the name resolver, None for none.
    """
    for counter in SystemCounter:
        counter_id = counters.allocate(
            SYSTEM_COUNTER_TYPE_ID,
            system_counter_label(
                counter,
                mode=mode,
                commit=commit,
                threshold_ns=threshold_ns,
                driver_name=driver_name,
            ),
            struct.pack("<i", counter),
            registration_id=counter,
            owner_id=_DRIVER_OWNER,
        )
        if counter_id != counter:
            raise RuntimeError(f"system counter {counter.name} has the id {counter_id}")
    counters.set_value(SystemCounter.AERON_VERSION, SEMANTIC_VERSION)
    counters.set_value(SystemCounter.CONTROL_PROTOCOL_VERSION, CONTROL_PROTOCOL_VERSION)
