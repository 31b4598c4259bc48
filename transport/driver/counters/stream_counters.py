"""Labels and keys of the counters that belong to a stream (spec counters 3 and 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from aerolog.transport.counters.counter_types import HEARTBEAT_KEY, STREAM_KEY, CounterType

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.protocol.commands import AddExclusivePublication, AddPublication

MAX_LABEL_LENGTH = 380
_MAX_LABEL_LENGTH_FOR_SUFFIX = 360
_NO_OWNER = -1


def stream_key(registration_id: int, session_id: int, stream_id: int, channel: str) -> bytes:
    """Return the key of a stream counter; the channel is cut so that the key fits."""
    return STREAM_KEY.pack(registration_id, session_id, stream_id, text=channel)


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
    return HEARTBEAT_KEY.numbers.pack(client_id)


def heartbeat_label(client_id: int) -> str:
    """Return the label of a client's heartbeat counter; the client appends its name to it."""
    return f"{CounterType.CLIENT_HEARTBEAT.label}: id={client_id}"


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
        value: int = 0,
        *,
        name: str | None = None,
        channel: str | None = None,
        has_owner: bool = True,
    ) -> int:
        """Allocate one more counter.

        Args:
            type_id: the type of the counter.
            value: the first value.
            name: the start of the label, when it is not that of the type.
            channel: the channel to show, when it is not the client's.
            has_owner: whether the counter belongs to the client.

        Raises:
            CountersFullError: no counter is free.
        """
        identity = (*self._identity, self._channel if channel is None else channel)
        counter_id = self._context.counters.allocate(
            type_id,
            stream_label(type_id.label if name is None else name, *identity),
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
        name = CounterType.PUBLISHER_POSITION.label.format(kind=kind)
        return (
            self.allocate(CounterType.PUBLISHER_POSITION, position, name=name),
            self.allocate(CounterType.PUBLISHER_LIMIT, position),
        )

    def free(self) -> None:
        """Free all counters allocated so far."""
        self._context.free_counters(self.ids)
