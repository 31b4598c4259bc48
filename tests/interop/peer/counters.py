"""Counters of a driver by what they mean (spec counters 2 to 4)."""

from typing import Any

from aerolog.transport.counters.counter_types import CounterType

SYSTEM = CounterType.SYSTEM
SENDER_POSITION = CounterType.SENDER_POSITION
RECEIVER_HWM = CounterType.RECEIVER_HWM
SUBSCRIBER_POSITION = CounterType.SUBSCRIBER_POSITION
RECEIVER_POSITION = CounterType.RECEIVER_POSITION
SEND_CHANNEL = CounterType.SEND_CHANNEL_STATUS
RECEIVE_CHANNEL = CounterType.RECEIVE_CHANNEL_STATUS
SENDER_LIMIT = CounterType.SENDER_LIMIT
PER_IMAGE = CounterType.PER_IMAGE
PUBLISHER_POSITION = CounterType.PUBLISHER_POSITION
LOCAL_ADDRESS = CounterType.LOCAL_SOCKET_ADDRESS
FLOW_CONTROL_RECEIVERS = CounterType.FLOW_CONTROL_RECEIVERS
DESTINATIONS = CounterType.MDC_DESTINATIONS
NAKS_RECEIVED = CounterType.SENDER_NAKS_RECEIVED
NAKS_SENT = CounterType.RECEIVER_NAKS_SENT

# Ids of system counters, which are their counter ids too.
SYSTEM_IDS = {
    "bytes_sent": 0,
    "bytes_received": 1,
    "naks_sent": 5,
    "naks_received": 6,
    "status_messages_sent": 7,
    "status_messages_received": 8,
    "heartbeats_sent": 9,
    "heartbeats_received": 10,
    "retransmits_sent": 11,
    "under_runs": 12,
    "over_runs": 13,
    "invalid_packets": 14,
    "errors": 15,
    "short_sends": 16,
    "flow_control_limits": 18,
    "ttl_asymmetry": 21,
    "loss_gap_fills": 23,
    "retransmitted_bytes": 36,
    "retransmit_overflows": 37,
    "error_frames_received": 38,
    "error_frames_sent": 39,
    "publications_revoked": 40,
    "images_revoked": 41,
    "images_rejected": 42,
    "status_messages_rejected": 44,
}


class DriverCounters:
    """The counters of one driver, read anew at each call."""

    def __init__(self, counters: Any) -> None:
        self._counters = counters

    def system(self, name: str) -> int:
        """The value of a system counter (``SYSTEM_IDS``)."""
        return int(self._counters[SYSTEM_IDS[name]].value)

    def all_system(self) -> dict[str, int]:
        """The values of the system counters of ``SYSTEM_IDS``."""
        return {name: self.system(name) for name in SYSTEM_IDS}

    def values(self, type_id: int, session_id: int, stream_id: int) -> list[int]:
        """Values of the counters of a type for one session of one stream."""
        return [c.value for c in self._streams(type_id, session_id, stream_id)]

    def value(self, type_id: int, session_id: int, stream_id: int) -> int:
        """The value of the one counter of a type for one session of one stream."""
        (value,) = self.values(type_id, session_id, stream_id)
        return int(value)

    def is_stream_read(self, stream_id: int) -> bool:
        """Whether each subscriber of a stream is where its publication was when last sampled."""
        published = {
            info.key[8:12]: info.value for info in self._of_stream(PUBLISHER_POSITION, stream_id)
        }
        return all(
            info.value >= published.get(info.key[8:12], 0)
            for info in self._of_stream(SUBSCRIBER_POSITION, stream_id)
        )

    def _of_stream(self, type_id: int, stream_id: int) -> list[Any]:
        key = stream_id.to_bytes(4, "little", signed=True)
        return [c for c in self._counters.infos() if c.type_id == type_id and c.key[12:16] == key]

    def _streams(self, type_id: int, session_id: int, stream_id: int) -> list[Any]:
        def matches(info: Any) -> bool:
            key = (
                int.from_bytes(info.key[8:12], "little", signed=True),
                int.from_bytes(info.key[12:16], "little", signed=True),
            )
            return info.type_id == type_id and key == (session_id, stream_id)

        return [c for c in self._counters.infos() if matches(c)]

    def of_channel(self, type_id: int, channel: str) -> list[Any]:
        """Counters of a type whose label names a channel."""
        return [c for c in self._counters.infos() if c.type_id == type_id and channel in c.label]

    def labels(self, type_id: int) -> list[str]:
        """Labels of all counters of a type."""
        return [c.label for c in self._counters.infos() if c.type_id == type_id]
