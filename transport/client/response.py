"""Requests and responses over response channels (spec client 21).

The driver sends what a server publishes to the one client that asked. Both ends agree on whether
an id stands in the first eight bytes of each message (``correlated``), which lets several requests
be under way; without it the next message is the answer.
"""

from __future__ import annotations

import struct
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from aerolog.transport.client.backoff import Backoff, waiter
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import (
    AeronTimeoutError,
    BackPressuredError,
    NotConnectedError,
    ResourceClosedError,
)
from aerolog.transport.resource import Resource
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.client.image import Image
    from aerolog.transport.client.publication import ExclusivePublication, Publication
    from aerolog.transport.client.registration import RegistrationFuture

_ID = struct.Struct("<q")
_RESPONSE = {"control-mode": "response"}


def _with(channel: str | ChannelUri, **parameters: str) -> str:
    uri = ChannelUri.parse(channel)
    for key, value in parameters.items():
        uri = uri.put(key.replace("_", "-"), value)
    return str(uri)


class ResponseSession:
    """One client of a server: the image of its requests and the publication for its responses."""

    def __init__(self, image: Image, future: RegistrationFuture[Publication]) -> None:
        self.image = image
        self._future = future
        self._publication: Publication | None = None

    @property
    def publication(self) -> Publication | None:
        """The publication for responses, None until the driver has set it up."""
        if self._publication is None and self._future.done():
            self._publication = self._future.result(0)
        return self._publication

    @property
    def is_ready(self) -> bool:
        """Whether a response could be sent now."""
        publication = self.publication
        return publication is not None and publication.is_connected

    def send(self, data: Any, *, timeout: float | None = 10.0) -> int:
        """Send something to this client.

        Raises:
            NotConnectedError: the client is gone.
            BackPressuredError: it made no room in time.
        """
        publication = self.publication
        if publication is None:
            raise NotConnectedError(f"the response channel to {self.image!r} is not there yet")
        return int(publication.send(data, timeout=timeout, on_not_connected="raise"))

    def close(self) -> None:
        """End the session with this client."""
        publication = None if self._future.cancel() else self.publication
        if publication is not None:
            publication.close()

    def __repr__(self) -> str:
        return f"<ResponseSession of {self.image!r}>"


class ResponseServer(Resource):
    """Answers requests; call ``poll`` often, from one thread, or ``run``.

    Args:
        aeron: the client to use.
        request: channel and stream that requests come in by.
        response: channel and stream for responses: the control address for UDP, ``aeron:ipc``
            for shared memory; ``control-mode`` and the correlation are added here.
        handler: called with the session and the request's bytes; bytes that it returns are sent
            back, with None it answers later by ``session.send``.
        correlated: requests begin with an eight-byte id, which goes in front of the response.
        send_timeout: seconds that a response may wait for room.
    """

    def __init__(
        self,
        aeron: Aeron,
        *,
        request: tuple[str, int],
        response: tuple[str, int],
        handler: Callable[[ResponseSession, bytes], bytes | None],
        correlated: bool = False,
        send_timeout: float = 10.0,
    ) -> None:
        self.sessions: dict[int, ResponseSession] = {}
        self._aeron = aeron
        self._response = response
        self._handler = handler
        self._correlated = correlated
        self._send_timeout = send_timeout
        self._arrived: deque[Image] = deque()
        self._gone: deque[Image] = deque()
        self._running = False
        self.subscription = aeron.add_subscription(
            *request, on_image=self._arrived.append, on_image_gone=self._gone.append
        )

    def poll(self, limit: int = 10) -> int:
        """Take in new clients, answer requests of those that can be answered.

        Args:
            limit: fragments taken from each client.

        Returns:
            The work count of the turn; 0 means that there was nothing to do.
        """
        work = self._update_sessions()
        for session in list(self.sessions.values()):
            if session.is_ready:
                work += session.image.poll(partial(self._answer, session), limit)
        return work

    def _update_sessions(self) -> int:
        work = 0
        while self._arrived:
            image = self._arrived.popleft()
            channel = _with(
                self._response[0],
                **_RESPONSE,
                response_correlation_id=str(image.correlation_id),
            )
            future = self._aeron.add_publication_async(channel, self._response[1])
            self.sessions[image.correlation_id] = ResponseSession(image, future)
            work += 1
        while self._gone:
            session = self.sessions.pop(self._gone.popleft().correlation_id, None)
            if session is not None:
                session.close()
                work += 1
        return work

    def _answer(self, session: ResponseSession, message: memoryview, _: object) -> None:
        request = bytes(message)
        split = _ID.size if self._correlated else 0
        head, body = request[:split], request[split:]
        answer = self._handler(session, body)
        if answer is not None:
            session.send(head + bytes(answer), timeout=self._send_timeout)

    def run(self, *, idle: Callable[[int], object] | str | None = None) -> None:
        """Poll until ``stop`` is called or the subscription is closed."""
        wait = waiter(self._aeron.conductor, idle)
        self._running = True
        while self._running and not self.subscription.closed:
            wait(self.poll())

    def stop(self) -> None:
        """End ``run``; may be called from any thread."""
        self._running = False

    def close(self) -> None:
        """End the sessions with all clients."""
        for session in self.sessions.values():
            session.close()
        self.sessions.clear()
        self.subscription.close()

    def __repr__(self) -> str:
        return f"<ResponseServer of {self.subscription!r} sessions={len(self.sessions)}>"


