"""One client's control session: its states, its liveness, its responses (spec archive-protocol 6).

A session belongs to the conductor's thread. Other threads may only call ``send_later``, with which
the replayer answers replay requests. Responses that a client does not read are queued up to a limit
in bytes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol import (
    Challenge,
    ControlResponse,
    ControlResponseCode,
    Ping,
    RecordingSignal,
    RecordingSignalEvent,
)
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.errors import ArchiveErrorCode, RegistrationError
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from aerolog.archive.protocol import Message
    from aerolog.archive.service.reporter import ArchiveReporter
    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.client.image import Image
    from aerolog.transport.client.publication import ExclusivePublication
    from aerolog.transport.security.authentication import Authenticator

RESEND_INTERVAL_NS: Final = 200_000_000
SEND_ATTEMPTS: Final = 3

# How long every duty cycle runs a session that is being set up; later only sweeps do.
HURRY_NS: Final = 100_000_000
DRAIN_LIMIT: Final = 10
# Memory that a queued response takes in addition to its bytes, and all that one without text takes.
QUEUED_OVERHEAD: Final = 64
PLAIN_RESPONSE_LENGTH: Final = 44

SESSION_CLOSED: Final = "session closed"
RESPONSE_NOT_CONNECTED: Final = "control response publication is not connected"
RESPONSE_CLOSED: Final = "control response publication is closed"
RESPONSE_MAX_POSITION: Final = "control response publication is at max position"
REQUEST_IMAGE_UNAVAILABLE: Final = "control request publication image unavailable"


class SessionState(Enum):
    """The states of spec archive-protocol 6.2."""

    INIT = auto()
    CONNECTING = auto()
    CONNECTED = auto()
    CHALLENGED = auto()
    AUTHENTICATED = auto()
    ACTIVE = auto()
    REJECTED = auto()
    DONE = auto()


_BEING_SET_UP: Final = frozenset(
    {
        SessionState.INIT,
        SessionState.CONNECTING,
        SessionState.CHALLENGED,
    }
)


class SessionEnd(Enum):
    """Why a session ended; the value is the text in its counter's label."""

    CLOSED = "closed by its client"
    CLIENT_GONE = "client gone"
    NOT_ESTABLISHED = "not established in time"
    NOT_READING = "responses not read"
    FAILED = "response stream ended"


