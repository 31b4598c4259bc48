"""The client for asyncio: the same objects, whose waits let the event loop run.

Nothing wakes an event loop when shared memory changes, so waits poll: at once at first, then after
sleeps that grow to a few milliseconds. After every batch of messages the loop runs, however busy
the stream is.
"""
# ruff: noqa: ASYNC109  (timeouts are arguments as of the blocking methods)

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from aerolog.transport.client.aeron import Aeron
from aerolog.transport.client.send_retry import NotConnected, is_worth_waiting, raise_timeout
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import (
    AeronTimeoutError,
    ConfigurationError,
    PublicationClosedError,
    ResourceClosedError,
)
from aerolog.transport.resource import AsyncResource

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable

    from typing_extensions import Buffer

    from aerolog.transport.client.client_conductor import ClientConductor
    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.client.client_events import Event
    from aerolog.transport.client.destination import Destination
    from aerolog.transport.client.message import Message
    from aerolog.transport.client.publication import ExclusivePublication, Publication
    from aerolog.transport.client.registration import RegistrationFuture
    from aerolog.transport.client.response import ResponseClient
    from aerolog.transport.client.subscription import Subscription
    from aerolog.transport.uri import ChannelUri

_TURNS = 50
_FIRST_SLEEP = 50e-6
_LONGEST_SLEEP = 4e-3


class _AsyncBackoff:
    """Waits of growing duration, during each of which the event loop runs."""

    def __init__(self) -> None:
        self._count = 0
        self._sleep = _FIRST_SLEEP

    async def wait(self, work_count: int) -> None:
        if work_count > 0:
            self._count, self._sleep = 0, _FIRST_SLEEP
            await asyncio.sleep(0)
            return
        self._count += 1
        if self._count <= _TURNS:
            await asyncio.sleep(0)
            return
        await asyncio.sleep(self._sleep)
        self._sleep = min(2 * self._sleep, _LONGEST_SLEEP)


async def _add_destination(
    stream: Publication | ExclusivePublication | Subscription, channel: str | ChannelUri
) -> Destination:
    destination = stream.add_destination(str(channel), wait=False)
    await asyncio.wrap_future(destination.future)
    return destination


async def _until(
    conductor: ClientConductor,
    condition: Callable[[], bool],
    timeout: float | None,
    missing: Callable[[], str],
) -> None:
    deadline = Deadline(timeout, conductor.options.clock)
    backoff = _AsyncBackoff()
    while not condition():
        if deadline.is_over:
            raise AeronTimeoutError(f"{missing()} within {timeout} s")
        await backoff.wait(0)


