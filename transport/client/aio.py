"""The client for asyncio: the same objects, whose waits let the event loop run.

The steps are those of the blocking client. After every batch of messages the event loop runs,
however busy the stream is.
"""
# ruff: noqa: ASYNC109  (timeouts are arguments as of the blocking methods)

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self, TypeVar

from aerolog.transport.client.aeron import Aeron
from aerolog.transport.client.send_retry import NotConnected, sending
from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.client.steps.awaited_caller import AwaitedCaller
from aerolog.transport.client.steps.stream_steps import event_parts, message_parts, until
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import (
    ConfigurationError,
    DriverTimeoutError,
    PublicationClosedError,
    ResourceClosedError,
)
from aerolog.transport.resource import AsyncResource
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator

    from typing_extensions import Buffer

    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.client.client_events import Event
    from aerolog.transport.client.destination import Destination
    from aerolog.transport.client.message import Message
    from aerolog.transport.client.publication import ExclusivePublication, Publication
    from aerolog.transport.client.registration import RegistrationFuture
    from aerolog.transport.client.response import ResponseClient
    from aerolog.transport.client.status import OfferStatus
    from aerolog.transport.client.subscription import Subscription
    from aerolog.transport.uri import ChannelUri

T = TypeVar("T")
#: Carries steps out for all clients: they have threads, and an event loop has one thread.
_CALLER = AwaitedCaller(lambda: None, nullcontext(), longest_sleep_ns=4 * NS_PER_MS)


async def _added(future: RegistrationFuture[T], timeout: float | None) -> T:
    """Wait for an answer of the driver; the command is taken back if the wait is given up."""
    options = future.options
    limit = options.driver_timeout if timeout is None else timeout
    deadline = Deadline(limit, options.clock)

    def check_time() -> int:
        if deadline.is_over:
            raise DriverTimeoutError(f"no response from MediaDriver within {limit:g}s")
        return 0

    return await _CALLER.carry_out(added(future, check_time))


async def _add_destination(
    stream: Publication | ExclusivePublication | Subscription, channel: str | ChannelUri
) -> Destination:
    destination = stream.add_destination(str(channel), wait=False)
    await _CALLER.carry_out(added(destination.future))
    return destination


async def _until_connected(
    stream: Publication | ExclusivePublication | Subscription,
    timeout: float | None,
    peer: str,
    closed: type[ResourceClosedError],
) -> None:
    def is_there() -> bool:
        if stream.closed:
            raise closed(f"{stream!r} is closed") from stream.conductor.close_reason
        return stream.is_connected

    clock = stream.conductor.options.clock
    await _CALLER.carry_out(until(is_there, timeout, lambda: f"no {peer} of {stream!r}", clock))


class AsyncPublication(AsyncResource):
    """A publication for asyncio; everything that does not wait is on ``publication``."""

    def __init__(self, publication: Publication | ExclusivePublication) -> None:
        self.publication = publication

    async def wait_connected(self, timeout: float | None = None) -> Self:
        """Wait for a subscriber.

        Raises:
            AeronTimeoutError: if no subscriber connected in time.
            PublicationClosedError: if the publication was closed.
        """
        await _until_connected(self.publication, timeout, "subscriber", PublicationClosedError)
        return self

    async def send(
        self,
        data: Buffer,
        *,
        timeout: float | None = None,
        on_not_connected: NotConnected = "wait",
    ) -> int | OfferStatus:
        """Publish one message, waiting until there is room; as ``Publication.send``."""
        steps = sending(self.publication, data, timeout=timeout, on_not_connected=on_not_connected)
        return await _CALLER.carry_out(steps)

    async def add_destination(self, channel: str | ChannelUri) -> Destination:
        """Send the stream to one more receiver; as ``Publication.add_destination``."""
        return await _add_destination(self.publication, channel)

    def close(self) -> None:
        """Close; does not wait."""
        self.publication.close()

    def __repr__(self) -> str:
        return f"<AsyncPublication of {self.publication!r}>"


class AsyncSubscription(AsyncResource):
    """A subscription for asyncio: ``async for message in subscription``.

    Everything that does not wait is on ``subscription``.
    """

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription

    async def wait_connected(self, timeout: float | None = None) -> Self:
        """Wait for an image.

        Raises:
            AeronTimeoutError: if no image became available in time.
            ResourceClosedError: if the subscription was closed.
        """
        await _until_connected(self.subscription, timeout, "publisher", ResourceClosedError)
        return self

    def messages(
        self, timeout: float | None = None, *, until_eos: bool = False, limit: int = 64
    ) -> AsyncIterator[Message]:
        """Yield copies of assembled messages; arguments are those of ``Subscription.messages``."""
        return _CALLER.iterate(
            message_parts(self.subscription, timeout, until_eos=until_eos, limit=limit)
        )

    def __aiter__(self) -> AsyncIterator[Message]:
        return self.messages()

    async def add_destination(self, channel: str | ChannelUri) -> Destination:
        """Receive from one more destination; as ``Subscription.add_destination``."""
        return await _add_destination(self.subscription, channel)

    def close(self) -> None:
        """Close; does not wait."""
        self.subscription.close()

    def __repr__(self) -> str:
        return f"<AsyncSubscription of {self.subscription!r}>"