class ResponseClient(Resource):
    """Sends requests and takes the responses; used by one thread at a time.

    Args:
        aeron: the client to use.
        request: channel and stream of the server.
        response: channel and stream for responses, as the server has them.
        correlated: put an eight-byte id in front of each request, and wait for the response that
            has the same.

    Raises:
        RegistrationError: the driver refused a channel.
    """

    def __init__(
        self,
        aeron: Aeron,
        *,
        request: tuple[str, int],
        response: tuple[str, int],
        correlated: bool = False,
    ) -> None:
        self._aeron = aeron
        self.correlated = correlated
        self._next_id = 0
        self.subscription = aeron.add_subscription(_with(response[0], **_RESPONSE), response[1])
        channel = _with(request[0], response_correlation_id=str(self.subscription.registration_id))
        self.publication: ExclusivePublication
        self.publication = aeron.add_exclusive_publication(channel, request[1])

    @property
    def is_connected(self) -> bool:
        """Whether requests reach the server and responses would come back."""
        return self.publication.is_connected and self.subscription.is_connected

    def wait_connected(self, timeout: float | None = None) -> Self:
        """Wait for the server.

        Raises:
            AeronTimeoutError: it was not there in time.
        """
        deadline = Deadline(timeout, self._aeron.conductor.options.clock)
        self.publication.wait_connected(timeout)
        self.subscription.wait_connected(deadline.rest)
        return self

    def send_request(self, data: Any, *, timeout: float | None = 10.0) -> int:
        """Send a request without waiting for its response; returns its id (0 when uncorrelated).

        Raises:
            BackPressuredError: the server made no room in time.
        """
        deadline = Deadline(timeout, self._aeron.conductor.options.clock)
        wait = Backoff(self._aeron.conductor)
        while (request_id := self.try_request(data)) is None:
            if deadline.is_over:
                raise BackPressuredError(f"no room for a request within {timeout} s")
            wait(0)
        return request_id

    def try_request(self, data: Any) -> int | None:
        """Send a request as ``send_request``, without waiting: None when there is no room.

        Raises:
            ResourceClosedError: the client was closed.
        """
        parts = [_ID.pack(self._next_id + 1), data] if self.correlated else [data]
        if self.publication.offer_parts(parts) < 0:
            if self.publication.closed:
                raise ResourceClosedError("the response client is closed")
            return None
        self._next_id += 1
        return self._next_id if self.correlated else 0

    def poll_response(self) -> tuple[int, bytes] | None:
        """The next response, with the id of its request (0 when uncorrelated), if one is there."""
        found = self.subscription.poll_messages(1)
        if not found:
            return None
        data = found[0].data
        if not self.correlated:
            return 0, data
        if len(data) < _ID.size:
            return None
        return int(_ID.unpack_from(data)[0]), data[_ID.size :]

    def request(self, data: Any, *, timeout: float | None = 10.0) -> bytes:
        """Send a request and wait for its response.

        Raises:
            AeronTimeoutError: no response in time.
            ResourceClosedError: the client was closed.
        """
        deadline = Deadline(timeout, self._aeron.conductor.options.clock)
        wanted = self.send_request(data, timeout=timeout)
        wait = Backoff(self._aeron.conductor)
        while not self.subscription.closed:
            response = self.poll_response()
            if response is not None and response[0] == wanted:
                return response[1]
            if deadline.is_over:
                raise AeronTimeoutError(f"no response within {timeout} s")
            wait(0 if response is None else 1)
        raise ResourceClosedError("the response client is closed")

    def close(self) -> None:
        """End the session with the server at once."""
        self.publication.revoke()
        self.subscription.close()

    def __repr__(self) -> str:
        return f"<ResponseClient to {self.publication!r}>"