async def _until_connected(
    stream: Publication | ExclusivePublication | Subscription,
    timeout: float | None,
    peer: str,
    closed: type[ResourceClosedError],
) -> None:
    await _until(
        stream.conductor,
        lambda: stream.is_connected or stream.closed,
        timeout,
        lambda: f"no {peer} of {stream!r}",
    )
    if stream.closed:
        raise closed(f"{stream!r} is closed")


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
        publication = self.publication
        deadline = Deadline(timeout, publication.conductor.options.clock)
        backoff = _AsyncBackoff()
        while (result := publication.offer(data)) <= 0:
            if not is_worth_waiting(publication, result, on_not_connected):
                return result
            if deadline.is_over:
                raise_timeout(publication, result, timeout)
            await backoff.wait(1 if result == OfferStatus.ADMIN_ACTION else 0)
        return result

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

    async def messages(
        self, timeout: float | None = None, *, until_eos: bool = False, limit: int = 64
    ) -> AsyncIterator[Message]:
        """Yield copies of assembled messages; arguments are those of ``Subscription.messages``."""
        subscription = self.subscription
        backoff = _AsyncBackoff()
        seen_image = False
        silence = Deadline(timeout, subscription.conductor.options.clock)
        while not subscription.closed:
            images = subscription.images
            ended = until_eos and seen_image and all(image.is_end_of_stream for image in images)
            found = subscription.poll_messages(limit)
            seen_image = seen_image or bool(images) or bool(found)
            for message in found:
                yield message
            if found:
                silence.restart()
            elif ended or silence.is_over:
                return
            await backoff.wait(len(found))
        subscription.conductor.raise_close_reason()

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
        self._awaited: dict[int, bytes | None] = {}  # responses by request, None until they come
        self._turn = asyncio.Lock()

    async def wait_connected(self, timeout: float | None = None) -> Self:
        """Wait for the server.

        Raises:
            AeronTimeoutError: if the server did not connect in time.
        """
        await _until(
            self.client.subscription.conductor,
            lambda: self.client.is_connected,
            timeout,
            lambda: "no server",
        )
        return self

    @property
    def awaited(self) -> int:
        """How many requests wait for their response."""
        return len(self._awaited)

    async def request(self, data: Buffer, *, timeout: float | None = 10.0) -> bytes:
        """Send a request and wait for its response.

        Raises:
            AeronTimeoutError: if no response arrived in time.
            NotConnectedError: if there is no server, or it went away before its response came.
            BackPressuredError: if the server made no room for the request in time.
            ResourceClosedError: if the client was closed.
        """
        if self.client.correlated:
            return await self._exchange(data, timeout)
        async with self._turn:
            return await self._exchange(data, timeout)

    async def _exchange(self, data: Buffer, timeout: float | None) -> bytes:
        client = self.client
        deadline = Deadline(timeout, client.subscription.conductor.options.clock)
        backoff = _AsyncBackoff()
        while (wanted := client.try_request(data)) is None:
            if deadline.is_over:
                client.raise_unsent(deadline)
            await backoff.wait(0)
        self._awaited[wanted] = None
        try:
            while True:
                response = client.poll_response()
                if response is not None and response[0] in self._awaited:
                    self._awaited[response[0]] = response[1]
                if (answer := self._awaited[wanted]) is not None:
                    return answer
                if response is None:
                    client.check_awaited(deadline)
                await backoff.wait(0 if response is None else 1)
        except BaseException:
            client.give_up()
            raise
        finally:
            del self._awaited[wanted]

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

    async def _done(self, future: RegistrationFuture[Any], timeout: float | None) -> Any:
        limit = self.aeron.options.driver_timeout if timeout is None else timeout
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), limit)
        except TimeoutError as error:
            if isinstance(error, AeronTimeoutError):
                raise
            raise AeronTimeoutError(f"no response from MediaDriver within {limit:g}s") from None

    async def add_publication(
        self, channel: str | ChannelUri, stream_id: int, *, timeout: float | None = None
    ) -> AsyncPublication:
        """Add a shared publication; the errors are those of ``Aeron.add_publication``."""
        future = self.aeron.add_publication_async(channel, stream_id)
        return AsyncPublication(await self._done(future, timeout))

    async def add_exclusive_publication(
        self, channel: str | ChannelUri, stream_id: int, *, timeout: float | None = None
    ) -> AsyncPublication:
        """Add an exclusive publication."""
        future = self.aeron.add_exclusive_publication_async(channel, stream_id)
        return AsyncPublication(await self._done(future, timeout))

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
        return AsyncSubscription(await self._done(future, timeout))

    async def add_counter(
        self, type_id: int, label: str, key: bytes = b"", *, timeout: float | None = None
    ) -> Counter:
        """Add a counter, whose methods do not wait."""
        future = self.aeron.add_counter_async(type_id, label, key)
        counter: Counter = await self._done(future, timeout)
        return counter

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
        counter: Counter = await self._done(future, timeout)
        return counter

    async def next_session_id(self, stream_id: int, *, timeout: float | None = None) -> int:
        """Return a session id that no publication of the stream uses."""
        return await asyncio.to_thread(self.aeron.next_session_id, stream_id, timeout=timeout)

    async def events(self) -> AsyncIterator[Event]:
        """The client's events from now on; the iteration ends after ClientClosed."""
        backoff = _AsyncBackoff()
        with self.aeron.events() as stream:
            while not stream.ended:
                event = stream.poll()
                if event is not None:
                    yield event
                await backoff.wait(0 if event is None else 1)

    async def close(self) -> None:
        """Close the client and all that belongs to it; idempotent."""
        await asyncio.to_thread(self.aeron.close)

    def __repr__(self) -> str:
        return f"<AsyncAeron of {self.aeron!r}>"
