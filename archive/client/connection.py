"""Connecting to an archive, step by step (spec archive-protocol 21.2).

`ArchiveConnection.poll` never waits, so that a duty cycle or an event loop can turn it.
"""

from __future__ import annotations

import contextlib
from enum import IntEnum
from typing import TYPE_CHECKING, Final

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
from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.client.steps.session_connection import (
    SessionConnection,
    client_info,
    resolved_channel,
)
from aerolog.transport.errors import AerologError, ArchiveError

if TYPE_CHECKING:
    from aerolog.archive.client.options import ArchiveClientOptions
    from aerolog.archive.protocol import Message
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.steps.caller import Steps

UNKNOWN_ARCHIVE_ID: Final = -1
UNCORRELATED: Final = -1
KEEP_ALIVE_TRIES: Final = 3


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


class ArchiveConnection(SessionConnection[ControlSession]):
    """A connection to an archive that is being made.

    Attributes:
        step: the step that it has reached.
    """

    _TIMEOUT = "Archive connect timeout"

    def __init__(self, aeron: Aeron, options: ArchiveClientOptions) -> None:
        self.step: ConnectStep = ConnectStep.AWAIT_SUBSCRIPTION
        self._options = options
        super().__init__(aeron, options)

    def _why(self) -> str:
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

    def _run(self) -> Steps[ControlSession]:
        options, aeron = self._options, self._aeron
        session_id = None
        if not options.is_response_mode:
            session_id = yield from added(aeron.next_session_id_async(options.request_stream_id))
        request_channel, response_channel = options.control_channels(session_id)
        subscription = yield from self._added(
            aeron.add_subscription_async(str(response_channel), options.response_stream_id)
        )
        if options.is_response_mode:
            request_channel = request_channel.put(
                "response-correlation-id", str(subscription.registration_id)
            )
        self.step = ConnectStep.ADD_PUBLICATION
        publication = yield from self._added(
            aeron.add_exclusive_publication_async(str(request_channel), options.request_stream_id)
        )
        stream = ControlStream(publication, subscription, options.on_error)
        self.step = ConnectStep.AWAIT_PUBLICATION_CONNECTED
        while not publication.is_connected:
            yield 0
        self.step = ConnectStep.SEND_CONNECT_REQUEST
        request = AuthConnectRequest(
            correlation_id=aeron.next_correlation_id(),
            response_stream_id=options.response_stream_id,
            response_channel=(yield from resolved_channel(subscription, response_channel)),
            encoded_credentials=options.encoded_credentials(),
            client_info=client_info(options.name),
        )
        yield from self._send(stream, request)
        self.step = ConnectStep.AWAIT_SUBSCRIPTION_CONNECTED
        while not subscription.is_connected:
            yield 0
        self.step = ConnectStep.AWAIT_CONNECT_RESPONSE
        answer = yield from self._await_answer(stream, request.correlation_id)
        if isinstance(answer, Challenge):
            answer = yield from self._answer_challenge(stream, answer)
        return (yield from self._complete(stream, answer))

    @staticmethod
    def _send(stream: ControlStream, request: Message) -> Steps[None]:
        encoded = request.encode()
        while not stream.offer(encoded):
            yield 0

    @staticmethod
    def _await_answer(
        stream: ControlStream, correlation_id: int
    ) -> Steps[ControlResponse | Challenge]:
        while True:
            for message in stream.poll():
                if (
                    isinstance(message, ControlResponse | Challenge)
                    and message.correlation_id == correlation_id
                ):
                    return message
            yield 0

    def _answer_challenge(
        self, stream: ControlStream, challenge: Challenge
    ) -> Steps[ControlResponse]:
        try:
            proof = self._options.answer_challenge(challenge.encoded_challenge)
        except Exception:
            self._close_session(stream, challenge.control_session_id)
            raise
        self.step = ConnectStep.SEND_CHALLENGE_RESPONSE
        request = ChallengeResponse(
            control_session_id=challenge.control_session_id,
            correlation_id=self._aeron.next_correlation_id(),
            encoded_credentials=proof,
        )
        yield from self._send(stream, request)
        self.step = ConnectStep.AWAIT_CHALLENGE_RESPONSE
        answer = yield from self._await_answer(stream, request.correlation_id)
        if isinstance(answer, Challenge):
            self._close_session(stream, answer.control_session_id)
            raise AerologError("the archive answered a challenge response with a challenge")
        return answer

    def _complete(self, stream: ControlStream, answer: ControlResponse) -> Steps[ControlSession]:
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

    def _ask_archive_id(self, stream: ControlStream, session_id: int) -> Steps[int]:
        self.step = ConnectStep.SEND_ARCHIVE_ID_REQUEST
        request = ArchiveIdRequest(
            control_session_id=session_id, correlation_id=self._aeron.next_correlation_id()
        )
        yield from self._send(stream, request)
        self.step = ConnectStep.AWAIT_ARCHIVE_ID_RESPONSE
        answer = yield from self._await_answer(stream, request.correlation_id)
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
