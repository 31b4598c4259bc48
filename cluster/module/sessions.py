"""All sessions of the cluster: who comes in, who is open, who leaves (spec cluster 9)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.cluster.module import properties as p
from aerolog.cluster.module.event_log import ClusterEventCode
from aerolog.cluster.module.extension import extension_call
from aerolog.cluster.module.session import Session, SessionState
from aerolog.cluster.protocol import (
    NULL_VALUE,
    SCHEMA_ID,
    AdminRequest,
    AdminRequestType,
    AdminResponseCode,
    ChallengeResponse,
    CloseReason,
    EventCode,
    SessionConnectRequest,
    semantic_version_major,
    semantic_version_text,
)
from aerolog.cluster.protocol.schema import CLIENT_PROTOCOL_VERSION
from aerolog.transport.errors import ChannelUriError, MessageTooLargeError, RegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from aerolog.cluster.module.log_publisher import LogPublisher
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.module.steady_agent import SteadyAgent
    from aerolog.cluster.protocol import SessionOpenEvent
    from aerolog.transport.client.image import Image
    from aerolog.transport.security.authentication import Authenticator, AuthorisationService

#: Clients that are being refused at a time; for further ones the oldest go without an answer.
_REFUSALS_MAX: Final = 200
#: Logs to such clients that the driver is asked for at a time. What a flood asks for beyond them
#: is passed over: the driver would be busy with it for seconds, and answer nobody else.
_REFUSALS_ASKED_MAX: Final = 50
_LIMIT_TEXT: Final = "concurrent session limit"


class Sessions:
    """The sessions of a node, open ones by id and pending ones in the order in which they came.

    Args:
        context: what all parts of the module use.
        steady: the native part, which knows the open sessions.
        authenticator: decides who is let in.
        authorisation: decides who may have a snapshot taken.

    Attributes:
        open: the sessions that the log has opened and not closed, by id.
        next_session_id: the id of the next session.
    """

    def __init__(
        self,
        context: ModuleContext,
        steady: SteadyAgent,
        authenticator: Authenticator,
        authorisation: AuthorisationService,
    ) -> None:
        self._context = context
        self._steady = steady
        self._authenticator = authenticator
        self._authorisation = authorisation
        self.open: dict[int, Session] = {}
        self.next_session_id = 1
        self._pending: list[Session] = []
        self._leaving: list[Session] = []  # told that they are refused, redirected or closed
        self._term_mark = 0  # publications that clients add in this term have greater ids
        self._greeting: Generator[int, None, None] | None = None
        self._admin: dict[int, tuple[int, AdminRequestType]] = {}  # by session: who waits for it

    # -- requests of clients ---------------------------------------------------------------------

    def on_connect(self, request: SessionConnectRequest, image: Image, now_ns: int) -> None:
        """Take a connect request, which is answered in later duty cycles."""
        context = self._context
        if sum(session.is_adding for session in self._leaving) >= _REFUSALS_ASKED_MAX:
            return
        is_leader = context.is_leader
        session_id = self.next_session_id if is_leader else -1
        session = Session(
            session_id,
            request.correlation_id,
            request.response_stream_id,
            request.response_channel,
            client_info=request.client_info,
            source_identity=image.source_identity,
            image_session_id=image.session_id,
            ingress_image_id=image.correlation_id,
        )
        session.last_activity_ns = now_ns
        if not is_leader:
            session.refuse(EventCode.REDIRECT, context.ingress_endpoints)
        else:
            self.next_session_id += 1
            if semantic_version_major(request.version) != semantic_version_major(
                CLIENT_PROTOCOL_VERSION
            ):
                self._refuse(
                    session,
                    f"invalid client version {semantic_version_text(request.version)}, cluster is"
                    f" {semantic_version_text(CLIENT_PROTOCOL_VERSION)}",
                )
            elif len(self._pending) + len(self.open) >= context.config[p.MAX_SESSIONS]:
                self._refuse(session, _LIMIT_TEXT)
            else:
                self._authenticator.on_connect_request(
                    session_id, request.encoded_credentials, context.clock.now_epoch_ms()
                )
        try:
            session.connect(context.aeron)
        except (RegistrationError, ChannelUriError) as error:
            context.reporter.error(error, "response channel")
            return
        if session.refusal is None:
            self._pending.append(session)
            return
        self._leaving.append(session)
        if len(self._leaving) > _REFUSALS_MAX:
            self._leaving.pop(0).disconnect()

    def _refuse(self, session: Session, text: str) -> None:
        """Have a client told why it is not let in, and note that as the reference does."""
        session.refuse(EventCode.ERROR, text)
        member_id = self._context.config.member.member_id
        self._context.reporter.event(
            f"ERROR {text}, clusterMemberId={member_id}, id={session.session_id}",
            ("refused client", text == _LIMIT_TEXT),
        )

    def on_challenge_response(self, response: ChallengeResponse, image: Image, now_ns: int) -> None:
        """Take a client's answer to a challenge."""
        for session in self._pending:
            if (
                session.session_id == response.cluster_session_id
                and session.ingress_image_id == image.correlation_id
                and session.state is SessionState.CHALLENGED
            ):
                session.last_activity_ns = now_ns
                session.correlation_id = response.correlation_id
                self._authenticator.on_challenge_response(
                    session.session_id,
                    response.encoded_credentials,
                    self._context.clock.now_epoch_ms(),
                )

    def ask_close(self, session_id: int, reason: CloseReason) -> None:
        """Have an open session closed, as its client or a service asks."""
        session = self.open.get(session_id)
        if session is not None and session.close_reason is CloseReason.NULL:
            session.close_reason = reason

    def on_admin_request(self, request: AdminRequest, snapshot: Callable[[], str]) -> None:
        """Answer an operator's request, or note that it waits for the snapshot.

        Args:
            request: the request.
            snapshot: called to have a snapshot taken; returns why there will be none.
        """
        session = self.open.get(request.cluster_session_id)
        if session is None:
            return
        kind, correlation_id = request.request_type, request.correlation_id
        if not self._authorisation.is_authorised(
            SCHEMA_ID, request.LAYOUT.template_id, kind, session.principal
        ):
            session.send_admin_response(
                correlation_id,
                kind,
                AdminResponseCode.UNAUTHORISED_ACCESS,
                f"Execution of the {kind.name} request was not authorised",
            )
            return
        if kind != AdminRequestType.SNAPSHOT:
            session.send_admin_response(
                correlation_id, kind, AdminResponseCode.ERROR, f"Unknown request type: {kind}"
            )
            return
        refusal = snapshot()
        if refusal:
            session.send_admin_response(correlation_id, kind, AdminResponseCode.ERROR, refusal)
        else:
            self._admin[session.session_id] = (correlation_id, kind)

    def on_snapshot_end(self, *, is_taken: bool) -> None:
        """Tell those who asked for a snapshot that it is there, or that there is none."""
        code = AdminResponseCode.OK if is_taken else AdminResponseCode.ERROR
        text = "" if is_taken else "a service failed to take its snapshot"
        for session_id, (correlation_id, kind) in self._admin.items():
            session = self.open.get(session_id)
            if session is not None:
                session.send_admin_response(correlation_id, kind, code, text)
        self._admin.clear()

    # -- the duty cycle --------------------------------------------------------------------------

    def do_work(self, log: LogPublisher | None, now_ns: int) -> int:
        """Advance sessions that come and go; ``log`` is None where the node does not write."""
        work = self._let_in(log, now_ns) + self._dismiss(now_ns)
        if log is not None:
            work += self._close(log, now_ns)
            work += self._tell_open()
        if self._greeting is not None and next(self._greeting, None) is None:
            self._greeting = None
        return work

    @property
    def is_busy(self) -> bool:
        """Whether sessions are on their way in or out, or have to learn of a new leader."""
        return bool(self._pending or self._leaving or self._greeting) or any(
            not session.is_open_told or session.close_reason is not CloseReason.NULL
            for session in self.open.values()
        )

    def _let_in(self, log: LogPublisher | None, now_ns: int) -> int:
        work = 0
        timeout_ns = self._context.config[p.SESSION_TIMEOUT]
        for session in list(self._pending):
            try:
                if session.is_connected():
                    self._authenticate(session)
            except (RegistrationError, MessageTooLargeError) as error:
                self._context.reporter.error(error, "response channel")
                self._drop(session)
                continue
            if session.state is SessionState.REJECTED:
                self._pending.remove(session)
                self._leaving.append(session)
                work += 1
            elif session.state is SessionState.AUTHENTICATED and log is not None:
                work += self._open(session, log, now_ns)
            elif now_ns - session.last_activity_ns > timeout_ns:
                self._context.counters.timed_out_clients.add(1)
                self._drop(session)
        return work

    def _drop(self, session: Session) -> None:
        session.disconnect()
        session.state = SessionState.INVALID
        self._pending.remove(session)

    def _authenticate(self, session: Session) -> None:
        now_ms = self._context.clock.now_epoch_ms()
        if session.state is SessionState.INIT:
            session.state = SessionState.CONNECTED
        if session.state is SessionState.CONNECTED:
            self._authenticator.on_connected_session(session, now_ms)
        elif session.state is SessionState.CHALLENGED:
            self._authenticator.on_challenged_session(session, now_ms)

    def _open(self, session: Session, log: LogPublisher, now_ns: int) -> int:
        try:
            position = log.session_open(session, self._steady.now())
        except MessageTooLargeError as error:
            self._context.reporter.error(error, "session that is too long for the log")
            session.refuse(EventCode.ERROR, "response channel and principal are too long")
            return 1
        if position == 0:
            return 0
        session.opened_log_position = position
        session.state = SessionState.OPEN
        session.last_activity_ns = now_ns
        self._pending.remove(session)
        self.open[session.session_id] = session
        self._show(session)
        self._tell_steady()
        self._tell_extension_of_opening(session.session_id)
        self._context.uncommitted.note(position, partial(self._take_back_opening, session))
        return 1

    def _take_back_opening(self, session: Session) -> None:
        """Let a session wait for the next term, whose opening the log has lost."""
        del self.open[session.session_id]
        session.state = SessionState.AUTHENTICATED
        session.opened_log_position = NULL_VALUE
        self._pending.append(session)
        self._tell_steady()
        self._tell_extension_of_end(session.session_id, CloseReason.NULL)

    def _take_back_closing(self, session: Session) -> None:
        """Keep a session open, whose closing the log has lost; the next term closes it."""
        session.state = SessionState.OPEN
        session.refusal = None
        if session in self._leaving:
            self._leaving.remove(session)
        self.open[session.session_id] = session
        self._tell_steady()
        self._tell_extension_of_opening(session.session_id)

    def _tell_extension_of_opening(self, session_id: int) -> None:
        extension = self._context.extension
        if extension is not None:
            with extension_call("on_session_opened"):
                extension.on_session_opened(session_id)

    def _tell_extension_of_end(self, session_id: int, reason: CloseReason) -> None:
        extension = self._context.extension
        if extension is not None:
            with extension_call("on_session_closed"):
                extension.on_session_closed(session_id, reason)

    def _show(self, session: Session) -> None:
        if session.counter is not None:
            return
        adding = self._context.counters.add_session(
            session.session_id,
            session.client_info,
            session.source_identity,
            session.image_session_id,
        )

        def added(_adding: object) -> None:
            if adding.exception():
                return
            counter = adding.result()
            counter.value = session.session_id
            if session.state is SessionState.CLOSED or session.counter is not None:
                counter.close()
            else:
                session.counter = counter

        adding.add_done_callback(added)

    def _tell_open(self) -> int:
        work = 0
        committed = self._context.counters.commit_position.value
        for session in self.open.values():
            is_due = not session.is_open_told and session.opened_log_position <= committed
            if is_due and session.is_connected():
                session.is_open_told = self._send_event(session, EventCode.OK, "")
                work += session.is_open_told
        return work

    def _send_event(self, session: Session, code: EventCode, detail: str) -> bool:
        context = self._context
        return session.send_event(
            code,
            detail,
            leadership_term_id=context.leadership_term_id,
            leader_member_id=context.leader_member_id,
            heartbeat_timeout_ns=context.config[p.HEARTBEAT_TIMEOUT],
        )

    def _close(self, log: LogPublisher, now_ns: int) -> int:
        work = 0
        timeout_ns = self._context.config[p.SESSION_TIMEOUT]
        for session in list(self.open.values()):
            if session.close_reason is CloseReason.NULL:
                if now_ns - self.last_activity_ns(session) <= timeout_ns:
                    continue
                session.close_reason = CloseReason.TIMEOUT
                self._context.counters.timed_out_clients.add(1)
            session.state = SessionState.CLOSING
            timestamp = self._steady.now()
            position = log.session_close(session, timestamp)
            if not position:
                break
            self._context.uncommitted.note(position, partial(self._take_back_closing, session))
            self._context.events.log(
                ClusterEventCode.APPEND_SESSION_CLOSE,
                session.session_id,
                session.close_reason,
                self._context.leadership_term_id,
                timestamp,
                self._context.config.time_unit,
            )
            self._end(session)
            session.refusal = (EventCode.CLOSED, session.close_reason.name)
            if session.close_reason is CloseReason.CLIENT_ACTION:
                session.disconnect()
            else:
                session.last_activity_ns = now_ns
                self._leaving.append(session)
            work += 1
        return work

    def last_activity_ns(self, session: Session) -> int:
        """Return when a session was last heard of."""
        return max(session.last_activity_ns, self._steady.last_activity_ns(session.session_id))

    def forgive(self, now_ns: int) -> None:
        """Time the silence of all open sessions from now on."""
        for session in self.open.values():
            session.last_activity_ns = now_ns

    def _end(self, session: Session) -> None:
        session.state = SessionState.CLOSED
        self.open.pop(session.session_id, None)
        self._admin.pop(session.session_id, None)
        if session.counter is not None:
            session.counter.close()
            session.counter = None
        self._tell_steady()
        self._tell_extension_of_end(session.session_id, session.close_reason)

    def _dismiss(self, now_ns: int) -> int:
        """Tell clients that are not let in, and let them go."""
        work = 0
        timeout_ns = self._context.config[p.SESSION_TIMEOUT]
        for session in list(self._leaving):
            assert session.refusal is not None
            told = self._is_told(session, partial(self._send_event, session, *session.refusal))
            if told or now_ns - session.last_activity_ns > timeout_ns:
                session.disconnect()
                self._leaving.remove(session)
                work += 1
        return work

    def _is_told(self, session: Session, tell: Callable[[], bool]) -> bool:
        """Tell a client once it can be answered; true as well for one that never can."""
        try:
            return session.is_connected() and tell()
        except RegistrationError as error:
            self._context.reporter.error(error, "response channel")
            return True

    def next_deadline_ns(self) -> int | None:
        """When the first open session will have been silent for too long; None without one."""
        timeout_ns = self._context.config[p.SESSION_TIMEOUT]
        times = [self.last_activity_ns(session) for session in self.open.values()]
        return min(times) + timeout_ns if times else None

    def _tell_steady(self) -> None:
        self._steady.set_sessions(
            [
                (session.session_id, session.last_activity_ns, session.ingress_image_id)
                for session in self.open.values()
            ]
        )

    # -- what a log or a snapshot says -----------------------------------------------------------

    def on_log_open(self, event: SessionOpenEvent, position: int) -> None:
        """Take a session that a replayed log opens."""
        session = Session(
            event.cluster_session_id,
            event.correlation_id,
            event.response_stream_id,
            event.response_channel,
        )
        session.principal = event.encoded_principal
        self.restore(session, position)
        self.next_session_id = max(self.next_session_id, event.cluster_session_id + 1)
        self._tell_extension_of_opening(session.session_id)

    def restore(self, session: Session, opened_log_position: int) -> None:
        """Take an open session, whose client has been told."""
        session.state = SessionState.OPEN
        session.opened_log_position = opened_log_position
        session.is_open_told = True
        self.open[session.session_id] = session

    def on_log_close(self, session_id: int, reason: CloseReason) -> None:
        """Forget a session that a replayed log closes."""
        session = self.open.pop(session_id, None)
        if session is not None:
            session.disconnect()
            session.state = SessionState.CLOSED
            self._tell_extension_of_end(session_id, reason)

    def begin_term(self, now_ns: int) -> None:
        """Begin to lead: answer the sessions that were open before, and time them from now."""
        self._steady.forget_images()
        self._term_mark = self._context.aeron.next_correlation_id()
        for session in self.open.values():
            session.last_activity_ns = now_ns
            if session.ingress_image_id != NULL_VALUE:
                session.last_image_id = session.ingress_image_id
            session.ingress_image_id = NULL_VALUE
            try:
                session.connect(self._context.aeron)
            except (RegistrationError, ChannelUriError) as error:
                self._context.reporter.error(error, "response channel")
            self._show(session)
        self._tell_steady()
        self._greeting = self._tell_new_leader()

    def end_term(self) -> None:
        """Leave the sessions to the next term, which tells their clients who leads."""
        self._greeting = None

    def settle(self, session_id: int, image: Image) -> None:
        """Have an open session take messages from the image that has its first one in this term.

        It is its client's, as far as can be told: the same as before, or a publication that was
        added after the term began, from the same host, and not that of another client. Nothing is
        known of clients that came before the node was started.
        """
        session = self.open[session_id]
        image_id, last_id = image.correlation_id, session.last_image_id
        if last_id not in {NULL_VALUE, image_id} and (
            image_id < self._term_mark
            or _host_of(image.source_identity) != _host_of(session.source_identity)
            or any(
                other.ingress_image_id == image_id
                and other.last_image_id not in {NULL_VALUE, last_id}
                for other in self.open.values()
            )
        ):
            return
        session.ingress_image_id = image_id
        session.source_identity = image.source_identity
        self._steady.bind(session_id, image_id)

    def hear(self, session_id: int, now_ns: int) -> None:
        """Note a sign of life."""
        session = self.open.get(session_id)
        if session is not None:
            session.last_activity_ns = now_ns
            self._tell_steady()

    def _tell_new_leader(self) -> Generator[int, None, None]:
        """Tell each session that was open before who leads; steps, until all were told."""
        context = self._context
        waiting = [session for session in self.open.values() if session.is_open_told]
        deadline_ns = context.clock.now_ns() + context.config[p.SESSION_TIMEOUT]
        while waiting and context.clock.now_ns() < deadline_ns:
            for session in list(waiting):
                tell = partial(
                    session.send_new_leader,
                    context.leadership_term_id,
                    context.leader_member_id,
                    context.ingress_endpoints,
                )
                if self._is_told(session, tell) or session.state is not SessionState.OPEN:
                    waiting.remove(session)
            yield 0

    def close(self) -> None:
        """Close the publications to all clients."""
        for session in [*self.open.values(), *self._pending, *self._leaving]:
            session.disconnect()


def _host_of(source_identity: str) -> str:
    """The address without its port; of IPC the same for all."""
    return source_identity.rpartition(":")[0]