class AsyncResponseClient:
    """A ResponseClient for asyncio; one request at a time, more with ``correlated``."""

    def __init__(self, client: ResponseClient) -> None:
        self.client = client
        self._turn = asyncio.Lock()

    async def wait_connected(self, timeout: float | None = None) -> Self:
        """Wait for the server.

        Raises:
            AeronTimeoutError: if the server did not connect in time.
        """
        await _CALLER.carry_out(self.client.connecting(timeout))
        return self

    @property
    def awaited(self) -> int:
        """How many requests wait for their response."""
        return self.client.awaited

    async def request(self, data: Buffer, *, timeout: float | None = 10.0) -> bytes:
        """Send a request and wait for its response.

        Raises:
            AeronTimeoutError: if no response arrived in time.
            NotConnectedError: if there is no server, or it went away before its response came.
            BackPressuredError: if the server made no room for the request in time.
            ResourceClosedError: if the client was closed.
        """
        if self.client.correlated:
            return await _CALLER.carry_out(self.client.asking(data, timeout))
        async with self._turn:
            return await _CALLER.carry_out(self.client.asking(data, timeout))

    def close(self) -> None:
        """Disconnect from the server without waiting."""
        self.client.close()

    def __repr__(self) -> str:
        return f"<AsyncResponseClient of {self.client!r}>"


class AsyncAeron(AsyncResource):
    """A client for asyncio; made by ``await AsyncAeron.connect()``, or by an open ``Aeron``.

    Everything that does not wait is on ``aeron``.
    """

    def __init__(self, aeron: Aeron) -> None:
        if aeron.options.invoker:
            raise ConfigurationError("asyncio needs a client with a thread: without invoker=True")
        self.aeron = aeron

    @classmethod
    async def connect(
        cls,
        dir: str | os.PathLike[str] | None = None,  # noqa: A002 - the property's name
        **options: Any,
    ) -> Self:
        """Connect to a driver; the arguments and errors are those of ``Aeron``."""
        return cls(await asyncio.to_thread(Aeron, dir, **options))

    async def add_publication(
        self, channel: str | ChannelUri, stream_id: int, *, timeout: float | None = None
    ) -> AsyncPublication:
        """Add a shared publication; the errors are those of ``Aeron.add_publication``."""
        future = self.aeron.add_publication_async(channel, stream_id)
        publication = await _added(future, timeout)
        return AsyncPublication(publication)

    async def add_exclusive_publication(
        self, channel: str | ChannelUri, stream_id: int, *, timeout: float | None = None
    ) -> AsyncPublication:
        """Add an exclusive publication."""
        future = self.aeron.add_exclusive_publication_async(channel, stream_id)
        publication = await _added(future, timeout)
        return AsyncPublication(publication)

    async def add_subscription(
        self,
        channel: str | ChannelUri,
        stream_id: int,
        *,
        timeout: float | None = None,
        **handlers: Any,
    ) -> AsyncSubscription:
        """Add a subscription; the handlers are those of ``Aeron.add_subscription``."""
        future = self.aeron.add_subscription_async(channel, stream_id, **handlers)
        return AsyncSubscription(await _added(future, timeout))

    async def add_counter(
        self, type_id: int, label: str, key: bytes = b"", *, timeout: float | None = None
    ) -> Counter:
        """Add a counter, whose methods do not wait."""
        future = self.aeron.add_counter_async(type_id, label, key)
        return await _added(future, timeout)

    async def add_static_counter(
        self,
        type_id: int,
        label: str,
        key: bytes = b"",
        *,
        registration_id: int,
        timeout: float | None = None,
    ) -> Counter:
        """Add, or find, a counter that outlives its clients."""
        future = self.aeron.add_static_counter_async(
            type_id, label, key, registration_id=registration_id
        )
        return await _added(future, timeout)

    async def next_session_id(self, stream_id: int, *, timeout: float | None = None) -> int:
        """Return a session id that no publication of the stream uses."""
        return await _added(self.aeron.next_session_id_async(stream_id), timeout)

    async def events(self) -> AsyncIterator[Event]:
        """The client's events from now on; the iteration ends after ClientClosed."""
        with self.aeron.events() as stream:
            async for event in _CALLER.iterate(event_parts(stream)):
                yield event

    async def close(self) -> None:
        """Close the client and all that belongs to it; idempotent."""
        await asyncio.to_thread(self.aeron.close)

    def __repr__(self) -> str:
        return f"<AsyncAeron of {self.aeron!r}>"
