"""Labels and keys of the counters that belong to a stream (spec counters 3 and 4)."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.protocol.commands import AddExclusivePublication, AddPublication

MAX_LABEL_LENGTH = 380
_MAX_KEY_CHANNEL_LENGTH = 92
_MAX_LABEL_LENGTH_FOR_SUFFIX = 360
_KEY = struct.Struct("<qiii")
_NO_OWNER = -1


class CounterType(IntEnum):
    """Type ids of the driver's counters."""

    SYSTEM = 0
    PUBLISHER_LIMIT = 1
    SENDER_POSITION = 2
    RECEIVER_HWM = 3
    SUBSCRIBER_POSITION = 4
    RECEIVER_POSITION = 5
    SEND_CHANNEL_STATUS = 6
    RECEIVE_CHANNEL_STATUS = 7
    SENDER_LIMIT = 9
    PER_IMAGE = 10
    CLIENT_HEARTBEAT = 11
    PUBLISHER_POSITION = 12
    SENDER_BPE = 13
    LOCAL_SOCKET_ADDRESS = 14
    FLOW_CONTROL_RECEIVERS = 17
    MDC_DESTINATIONS = 18
    SENDER_NAKS_RECEIVED = 19
    RECEIVER_NAKS_SENT = 20


def stream_key(registration_id: int, session_id: int, stream_id: int, channel: str) -> bytes:
    """Return the key of a stream counter; the channel is cut so that the key fits."""
    text = channel.encode("ascii", "replace")[:_MAX_KEY_CHANNEL_LENGTH]
    return _KEY.pack(registration_id, session_id, stream_id, len(text)) + text


def stream_label(
    name: str,
    registration_id: int,
    session_id: int,
    stream_id: int,
    channel: str,
    *,
    join_position: int | None = None,
) -> str:
    """Return the label of a stream counter, at most 380 characters.

    Args:
        name: the start of the label, such as ``pub-lmt``.
        registration_id: of the publication, subscription or image.
        session_id: the stream's session.
        stream_id: the stream's id.
        channel: in full; the label holds as much of it as fits.
        join_position: where a subscriber starts; left out of a label that is too long already.
    """
    label = f"{name}: {registration_id} {session_id} {stream_id} {channel}"
    if join_position is not None and len(label) < _MAX_LABEL_LENGTH_FOR_SUFFIX:
        label += f" @{join_position}"
    return label[:MAX_LABEL_LENGTH]


def heartbeat_key(client_id: int) -> bytes:
    """Return the key of a client's heartbeat counter."""
    return struct.pack("<q", client_id)


def heartbeat_label(client_id: int) -> str:
    """Return the label of a client's heartbeat counter; the client appends its name to it."""
    return f"client-heartbeat: id={client_id}"


class StreamCounters:
    """Allocates the counters of one publication or image, one after the other.

    Args:
        context: the driver's shared state.
        registration_id: of the publication or image.
        session_id: the stream's session.
        stream_id: the stream's id.
        channel: as its client wrote it.
        client_id: the client that owns the counters.

    Attributes:
        ids: the ids of the counters allocated so far.
    """

    def __init__(
        self,
        context: DriverContext,
        registration_id: int,
        session_id: int,
        stream_id: int,
        channel: str,
        client_id: int,
    ) -> None:
        self._context = context
        self._identity = (registration_id, session_id, stream_id)
        self._channel = channel
        self._client_id = client_id
        self.ids: list[int] = []

    @classmethod
    def of_publication(
        cls,
        context: DriverContext,
        command: AddPublication | AddExclusivePublication,
        params: PublicationParams,
    ) -> Self:
        """Return what allocates the counters of the publication that a command adds."""
        return cls(
            context,
            command.correlation_id,
            params.session_id,
            command.stream_id,
            command.channel,
            command.client_id,
        )

    def allocate(
        self,
        type_id: CounterType,
        name: str,
        value: int = 0,
        *,
        channel: str | None = None,
        has_owner: bool = True,
    ) -> int:
        """Allocate one more counter.

        Args:
            type_id: the type of the counter.
            name: the start of the label.
            value: the first value.
            channel: the channel to show, when it is not the client's.
            has_owner: whether the counter belongs to the client.

        Raises:
            CountersFullError: no counter is free.
        """
        identity = (*self._identity, self._channel if channel is None else channel)
        counter_id = self._context.counters.allocate(
            type_id,
            stream_label(name, *identity),
            stream_key(*identity),
            registration_id=self._identity[0],
            owner_id=self._client_id if has_owner else _NO_OWNER,
            value=value,
        )
        self.ids.append(counter_id)
        return counter_id

    def allocate_publisher(self, position: int, *, is_exclusive: bool) -> tuple[int, int]:
        """Allocate the counters of the publisher's position and limit, both at one position."""
        kind = "exclusive" if is_exclusive else "concurrent"
        return (
            self.allocate(CounterType.PUBLISHER_POSITION, f"pub-pos ({kind})", position),
            self.allocate(CounterType.PUBLISHER_LIMIT, "pub-lmt", position),
        )

    def free(self) -> None:
        """Free all counters allocated so far."""
        self._context.free_counters(self.ids)
