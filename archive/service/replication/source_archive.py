"""The archive that a replication copies from, through a client that never blocks.

Every operation that takes time is a generator that yields when it has nothing to do at the moment.
The replication resumes it in the conductor's duty cycle (spec archive-protocol 15.1, 15.2).
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from aerolog.archive.client import request
from aerolog.archive.client.client_session import refusal_text
from aerolog.archive.client.conversation import Conversation
from aerolog.archive.client.options import ArchiveClientOptions
from aerolog.archive.client.replay.archive_replay import ReplayOverResponse
from aerolog.archive.service import properties as p
from aerolog.archive.service.conductor.refusals import exception_text
from aerolog.transport.errors import (
    AerologError,
    AeronTimeoutError,
    ArchiveError,
    ArchiveErrorCode,
    BackPressuredError,
    ConfigurationError,
    NotConnectedError,
)
from aerolog.transport.time_units import NS_PER_S
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Generator

    from aerolog.archive.client.client_session import ControlSession
    from aerolog.archive.client.request import Request
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.replication.replication_order import ReplicationOrder
    from aerolog.transport.client.subscription import Subscription

T = TypeVar("T")
ERROR_POLL_INTERVAL_NS: Final = 100_000_000
POSITION_ATTEMPTS: Final = 3
NOT_ACTIVE: Final = "cannot live merge without active source recording"
NO_CHALLENGES: Final = "Replication does not support challenge/response authentication"


class ReplicationFailedError(AerologError):
    """The error that ended a replication, of the source or of this archive."""


def refuse_challenge(_challenge: bytes) -> NoReturn:
    """Refuse a challenge, because a replication cannot answer one."""
    raise ReplicationFailedError(NO_CHALLENGES)


def response_channel(context: ArchiveContext, order: ReplicationOrder) -> str:
    """Return the channel for the source's answers: requested, configured or derived.

    Raises:
        ConfigurationError: the channel is in neither request nor settings and cannot be derived.
    """
    configured: str | None = context.config[p.REPLICATION_RESPONSE_CHANNEL]
    if order.src_response_channel or configured:
        return order.src_response_channel or str(configured)
    if ChannelUri.parse(order.src_control_channel).is_ipc:
        return "aeron:ipc"
    own = context.config.control_channel
    endpoint = ChannelUri.parse(own).get("endpoint", "") if own else ""
    host, colon, _port = endpoint.rpartition(":")
    if not colon:
        raise ConfigurationError(
            "nothing says where the source shall answer: the request has no response channel, and"
            f" the archive's control channel {own} has no endpoint; set"
            " aeron.archive.control.response.channel"
        )
    return f"aeron:udp?endpoint={host}:0"


class SourceArchive:
    """A control session with the source.

    Args:
        context: the objects that all parts of the archive use.
        order: the parameters of the replication.
        replication_id: id by which the source identifies this client.

    Raises:
        ChannelUriError: a control or response channel cannot be parsed.
        ConfigurationError: there is no response channel.
    """

    def __init__(
        self, context: ArchiveContext, order: ReplicationOrder, replication_id: int
    ) -> None:
        self._context = context
        self._options = ArchiveClientOptions(
            request_channel=str(ChannelUri.parse(order.src_control_channel)),
            request_stream_id=order.src_control_stream_id,
            response_channel=response_channel(context, order),
            response_stream_id=context.config[p.REPLICATION_RESPONSE_STREAM_ID],
            message_timeout=context.config[p.REPLICATION_TIMEOUT] / NS_PER_S,
            name=f"archive archiveId={context.archive_id} replicationSessionId={replication_id}",
            credentials=order.credentials,
            on_challenge=refuse_challenge,
            clock=context.clock,
        )
        self.action_timeout_ns = self._options.message_timeout_ns
        self._conversation = Conversation(context.aeron, self._options)
        self._next_error_poll_ns = 0
        self._replay_session_id: int | None = None
        self._closing = contextlib.ExitStack()

    def connect(self) -> Generator[None, None, None]:
        """Connect to the source.

        Raises:
            ArchiveError: REPLICATION_CONNECTION_FAILURE, whatever failed.
        """
        try:
            for _ in self._conversation.connect():
                yield
        except AerologError as error:
            raise ArchiveError(
                ArchiveErrorCode.REPLICATION_CONNECTION_FAILURE,
                f"Replication connection failed={failure_text(error)}",
            ) from error

    def ask(self, call: Request[T], unsent: str, unanswered: str) -> Generator[None, None, T]:
        """Send a request and return its answer.

        Args:
            call: the request.
            unsent: text of the error when the request cannot be sent.
            unanswered: text of the error when no answer comes.

        Raises:
            ReplicationFailedError: the source answered with an error, or is gone.
            AeronTimeoutError: no answer came in time.
        """
        deadline_ns = self._context.now_ns() + self.action_timeout_ns
        while True:
            try:
                return (yield from self._ask_once(call))
            except ArchiveError as error:
                raise ReplicationFailedError(said_by(error)) from error
            except AeronTimeoutError as error:
                raise AeronTimeoutError(unanswered) from error
            except BackPressuredError as error:
                if self._context.now_ns() > deadline_ns:
                    raise AeronTimeoutError(unsent) from error
            yield

    def _ask_once(self, call: Request[T]) -> Generator[None, None, T]:
        session = self._usable()
        pending = self._conversation.begin(call)
        for _ in self._conversation.answer(pending):
            self._raise_stray_error(session)
            yield
        return pending.result()

    def recording_position(self, recording_id: int) -> Generator[None, None, int]:
        """Return the position of an active recording; the request is repeated until answered.

        Raises:
            ReplicationFailedError: the recording is not active, or unknown.
        """
        for attempt in range(1, POSITION_ATTEMPTS + 1):
            try:
                position = yield from self.ask(
                    request.ask_position("recording position", recording_id),
                    "failed to send recording position request",
                    "failed to get recording position",
                )
            except AeronTimeoutError:
                if attempt == POSITION_ATTEMPTS:
                    raise
                continue
            if position is None:
                break
            return position
        raise ReplicationFailedError(NOT_ACTIVE)

    def replay(self, call: Request[int], channel: str) -> Generator[None, None, int]:
        """Start a replay and return its session id."""
        self._replay_session_id = yield from self.ask(
            call,
            "failed to send replay request",
            f"failed get acknowledgement of replay request to: {channel}",
        )
        return self._replay_session_id

    def replay_over_response(
        self, call: Request[int], subscription: Subscription
    ) -> Generator[None, None, int]:
        """Start a replay on a publication of its own and return its session id."""
        session = self._usable()
        asking = ReplayOverResponse(self._context.aeron, session, subscription, call)
        self._closing.enter_context(asking)
        try:
            while not asking.poll():
                self._raise_stray_error(session)
                yield
        except ArchiveError as error:
            raise ReplicationFailedError(said_by(error)) from error
        self._replay_session_id = asking.result()
        return self._replay_session_id

    def replay_ended(self) -> None:
        """Note that the replay has ended, so that ``close`` does not stop it."""
        self._replay_session_id = None

    def check(self, now_ns: int) -> None:
        """Check at intervals whether the source has failed or is gone.

        Raises:
            ReplicationFailedError: the source sent an error, or is gone.
        """
        if now_ns < self._next_error_poll_ns:
            return
        self._next_error_poll_ns = now_ns + ERROR_POLL_INTERVAL_NS
        session = self._usable()
        session.pump()
        self._raise_stray_error(session)
        self._usable()

    def _usable(self) -> ControlSession:
        session = self._conversation.known()
        if session.disconnected:
            raise ReplicationFailedError("not connected")
        return session

    @staticmethod
    def _raise_stray_error(session: ControlSession) -> None:
        error = session.take_error()
        if error is not None:
            raise ReplicationFailedError(said_by(error)) from error

    def close(self) -> None:
        """Stop the replay unless it has ended, and close the session."""
        session = self._conversation.session
        if session is None:
            return
        if self._replay_session_id is not None and not session.disconnected:
            # No answer is awaited: without a subscriber the replay ends by itself.
            self._conversation.tell(request.stop_replay(self._replay_session_id))
        self._conversation.close()
        self._closing.close()


def said_by(error: ArchiveError) -> str:
    """Return the message of the source's error, without the request that it refers to."""
    return error.message.removeprefix(refusal_text(error.correlation_id, ""))


def failure_text(error: BaseException) -> str:
    """Return an error's text in an answer; as in the reference, own errors have a category."""
    if isinstance(error, ArchiveError):
        return f"ERROR - {said_by(error)}"
    text = exception_text(error)
    has_category = isinstance(error, ReplicationFailedError | AeronTimeoutError | NotConnectedError)
    return f"ERROR - {text}" if has_category else text
