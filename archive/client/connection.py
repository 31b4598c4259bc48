"""Connecting to an archive, step by step (spec archive-protocol 21.2).

`ArchiveConnection.poll` never waits, so that a duty cycle or an event loop can turn it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from aerolog._version import __version__
from aerolog.archive.client.client_session import ControlSession
from aerolog.archive.client.control_stream import ControlStream
from aerolog.archive.protocol import (
    ARCHIVE_ID_PROTOCOL_VERSION,
    ArchiveIdRequest,
    AuthConnectRequest,
    Challenge,
    ChallengeResponse,
    CloseSessionRequest,
    ControlResponse,
    ControlResponseCode,
    KeepAliveRequest,
)
from aerolog.transport.errors import (
    AerologError,
    AeronTimeoutError,
    ArchiveError,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aerolog.archive.client.options import ArchiveClientOptions
    from aerolog.archive.protocol import Message
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.publication import ExclusivePublication
    from aerolog.transport.client.subscription import Subscription
    from aerolog.transport.uri import ChannelUri

UNKNOWN_ARCHIVE_ID: Final = -1
UNCORRELATED: Final = -1
KEEP_ALIVE_TRIES: Final = 3
Steps = Generator[None, None, ControlSession]


class ConnectStep(IntEnum):
    """The steps of connecting, with the numbers by which the reference reports them."""

    AWAIT_SUBSCRIPTION = 0
    ADD_PUBLICATION = 1
    AWAIT_PUBLICATION_CONNECTED = 2
    SEND_CONNECT_REQUEST = 3
    AWAIT_SUBSCRIPTION_CONNECTED = 4
    AWAIT_CONNECT_RESPONSE = 5
    SEND_ARCHIVE_ID_REQUEST = 6
    AWAIT_ARCHIVE_ID_RESPONSE = 7
    SEND_CHALLENGE_RESPONSE = 8
    AWAIT_CHALLENGE_RESPONSE = 9
    DONE = 10


def give_up(adding: Future[Subscription] | Future[ExclusivePublication]) -> None:
    """Take back a stream that is being added, or close it when it is there already."""
    if not adding.cancel():
        with contextlib.suppress(AerologError):
            adding.result(0).close()


class ArchiveConnection:
    """A connection to an archive that is being made.

    Attributes:
        step: the step that it has reached.
    """

    def __init__(self, aeron: Aeron, options: ArchiveClientOptions) -> None:
        self.step = ConnectStep.AWAIT_SUBSCRIPTION
        self._aeron = aeron
        self._options = options
        self._deadline_ns = options.clock.now_ns() + options.message_timeout_ns
        self._subscription: Subscription | None = None
        self._publication: ExclusivePublication | None = None
        self._under_way: Future[Subscription] | Future[ExclusivePublication] | None = None
        self._steps = self._run()

    def poll(self) -> ControlSession | None:
        """Do what can be done now; returns the session once connected, None before.

        Raises:
            AeronTimeoutError: not connected within the message timeout.
            ArchiveError: the archive refused.
            RegistrationError: the driver refused a channel.
        """
        try:
            next(self._steps)
        except StopIteration as done:
            session: ControlSession = done.value
            return session
        except BaseException:
            self.close()
            raise
        if self._options.clock.now_ns() - self._deadline_ns > 0:
            # No local name has the error: its traceback would keep this connection's logs mapped.
            text = f"Archive connect timeout: step={self.step.name}: {self._why()}"
            self.close()
            raise AeronTimeoutError(text)
        return None

    def _why(self) -> str:
        """What did not come, from whom, and what to do."""
        options = self._options
        driver = f"the media driver in {self._aeron.aeron_dir}"
        asked = f"{options.request_channel} stream {options.request_stream_id}"
        if self.step < ConnectStep.AWAIT_PUBLICATION_CONNECTED:
            return f"{driver} did not add a stream for {asked} in time: try again"
        if self.step == ConnectStep.AWAIT_PUBLICATION_CONNECTED:
            return (
                f"{driver} is there, but no archive on {asked}: "
                "start one, or name the channel of another"
            )
        return (
            f"an archive is on {asked}, but its answer did not come to "
            f"{options.response_channel} stream {options.response_stream_id}: "
            "see whether it hangs, and whether it can send there"
        )

    def close(self) -> None:
        """Give up: the streams are closed."""
        self._steps.close()
        if self._under_way is not None:
            give_up(self._under_way)
            self._under_way = None
        for stream in (self._subscription, self._publication):
            if stream is not None:
                stream.close()

    def _run(self) -> Steps:
        options, aeron = self._options, self._aeron
        session_id = None
        if not options.is_response_mode:
            choosing = aeron.next_session_id_async(options.request_stream_id)
            while not choosing.done():
                yield
            session_id = choosing.result(0)
        request_channel, response_channel = options.control_channels(session_id)
        subscription = yield from self._add_subscription(response_channel)
        if options.is_response_mode:
            request_channel = request_channel.put(
                "response-correlation-id", str(subscription.registration_id)
            )
        self.step = ConnectStep.ADD_PUBLICATION
        publication = yield from self._add_publication(request_channel)
        stream = ControlStream(publication, subscription, options.on_error)
        self.step = ConnectStep.AWAIT_PUBLICATION_CONNECTED
        while not publication.is_connected:
            yield
        correlation_id = aeron.next_correlation_id()
        self.step = ConnectStep.SEND_CONNECT_REQUEST
        yield from self._send_connect(stream, correlation_id, response_channel)
        self.step = ConnectStep.AWAIT_SUBSCRIPTION_CONNECTED
        while not subscription.is_connected:
            yield
        self.step = ConnectStep.AWAIT_CONNECT_RESPONSE
        answer = yield from self._await_answer(stream, correlation_id)
        if isinstance(answer, Challenge):
            answer = yield from self._answer_challenge(stream, answer)
        return (yield from self._complete(stream, answer))

    def _add_subscription(self, channel: ChannelUri) -> Generator[None, None, Subscription]:
        future = self._aeron.add_subscription_async(str(channel), self._options.response_stream_id)
        self._under_way = future
        while not future.done():
            yield
        self._under_way = None
        self._subscription = future.result(0)
        return self._subscription

    def _add_publication(self, channel: ChannelUri) -> Generator[None, None, ExclusivePublication]:
        future = self._aeron.add_exclusive_publication_async(
            str(channel), self._options.request_stream_id
        )
        self._under_way = future
        while not future.done():
            yield
        self._under_way = None
        self._publication = future.result(0)
        return self._publication

    def _send_connect(
        self, stream: ControlStream, correlation_id: int, response_channel: ChannelUri
    ) -> Generator[None, None, None]:
        options = self._options
        while (resolved := self._resolved(stream.subscription, response_channel)) is None:
            yield
        request = AuthConnectRequest(
            correlation_id=correlation_id,
            response_stream_id=options.response_stream_id,
            response_channel=resolved,
            encoded_credentials=options.encoded_credentials(),
            client_info=f"name={options.name} version={__version__} commit=aerolog",
        ).encode()
        while not stream.offer(request):
            yield

    @staticmethod
    def _resolved(subscription: Subscription, channel: ChannelUri) -> str | None:
        """The response channel with the port that the system chose, None while not known."""
        return subscription.resolved_channel if channel.is_udp else str(channel)

    def _await_answer(
        self, stream: ControlStream, correlation_id: int
    ) -> Generator[None, None, ControlResponse | Challenge]:
        while True:
            for message in stream.poll():
                if self._is_answer(message, correlation_id):
                    return message  # type: ignore[return-value]  # narrowed by the check
            yield

    @staticmethod
    def _is_answer(message: Message, correlation_id: int) -> bool:
        return (
            isinstance(message, ControlResponse | Challenge)
            and message.correlation_id == correlation_id
        )

    def _answer_challenge(
        self, stream: ControlStream, challenge: Challenge
    ) -> Generator[None, None, ControlResponse]:
        try:
            proof = self._options.answer_challenge(challenge.encoded_challenge)
        except Exception:
            self._close_session(stream, challenge.control_session_id)
            raise
        self.step = ConnectStep.SEND_CHALLENGE_RESPONSE
        correlation_id = self._aeron.next_correlation_id()
        request = ChallengeResponse(
            control_session_id=challenge.control_session_id,
            correlation_id=correlation_id,
            encoded_credentials=proof,
        ).encode()
        while not stream.offer(request):
            yield
        self.step = ConnectStep.AWAIT_CHALLENGE_RESPONSE
        answer = yield from self._await_answer(stream, correlation_id)
        if isinstance(answer, Challenge):
            self._close_session(stream, answer.control_session_id)
            raise AerologError("the archive answered a challenge response with a challenge")
        return answer

    def _complete(self, stream: ControlStream, answer: ControlResponse) -> Steps:
        session_id = answer.control_session_id
        self._check_ok(stream, answer)
        archive_id = UNKNOWN_ARCHIVE_ID
        if answer.version >= ARCHIVE_ID_PROTOCOL_VERSION:
            archive_id = yield from self._ask_archive_id(stream, session_id)
        keep_alive = KeepAliveRequest(
            control_session_id=session_id, correlation_id=UNCORRELATED
        ).encode()
        if not any(stream.offer(keep_alive) for _ in range(KEEP_ALIVE_TRIES)):
            self._close_session(stream, session_id)
            raise AerologError("failed to send keep alive after archive connect")
        self.step = ConnectStep.DONE
        check = self._aeron.conductor.check_keys
        return ControlSession(stream, self._options, session_id, archive_id, check)

    def _ask_archive_id(self, stream: ControlStream, session_id: int) -> Generator[None, None, int]:
        self.step = ConnectStep.SEND_ARCHIVE_ID_REQUEST
        correlation_id = self._aeron.next_correlation_id()
        request = ArchiveIdRequest(
            control_session_id=session_id, correlation_id=correlation_id
        ).encode()
        while not stream.offer(request):
            yield
        self.step = ConnectStep.AWAIT_ARCHIVE_ID_RESPONSE
        answer = yield from self._await_answer(stream, correlation_id)
        if isinstance(answer, Challenge):
            self._close_session(stream, session_id)
            raise AerologError(f"the archive did not tell its id: {answer}")
        self._check_ok(stream, answer)
        return answer.relevant_id

    def _check_ok(self, stream: ControlStream, answer: ControlResponse) -> None:
        """End the session and raise what the archive said, unless it said OK."""
        if answer.code != ControlResponseCode.OK:
            self._close_session(stream, answer.control_session_id)
            raise ArchiveError(
                answer.relevant_id & 0xFFFFFFFF, answer.error_message, answer.correlation_id
            )

    @staticmethod
    def _close_session(stream: ControlStream, session_id: int) -> None:
        with contextlib.suppress(AerologError):
            stream.offer(CloseSessionRequest(control_session_id=session_id).encode())

    def __repr__(self) -> str:
        return f"<ArchiveConnection {self.step.name}>"