# Results of an offer after which no further one can succeed.
_FINAL: Final[dict[int, tuple[str, SessionEnd]]] = {
    OfferStatus.NOT_CONNECTED: (RESPONSE_NOT_CONNECTED, SessionEnd.CLIENT_GONE),
    OfferStatus.CLOSED: (RESPONSE_CLOSED, SessionEnd.FAILED),
    OfferStatus.MAX_POSITION_EXCEEDED: (RESPONSE_MAX_POSITION, SessionEnd.FAILED),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a session can never become active.

    Attributes:
        relevant_id: the error response's relevant id; None for the session's own id.
        text: the error response's text.
        spares_image: whether the request stream stays open, because other clients use it too.
    """

    relevant_id: int | None
    text: str
    spares_image: bool = False


class ControlSession:
    """A connected client.

    Attributes:
        session_id: id of the control session.
        number: how many sessions the archive had before it.
        correlation_id: id of the latest connect request or challenge response.
        image: image on which the connect request came, None after the end.
        principal: the client's name, given by the authenticator.
        active_listing: whether a listing runs, of which there may be one at a time.
        end: why the session ended, None before.
    """

    def __init__(
        self,
        *,
        session_id: int,
        number: int,
        correlation_id: int,
        image: Image,
        response_channel: str,
        response_stream_id: int,
        refusal: Refusal | None,
        publication: Future[ExclusivePublication],
        counter: Future[Counter],
        authenticator: Authenticator,
        reporter: ArchiveReporter,
        connect_timeout_ns: int,
        liveness_interval_ns: int,
        queue_limit: int,
        now_ns: int,
        show_reference: Callable[[Counter, int], None],
        stir: Callable[[ControlSession], None],
        on_rejected: Callable[[], object],
    ) -> None:
        self.session_id = session_id
        self.correlation_id = correlation_id
        self.image: Image | None = image
        self.response_channel = response_channel
        self.response_stream_id = response_stream_id
        self.number = number
        self._state = SessionState.INIT
        self.principal = b""
        self.active_listing = False
        self.end: SessionEnd | None = None
        self._refusal = refusal
        self._pending_publication: Future[ExclusivePublication] | None = publication
        self._pending_counter: Future[Counter] | None = counter
        self._publication: ExclusivePublication | None = None
        self._counter: Counter | None = None
        self._authenticator = authenticator
        self._reporter = reporter
        self._show_reference = show_reference
        self._stir = stir
        self._on_rejected = on_rejected
        self._connect_timeout_ns = connect_timeout_ns
        self._liveness_interval_ns = liveness_interval_ns
        self._activity_deadline_ns: int | None = now_ns + connect_timeout_ns
        self._next_liveness_ns = now_ns + liveness_interval_ns
        self._resend_deadline_ns: int | None = None
        self._hurry_until_ns = now_ns + HURRY_NS
        self._now_ns = now_ns
        self._now_ms = 0
        self._sync_queue: deque[bytes] = deque()
        self._async_queue: deque[bytes] = deque()
        self._queue_limit = queue_limit
        self._queued_length = 0
        self._is_blocked = False
        self._abort_reason: str | None = None

    @property
    def state(self) -> SessionState:
        """The session's state, see SessionState."""
        return self._state

    @state.setter
    def state(self, state: SessionState) -> None:
        if state is self._state:
            return
        reason = state.name.lower()
        if state is SessionState.DONE:
            reason = self._abort_reason or SESSION_CLOSED
        self._reporter.events.control_session(self.session_id, self._state.name, state.name, reason)
        self._state = state

    @property
    def is_done(self) -> bool:
        """Whether the session has ended and has to be closed."""
        return self.state is SessionState.DONE

    @property
    def is_busy(self) -> bool:
        """Whether the session has more work for the next duty cycle."""
        if self.state in _BEING_SET_UP:
            return self._now_ns < self._hurry_until_ns
        return not self._is_blocked and bool(self._sync_queue or self._async_queue)

    @property
    def is_waiting(self) -> bool:
        """Whether the session waits for something that only the passage of time reveals."""
        return self.state is not SessionState.ACTIVE or self._is_blocked

    @property
    def is_authenticated(self) -> bool:
        """Whether the client was authenticated."""
        return self.state in {SessionState.AUTHENTICATED, SessionState.ACTIVE}

    def do_work(self, now_ns: int, now_ms: int) -> int:
        """Do one round of the session's work and return its work count."""
        self._now_ns, self._now_ms = now_ns, now_ms
        work = 0
        if self.state is SessionState.ACTIVE:
            work += self._ping_and_drain()
            self._check_deadline()
            return work
        match self.state:
            case SessionState.INIT:
                work += self._await_resources()
            case SessionState.CONNECTING:
                work += self._await_connection()
            case SessionState.CONNECTED:
                work += self._greet()
            case SessionState.CHALLENGED:
                self._authenticator.on_challenged_session(self, now_ms)
            case SessionState.AUTHENTICATED:
                if self._resend_due():
                    work += self._send_connected()
            case SessionState.REJECTED:
                if self._resend_due():
                    work += self._send_rejected()
            case SessionState.DONE:
                return 0
        self._check_deadline()
        return work

    def _await_resources(self) -> int:
        work = 0
        if self._pending_publication is not None and self._pending_publication.done():
            future, self._pending_publication = self._pending_publication, None
            try:
                self._publication = future.result()
            except RegistrationError as error:
                self._reporter.error(error)
            finally:
                del future  # the error's traceback would keep this session and its image's log
            work += 1
        if self._pending_counter is not None and self._pending_counter.done():
            counter_future, self._pending_counter = self._pending_counter, None
            try:
                self._counter = counter_future.result()
            except RegistrationError as error:
                self._reporter.error(error)
            finally:
                del counter_future
            work += 1
        if work and self._publication is not None and self._counter is not None:
            self._show_counter(self._counter, self._publication.registration_id)
            self._activity_deadline_ns = self._now_ns + self._connect_timeout_ns
            self.state = SessionState.CONNECTING
        return work

    def _show_counter(self, counter: Counter, registration_id: int) -> None:
        self._show_reference(counter, registration_id)
        counter.value = self.session_id

    def _await_connection(self) -> int:
        assert self._publication is not None
        if not self._publication.is_connected:
            return 0
        self.state = SessionState.CONNECTED
        return 1 + self._greet()

    def _greet(self) -> int:
        if not self._resend_due():
            return 0
        refusal = self._refusal
        if refusal is not None:
            code = self.session_id if refusal.relevant_id is None else refusal.relevant_id
            self._send(
                self._response(self.correlation_id, code, ControlResponseCode.ERROR, refusal.text)
            )
        else:
            self._authenticator.on_connected_session(self, self._now_ms)
        return 1

    def _resend_due(self) -> bool:
        deadline = self._resend_deadline_ns
        if deadline is not None and self._now_ns <= deadline:
            return False
        self._resend_deadline_ns = self._now_ns + RESEND_INTERVAL_NS
        return True

    def _check_deadline(self) -> None:
        deadline = self._activity_deadline_ns
        if self.state is SessionState.DONE or deadline is None or self._now_ns <= deadline:
            return
        if self.is_authenticated:
            timeout_ms = self._connect_timeout_ns // NS_PER_MS
            self.abort(
                f"failed to send response for more than connectTimeoutMs={timeout_ms}",
                SessionEnd.NOT_READING,
            )
        else:
            self.abort(
                f"failed to establish initial connection: state={self.state.name}",
                SessionEnd.NOT_ESTABLISHED,
            )

    # -- what the authenticator may do (SessionProxy) ---------------------------------------------

    def authenticate(self, principal: bytes) -> bool:
        """Accept the client; returns False when the answer could not be sent yet."""
        if not self._send_connected():
            return False
        self.principal = principal
        self.state = SessionState.AUTHENTICATED
        self._activity_deadline_ns = None
        return True

    def challenge(self, encoded_challenge: bytes) -> bool:
        """Send a challenge; returns False when it could not be sent yet."""
        sent = self._send(
            Challenge(
                control_session_id=self.session_id,
                correlation_id=self.correlation_id,
                encoded_challenge=encoded_challenge,
            )
        )
        if sent:
            self.state = SessionState.CHALLENGED
        return sent

    def reject(self) -> None:
        """Reject the client; the following duty cycles send the answer."""
        self.state = SessionState.REJECTED
        self._on_rejected()
        source = "" if self.image is None else self.image.source_identity
        self._reporter.event(
            f"authentication rejected: source={source}",
            ("authentication rejected", source.rpartition(":")[0]),
        )

    def on_challenge_response(self, correlation_id: int, credentials: bytes) -> None:
        """Pass the client's answer to the authenticator if a challenge was sent."""
        if self.state is SessionState.CHALLENGED:
            self.correlation_id = correlation_id
            self._hurry_until_ns = self._now_ns + HURRY_NS
            self._stir(self)
            self._authenticator.on_challenge_response(self.session_id, credentials, self._now_ms)

    def _send_connected(self) -> bool:
        return self._send(
            self._response(self.correlation_id, self.session_id, ControlResponseCode.OK, "")
        )

    def _send_rejected(self) -> bool:
        return self._send(
            self._response(
                self.correlation_id,
                ArchiveErrorCode.AUTHENTICATION_REJECTED,
                ControlResponseCode.ERROR,
                "authentication rejected",
            )
        )

    # -- requests ---------------------------------------------------------------------------------

    def activate(self) -> bool:
        """Activate the session for a request; returns whether the request may be carried out."""
        if self.state is SessionState.AUTHENTICATED:
            self.state = SessionState.ACTIVE
        return self.state is SessionState.ACTIVE

    # -- responses --------------------------------------------------------------------------------

    def send_ok(self, correlation_id: int, relevant_id: int = 0, text: str = "") -> None:
        """Answer with OK; only answers that the reference does not have carry a text."""
        self._respond(correlation_id, relevant_id, ControlResponseCode.OK, text)

    def send_error(self, correlation_id: int, code: int, text: str) -> None:
        """Answer a request with an error."""
        self._respond(correlation_id, code, ControlResponseCode.ERROR, text)

    def send_recording_unknown(self, correlation_id: int, recording_id: int) -> None:
        """Answer that the recording does not exist, or that no further one does."""
        self._respond(correlation_id, recording_id, ControlResponseCode.RECORDING_UNKNOWN, "")

    def send_subscription_unknown(self, correlation_id: int) -> None:
        """Answer that no further recording subscription exists."""
        self._respond(correlation_id, 0, ControlResponseCode.SUBSCRIPTION_UNKNOWN, "")

    def send_signal(
        self,
        correlation_id: int,
        recording_id: int,
        subscription_id: int,
        position: int,
        signal: RecordingSignal,
    ) -> None:
        """Send a recording signal, in order with the responses."""
        self._send_or_queue(
            RecordingSignalEvent(
                control_session_id=self.session_id,
                correlation_id=correlation_id,
                recording_id=recording_id,
                subscription_id=subscription_id,
                position=position,
                signal=signal,
            ).encode()
        )

    def try_send(self, message: bytes) -> bool:
        """Send a descriptor; returns False when the listing has to try again."""
        return self._offer(message)

    def send_later(self, correlation_id: int, relevant_id: int) -> None:
        """Answer with OK in the session's next duty cycle; callable from any thread."""
        response = self._response(correlation_id, relevant_id, ControlResponseCode.OK, "")
        self._async_queue.append(response.encode())
        self._stir(self)

    def _response(
        self, correlation_id: int, relevant_id: int, code: ControlResponseCode, text: str
    ) -> ControlResponse:
        return ControlResponse(
            control_session_id=self.session_id,
            correlation_id=correlation_id,
            relevant_id=relevant_id,
            code=code,
            error_message=text,
        )

    def _respond(
        self, correlation_id: int, relevant_id: int, code: ControlResponseCode, text: str
    ) -> None:
        self._send_or_queue(self._response(correlation_id, relevant_id, code, text).encode())

    def _send_or_queue(self, message: bytes) -> None:
        if self.is_done or not (self._sync_queue or not self._offer(message)):
            return
        self._queued_length += len(message) + QUEUED_OVERHEAD
        if self._queued_length > self._queue_limit:
            self.abort(
                f"more than {self._queue_limit} bytes of responses not read", SessionEnd.NOT_READING
            )
        elif not self.is_done:
            self._sync_queue.append(message)
            self._stir(self)

    def _send(self, message: Message) -> bool:
        return self._offer(message.encode())

    def _offer(self, message: bytes) -> bool:
        """Offer a message; a send that can never succeed ends the session."""
        publication = self._publication
        if publication is None or self.is_done:
            return False
        for _ in range(SEND_ATTEMPTS):
            result = publication.offer(message)
            if result > 0:
                self._reporter.events.message(message)
                if self.is_authenticated:
                    self._activity_deadline_ns = None
                return True
            if result in _FINAL:
                self.abort(*_FINAL[result])
                return False
        if self.is_authenticated and self._activity_deadline_ns is None:
            self._activity_deadline_ns = self._now_ns + self._connect_timeout_ns
        return False

    def _ping_and_drain(self) -> int:
        work = 0
        assert self._publication is not None
        if not self._publication.is_connected:
            # The client has gone, which shows without an offer; no warning is needed.
            self._abort_reason = RESPONSE_NOT_CONNECTED
            self.end = SessionEnd.CLIENT_GONE
            self.state = SessionState.DONE
            return 1
        if self._now_ns > self._next_liveness_ns:
            self._next_liveness_ns = self._now_ns + self._liveness_interval_ns
            self._send(Ping(control_session_id=self.session_id))
            work += 1
        return work + self._drain()

    def _drain(self) -> int:
        """Send queued messages as far as the publication takes them."""
        work = 0
        self._is_blocked = False
        for queue in (self._sync_queue, self._async_queue):
            room = DRAIN_LIMIT
            while room and queue and self.state is SessionState.ACTIVE:
                if not self._offer(queue[0]):
                    self._is_blocked = True
                    break
                sent = queue.popleft()
                if queue is self._sync_queue:
                    self._queued_length -= len(sent) + QUEUED_OVERHEAD
                room -= 1
                work += 1
        unread = len(self._async_queue) * (PLAIN_RESPONSE_LENGTH + QUEUED_OVERHEAD)
        if unread > self._queue_limit:
            self.abort(
                f"more than {self._queue_limit} bytes of responses not read", SessionEnd.NOT_READING
            )
        return work

    # -- the end ----------------------------------------------------------------------------------

    def abort(self, reason: str, end: SessionEnd) -> None:
        """End the session; only the first reason is kept."""
        if self.state is not SessionState.DONE:
            self._abort_reason = reason
            self.end = end
            self.state = SessionState.DONE
            self._stir(self)
            if self._is_fault(reason):
                self._reporter.event(
                    f"controlSessionId={self.session_id}"
                    f" (controlResponseStreamId={self.response_stream_id}"
                    f" controlResponseChannel={self.response_channel}) terminated: {reason}",
                    ("terminated", end, reason),
                )

    def _is_fault(self, reason: str) -> bool:
        return reason != SESSION_CLOSED and not reason.startswith(REQUEST_IMAGE_UNAVAILABLE)

    def close(self) -> None:
        """Release everything: the response stream is revoked and the counter freed.

        What the client has started knows its session for as long as it lasts, so that the session
        lets go of its streams, whose logs would stay mapped.
        """
        self.state = SessionState.DONE
        image, self.image = self.image, None
        publication, self._publication = self._publication, None
        self._sync_queue.clear()
        self._async_queue.clear()
        reason = self._abort_reason or SESSION_CLOSED
        for future in (self._pending_publication, self._pending_counter):
            if future is not None:
                future.cancel()
        if publication is not None:
            publication.revoke()
        if self._counter is not None:
            self._counter.close()
        forget = getattr(self._authenticator, "on_session_closed", None)
        if forget is not None:
            self._reporter.run(lambda: forget(self.session_id))
        # The request stream is rejected, so that the client notices (spec archive-protocol 6.7).
        is_plain = reason == RESPONSE_NOT_CONNECTED or not self._is_fault(reason)
        is_spared = self._refusal is not None and self._refusal.spares_image
        if not is_plain and not is_spared and image is not None and not image.closed:
            self._reporter.run(lambda: image.reject(reason))
