"""All control sessions: their connects, duty cycles and ends (spec archive-protocol 6).

The conductor runs a session that has work in every duty cycle. The others, which only wait for time
to pass or for their client to go, are run in periodic sweeps, so that a thousand of them cost
little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive import protocol as ap
from aerolog.archive.service import properties as p
from aerolog.archive.service.conductor.control_session import (
    REQUEST_IMAGE_UNAVAILABLE,
    ControlSession,
    Refusal,
    SessionEnd,
)
from aerolog.transport.errors import ArchiveErrorCode
from aerolog.transport.memory.counters import set_reference_id
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.service.context import ArchiveContext
    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.client.image import Image
    from aerolog.transport.security.authentication import Authenticator

SWEEP_INTERVAL_NS: Final = 10_000_000
# Most sessions closed in a duty cycle: each close sends commands to the driver.
CLOSE_LIMIT: Final = 50
# Most clients above the limit that get an answer at a time; the others get none.
REFUSED_MAX: Final = 16


class ControlSessions:
    """The open control sessions.

    Args:
        context: the objects that all parts of the archive use.
        authenticator: decides which clients may connect.
        next_session_id: returns new ids, which replications use as well.
        on_closed: called with each session that has ended.
    """

    def __init__(
        self,
        context: ArchiveContext,
        authenticator: Authenticator,
        next_session_id: Callable[[], int],
        on_closed: Callable[[ControlSession], object],
    ) -> None:
        self._context = context
        self._authenticator = authenticator
        self._next_session_id = next_session_id
        self._on_closed = on_closed
        self._are_bound: bool = context.config[p.BOUND_CONTROL_SESSIONS]
        self._number = 0
        self._limit: int = context.config[p.MAX_CONTROL_SESSIONS]
        self._sessions: dict[int, ControlSession] = {}
        self._above_limit: set[ControlSession] = set()
        # Sessions to run in the next duty cycle; other threads add to this set.
        self._stirred: set[ControlSession] = set()
        self._next_sweep_ns = 0
        self._waiting = False

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> ControlSession | None:
        """Return a session by its id."""
        return self._sessions.get(session_id)

    def find(self, image: Image, request: ap.Message) -> ControlSession | None:
        """Return the session of a request that came on an image.

        An unknown session is reported, and so is one that another image opened: whoever learns or
        guesses the id of another's session may do nothing in it.
        """
        session_id: int | None = getattr(request, "control_session_id", None)
        session = None if session_id is None else self._sessions.get(session_id)
        if session is None:
            self._context.reporter.event(
                f"control request for unknown session: controlSessionId={session_id}"
                f" templateId={request.LAYOUT.template_id}",
                ("unknown session", request.LAYOUT.template_id),
            )
        elif not self._answers_to(image, session):
            self._context.reporter.event(
                "control request on another connection than its session's:"
                f" templateId={request.LAYOUT.template_id}"
            )
            return None
        return session

    def _answers_to(self, image: Image, session: ControlSession) -> bool:
        """Return whether requests on an image may use a session."""
        return session.image is image or not self._are_bound

    # -- connects ---------------------------------------------------------------------------------

    def connect(self, image: Image, request: ap.ConnectRequest | ap.AuthConnectRequest) -> None:
        """Start a session, or one that only answers that there are too many.

        Raises:
            ChannelUriError: the response channel cannot be parsed.
        """
        context, config = self._context, self._context.config
        channel = self._response_channel(image, request.response_channel)
        refusal = self._limit_refusal()
        is_above_limit = refusal is not None
        if refusal is None:
            refusal = _version_refusal(request.version)
        else:
            context.counters.sessions_refused.add(1)
            if len(self._above_limit) >= REFUSED_MAX:
                return
            context.reporter.event(refusal.text)
        credentials, client_info = b"", ""
        if isinstance(request, ap.AuthConnectRequest):
            credentials, client_info = request.encoded_credentials, request.client_info
        session_id = self._next_session_id()
        self._number += 1
        session = ControlSession(
            session_id=session_id,
            number=self._number,
            correlation_id=request.correlation_id,
            image=image,
            response_channel=channel,
            response_stream_id=request.response_stream_id,
            refusal=refusal,
            publication=context.aeron.add_exclusive_publication_async(
                channel, request.response_stream_id
            ),
            counter=context.counters.control_session(
                session_id, client_info, image.source_identity, image.session_id
            ),
            authenticator=self._authenticator,
            reporter=context.reporter,
            connect_timeout_ns=config[p.CONNECT_TIMEOUT],
            liveness_interval_ns=config[p.LIVENESS_INTERVAL],
            queue_limit=config[p.RESPONSE_QUEUE_LENGTH],
            now_ns=context.now_ns(),
            show_reference=self._show_reference,
            stir=self._stirred.add,
            on_rejected=lambda: context.counters.authentications_rejected.add(1),
        )
        self._sessions[session_id] = session
        self._stirred.add(session)
        context.counters.control_sessions.add(1)
        if is_above_limit:
            self._above_limit.add(session)
        if refusal is None:
            tell_source = getattr(self._authenticator, "on_source", None)
            if tell_source is not None:
                tell_source(session_id, image.source_identity)
            self._authenticator.on_connect_request(session_id, credentials, context.now_ms())

    def _limit_refusal(self) -> Refusal | None:
        accepted = len(self._sessions) - len(self._above_limit)
        if self._limit == 0 or accepted < self._limit:
            return None
        # Sessions that end in this duty cycle already make room.
        ending = {session for session in self._sessions.values() if session.is_done}
        if accepted - len(ending - self._above_limit) < self._limit:
            return None
        return Refusal(
            ArchiveErrorCode.GENERIC,
            f"max concurrent control sessions reached {self._limit}",
            spares_image=True,
        )

    def _response_channel(self, image: Image, requested: str) -> str:
        """Return the channel of a session's response publication (spec archive-protocol 6.1)."""
        config = self._context.config
        uri = ChannelUri.parse(requested)
        channel = uri.strip().replace(
            term_length=uri.get("term-length", config[p.CONTROL_TERM_LENGTH]),
            sparse=uri.get("sparse", config[p.CONTROL_SPARSE]),
            mtu=uri.get("mtu", config[p.CONTROL_MTU]),
        )
        if uri.has_control_mode_response:
            channel = channel.replace(response_correlation_id=image.correlation_id)
        return str(channel)

    def _show_reference(self, counter: Counter, registration_id: int) -> None:
        set_reference_id(
            self._context.aeron.conductor.counters,
            counter.counter_id,
            counter.registration_id,
            registration_id,
        )

    # -- duty cycles ------------------------------------------------------------------------------

    def do_work(self, now_ns: int, now_ms: int) -> int:
        """Run the sessions that have work, newest first, or all of them in a sweep."""
        if now_ns >= self._next_sweep_ns:
            self._next_sweep_ns = now_ns + SWEEP_INTERVAL_NS
            self._stirred.clear()
            due = list(reversed(self._sessions.values()))
            self._waiting = False
        elif self._stirred:
            due = list(self._stirred)
            self._stirred.difference_update(due)
            due.sort(key=lambda session: -session.number)
        else:
            return 0
        # Each session leaves the set before it runs and joins it again afterwards if it is busy, so
        # that a session which another thread adds in between is not lost.
        work, closed = 0, 0
        for session in due:
            try:
                work += session.do_work(now_ns, now_ms)
            except Exception as error:  # noqa: BLE001 - other sessions are unaffected
                self._context.reporter.error(error)
            if session.is_done and closed < CLOSE_LIMIT:
                self._close(session)
                closed += 1
            elif session.is_busy or session.is_done:
                self._stirred.add(session)
            else:
                self._waiting = self._waiting or session.is_waiting
        return work + closed

    def next_turn_ns(self, now_ns: int) -> int | None:
        """Return when a session has to run even if nothing happens; None for no time soon."""
        if self._stirred:
            return now_ns
        return self._next_sweep_ns if self._waiting else None

    # -- ends -------------------------------------------------------------------------------------

    def on_image_gone(self, image: Image) -> None:
        """End one session of a request stream that has gone; the others end by their responses."""
        for session in self._sessions.values():
            if session.image is image and not session.is_done:
                session.abort(
                    f"{REQUEST_IMAGE_UNAVAILABLE} : controlSessionId={session.session_id}"
                    f" image.correlationId={image.correlation_id}"
                    f" sessionId={image.session_id} streamId={image.stream_id}",
                    SessionEnd.CLIENT_GONE,
                )
                break

    def _close(self, session: ControlSession) -> None:
        if self._sessions.pop(session.session_id, None) is None:
            return
        self._stirred.discard(session)
        counters = self._context.counters
        counters.control_sessions.add(-1)
        if session in self._above_limit:
            self._above_limit.discard(session)
        elif session.end in counters.sessions_dropped:
            counters.sessions_dropped[session.end].add(1)
        self._on_closed(session)
        self._context.reporter.run(session.close)

    def close(self) -> None:
        """End all sessions, newest first."""
        for session in list(reversed(self._sessions.values())):
            self._context.reporter.run(session.close)
        self._sessions.clear()
        self._stirred.clear()


def _version_refusal(version: int) -> Refusal | None:
    if ap.semantic_version_major(version) == 1:
        return None
    # The reference sends the session's id where other errors have their code.
    return Refusal(
        None,
        f"invalid client version {ap.semantic_version_text(version)},"
        f" archive is {ap.semantic_version_text(ap.PROTOCOL_VERSION)}",
    )
