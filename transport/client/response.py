"""Requests and responses over response channels (spec client 21).

The driver sends what a server publishes to the one client that asked. Both ends agree on whether
an id stands in the first eight bytes of each message (``correlated``), which lets several requests
be under way; without it the next message is the answer.
"""

from __future__ import annotations

import struct
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.client.steps.backoff import waiter
from aerolog.transport.client.steps.caller import waiting_caller
from aerolog.transport.client.steps.stream_steps import until
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import (
    AeronTimeoutError,
    BackPressuredError,
    NotConnectedError,
    PublicationError,
    RegistrationError,
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
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.client.subscription import Subscription

_ID = struct.Struct("<q")
_RESPONSE = {"control-mode": "response"}


def _with(channel: str | ChannelUri, **parameters: str) -> str:
    uri = ChannelUri.parse(channel)
    for key, value in parameters.items():
        uri = uri.put(key.replace("_", "-"), value)
    return str(uri)


class ResponseSession:
    """One client of a server: the image of its requests and the publication for its responses.

    Attributes:
        image: the client's requests.
        is_behind: whether the client missed the last response because it made no room for it.
        refusal: why the driver refused the publication, for example because the client has left.
    """

    def __init__(self, image: Image, future: RegistrationFuture[Publication]) -> None:
        self.image = image
        self.is_behind = False
        self.refusal: RegistrationError | None = None
        self._future = future
        self._publication: Publication | None = None

    @property
    def publication(self) -> Publication | None:
        """The publication for responses, None until the driver has set it up."""
        if self._publication is None and self.refusal is None and self._future.done():
            try:
                self._publication = self._future.result(0)
            except RegistrationError as error:
                self.refusal = error
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
        send_timeout: seconds that a response may wait for room, while other clients wait too. A
            client that makes no room misses the response, and is not waited for again until it
            has taken one.

    Attributes:
        missed: how many responses were not sent, because their client was gone or made no room.
    """

    def __init__(
        self,
        aeron: Aeron,
        *,
        request: tuple[str, int],
        response: tuple[str, int],
        handler: Callable[[ResponseSession, bytes], bytes | None],
        correlated: bool = False,
        send_timeout: float = 1.0,
    ) -> None:
        self.missed = 0
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
        if answer is None:
            return
        try:
            session.send(
                head + bytes(answer), timeout=0.0 if session.is_behind else self._send_timeout
            )
            session.is_behind = False
        except BackPressuredError:
            self.missed += 1
            session.is_behind = True
        except PublicationError:  # the client has left
            self.missed += 1

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

    A client whose server went away and came back opens new streams, because the driver ties the
    old ones to the server that is gone. So does an uncorrelated client whose request was given up
    (by a timeout, a cancel, or an exception): a late response comes to the old stream, where it
    cannot be taken for the answer to another request.

    Args:
        aeron: the client to use.
        request: channel and stream of the server.
        response: channel and stream for responses, as the server has them.
        correlated: put an eight-byte id in front of each request, and wait for the response that
            has the same.

    Raises:
        RegistrationError: the driver refused a channel.

    Attributes:
        subscription: takes the responses; another one after streams were opened again.
        publication: sends the requests; another one after streams were opened again.
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
        self._request = request
        self._response = response
        self._next_id = 0
        self._awaited: dict[int, bytes | None] = {}  # responses by request, None until they come
        self._closed = False
        self._was_connected = False
        self._opening: Steps[None] | None = None
        self.subscription = aeron.add_subscription(*self._response_stream())
        self.publication: ExclusivePublication
        try:
            self.publication = aeron.add_exclusive_publication(
                *self._request_stream(self.subscription)
            )
        except BaseException:
            self.subscription.close()
            raise

    def _response_stream(self) -> tuple[str, int]:
        return _with(self._response[0], **_RESPONSE), self._response[1]

    def _request_stream(self, subscription: Subscription) -> tuple[str, int]:
        correlation = str(subscription.registration_id)
        return _with(self._request[0], response_correlation_id=correlation), self._request[1]

    def _open(self) -> Steps[None]:
        """Close the streams, and open new ones."""
        self.publication.revoke()
        self.subscription.close()
        self._was_connected = False
        subscription = yield from added(
            self._aeron.add_subscription_async(*self._response_stream())
        )
        try:
            self.publication = yield from added(
                self._aeron.add_exclusive_publication_async(*self._request_stream(subscription))
            )
        except BaseException:
            subscription.close()
            raise
        self.subscription = subscription

    def _tend(self) -> bool:
        """Open new streams where they are due; returns whether there are streams to use.

        Raises:
            ResourceClosedError: the client was closed.
            RegistrationError: the driver refused a channel.
        """
        if self._closed or self._aeron.closed:
            self._aeron.conductor.raise_close_reason()
            raise ResourceClosedError("the response client is closed")
        if self._opening is None:
            if self.server_has_gone:
                self._opening = self._open()
            else:
                self._was_connected = self._was_connected or self.subscription.is_connected
                return True
        try:
            next(self._opening)
        except StopIteration:
            self._opening = None
            return True
        except BaseException:
            self._opening = self._open()  # the next call tries again
            raise
        return False

    @property
    def server_has_gone(self) -> bool:
        """Whether the server that was connected is gone, so that nothing can come from it."""
        return self._opening is not None or (
            self._was_connected and not self.subscription.is_connected
        )

    def _give_up(self) -> None:
        """Give up a request whose response was not awaited to the end."""
        if not self.correlated and not self._closed and self._opening is None:
            self._opening = self._open()

    @property
    def is_connected(self) -> bool:
        """Whether requests reach the server and responses would come back.

        It also goes on with the opening of new streams, so that a program may wait for it.
        """
        return self._tend() and self.publication.is_connected and self.subscription.is_connected

    def wait_connected(self, timeout: float | None = None) -> Self:
        """Wait for the server.

        Raises:
            AeronTimeoutError: it was not there in time.
        """
        waiting_caller(self._aeron.conductor).carry_out(self.connecting(timeout))
        return self

    def connecting(self, timeout: float | None) -> Steps[None]:
        """The steps of `wait_connected`."""
        yield from until(
            lambda: self.is_connected,
            timeout,
            lambda: f"no server at {self._request[0]}",
            self._aeron.conductor.options.clock,
        )
        self._was_connected = True

    def send_request(self, data: Any, *, timeout: float | None = 10.0) -> int:
        """Send a request without waiting for its response; returns its id (0 when uncorrelated).

        Raises:
            NotConnectedError: there was no server in that time.
            BackPressuredError: the server made no room in time.
        """
        deadline = Deadline(timeout, self._aeron.conductor.options.clock)
        return waiting_caller(self._aeron.conductor).carry_out(self._sending(data, deadline))

    def _sending(self, data: Any, deadline: Deadline) -> Steps[int]:
        while (request_id := self.try_request(data)) is None:
            if deadline.is_over:
                self._raise_unsent(deadline)
            yield 0
        return request_id

    def _raise_unsent(self, deadline: Deadline) -> NoReturn:
        """Raise the reason why a request could not be sent until a deadline."""
        if not self.publication.is_connected:
            raise NotConnectedError(
                f"no server at {self._request[0]} within {deadline.seconds} s: the request was"
                " not sent"
            )
        raise BackPressuredError(f"no room for a request within {deadline.seconds} s")

    def try_request(self, data: Any) -> int | None:
        """Send a request as ``send_request``, without waiting: None when there is no room.

        Raises:
            ResourceClosedError: the client was closed.
        """
        if not self._tend():
            return None
        parts = [_ID.pack(self._next_id + 1), data] if self.correlated else [data]
        if self.publication.offer_parts(parts) < 0:
            return None
        self._next_id += 1
        return self._next_id if self.correlated else 0

    def poll_response(self) -> tuple[int, bytes] | None:
        """The next response, with the id of its request (0 when uncorrelated), if one is there."""
        if self._opening is not None:
            return None
        found = self.subscription.poll_messages(1)
        if not found:
            return None
        self._was_connected = True
        data = found[0].data
        if not self.correlated:
            return 0, data
        if len(data) < _ID.size:
            return None
        return int(_ID.unpack_from(data)[0]), data[_ID.size :]

    def _check_awaited(self, deadline: Deadline) -> None:
        """Check that the response to a request may still come.

        Raises:
            AeronTimeoutError: the time is over.
            NotConnectedError: the server is gone.
            ResourceClosedError: the client was closed.
        """
        if self._closed or self.subscription.closed:
            self._aeron.conductor.raise_close_reason()
            raise ResourceClosedError("the response client is closed")
        if self.server_has_gone:
            raise NotConnectedError(
                "the server has gone before its response came: whether it has carried out the"
                " request is not known, and the next request waits for it to come back"
            )
        if deadline.is_over:
            raise AeronTimeoutError(f"no response within {deadline.seconds} s")

    def request(self, data: Any, *, timeout: float | None = 10.0) -> bytes:
        """Send a request and wait for its response.

        Raises:
            AeronTimeoutError: no response in time.
            NotConnectedError: the server went away before its response came.
            ResourceClosedError: the client was closed.
        """
        return waiting_caller(self._aeron.conductor).carry_out(self.asking(data, timeout))

    def asking(self, data: Any, timeout: float | None) -> Steps[bytes]:
        """The steps of `request`; several may be under way at once when correlated."""
        deadline = Deadline(timeout, self._aeron.conductor.options.clock)
        wanted = yield from self._sending(data, deadline)
        self._awaited[wanted] = None
        try:
            while True:
                response = self.poll_response()
                if response is not None and response[0] in self._awaited:
                    self._awaited[response[0]] = response[1]
                if (answer := self._awaited[wanted]) is not None:
                    return answer
                if response is None:
                    self._check_awaited(deadline)
                yield 0 if response is None else 1
        except BaseException:
            self._give_up()
            raise
        finally:
            del self._awaited[wanted]

    @property
    def awaited(self) -> int:
        """How many requests wait for their response."""
        return len(self._awaited)

    def close(self) -> None:
        """End the session with the server at once."""
        self._closed = True
        if self._opening is not None:
            self._opening.close()
            self._opening = None
        self.publication.revoke()
        self.subscription.close()

    def __repr__(self) -> str:
        return f"<ResponseClient to {self.publication!r}>"
