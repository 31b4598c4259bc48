"""Events of a client, as values that a program can iterate over.

Handlers run on the client's own thread and may not call the client. Events may be read later and
from any thread: ``for event in aeron.events(): ...``.
"""

from __future__ import annotations

import contextlib
import queue
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.client.image import Image
    from aerolog.transport.client.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Event:
    """The base class of all events."""


@dataclass(frozen=True, slots=True)
class ImageAvailable(Event):
    """The subscription joined a publication; the image is already in the subscription's list."""

    subscription: Subscription
    image: Image


@dataclass(frozen=True, slots=True)
class ImageUnavailable(Event):
    """A publication is gone; the image is closed, its position is the final one."""

    subscription: Subscription
    image: Image


@dataclass(frozen=True, slots=True)
class CounterAvailable(Event):
    """A counter was allocated by a client command, ours or another client's."""

    registration_id: int
    counter_id: int


@dataclass(frozen=True, slots=True)
class CounterUnavailable(Event):
    """A counter was freed; its id is reused after a second."""

    registration_id: int
    counter_id: int


@dataclass(frozen=True, slots=True)
class PublicationErrorFrame(Event):
    """A receiver refused a stream of ours (spec client 17).

    Attributes:
        group_tag: the group tag of the receiver; None when it has none.
        destination_registration_id: None when the error does not concern a destination.
        source_address: ``host:port`` of the receiver.
    """

    registration_id: int
    session_id: int
    stream_id: int
    receiver_id: int
    group_tag: int | None
    destination_registration_id: int | None
    error_code: int
    error_message: str
    source_address: str


@dataclass(frozen=True, slots=True)
class ErrorRaised(Event):
    """An error that belongs to no call: the same that ``on_error`` gets."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class ClientClosed(Event):
    """The client is closed; ``reason`` is None when the program closed it. The last event."""

    reason: BaseException | None


class EventStream(Resource):
    """The events of one client, in order, from the moment at which this object was made.

    Iteration blocks for the next event and ends after ClientClosed, or, with a timeout, when that
    many seconds passed without one. Any number of streams may exist; each gets every event.

    Attributes:
        ended: whether ClientClosed was taken, after which no event follows.
    """

    def __init__(self, timeout: float | None, on_close: Callable[[EventStream], None]) -> None:
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._timeout = timeout
        self._on_close = on_close
        self.ended = False

    def put(self, event: Event) -> None:
        """Add an event; called by the client."""
        self._queue.put(event)

    def poll(self) -> Event | None:
        """Return the next event, or None when none is waiting."""
        with contextlib.suppress(queue.Empty):
            return self._taken(self._queue.get_nowait())
        return None

    def get(self, timeout: float | None = None) -> Event:
        """Wait for the next event.

        Raises:
            TimeoutError: none came within ``timeout`` seconds.
        """
        try:
            return self._taken(self._queue.get(timeout=timeout))
        except queue.Empty:
            raise TimeoutError(f"no event within {timeout} s") from None

    def _taken(self, event: Event) -> Event:
        self.ended = self.ended or isinstance(event, ClientClosed)
        return event

    def __iter__(self) -> Iterator[Event]:
        while not self.ended:
            try:
                yield self.get(self._timeout)
            except TimeoutError:
                return

    def close(self) -> None:
        """Stop collecting events."""
        self._on_close(self)

    def __repr__(self) -> str:
        return f"<EventStream{' ended' if self.ended else ''}>"
