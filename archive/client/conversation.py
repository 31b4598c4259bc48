"""A client's conversation with an archive: it connects, asks, turns, pumps and closes.

It is written once, as steps that never wait. A caller that waits (`AeronArchive`) carries them
out, or one that is awaited (`AsyncAeronArchive`), or an agent in its duty cycle, such as a
persistent subscription or a replication.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final, TypeVar

from aerolog.archive.client.connection import ArchiveConnection
from aerolog.archive.client.request import ask_position
from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.client.steps.session_connection import connected
from aerolog.transport.errors import AerologError, ResourceClosedError
from aerolog.transport.text_output import logger
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from aerolog.archive.client.client_session import ControlSession, PendingRequest
    from aerolog.archive.client.options import ArchiveClientOptions
    from aerolog.archive.client.request import Request
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.errors import ArchiveError

T = TypeVar("T")
_LOG: Final = logger("aerolog.archive.client")
#: How often a client without requests reads: an archive ends sessions that do not read its pings.
TEND_INTERVAL_NS: Final = 100_000_000


class Conversation:
    """A session with an archive, which may be lost and made again.

    Attributes:
        aeron: the transport client in use.
        options: the options of the client, checked.
        clock: the clock of all deadlines.
        lock: held while turning or asking, where several threads may call.
        session: the present session, None before the first.
        closed: whether the conversation was ended for good.
    """

    def __init__(
        self,
        aeron: Aeron,
        options: ArchiveClientOptions,
        renew: Callable[[], Aeron] | None = None,
    ) -> None:
        """Make a conversation that has no session yet.

        Args:
            aeron: the transport client.
            options: how the archive is reached.
            renew: makes a new transport client. When given, the conversation owns the transport
                client, replaces it when it has lost its driver, and closes it at the end.
        """
        self.aeron = aeron
        self.options = options
        self.clock = options.clock
        self.lock = threading.RLock()
        self.session: ControlSession | None = None
        self.closed = False
        self._renew = renew
        self._is_reconnecting = False
        self._tended_ns = 0

    # -- the session -----------------------------------------------------------------------------

    def connect(self) -> Steps[None]:
        """Make a session, which takes over the signals and counts of the one before it.

        Raises:
            AeronTimeoutError: no archive answered.
            ArchiveError: the archive refused the session.
        """
        session = yield from connected(ArchiveConnection(self.aeron, self.options))
        if self.closed:
            session.close()
            raise ResourceClosedError("client is closed")
        if self.session is not None:
            session.inherit(self.session)
        session.stats.sessions += 1
        self.session = session
        _LOG.debug(
            "control session %d: connected to archive %d on %s",
            session.control_session_id,
            session.archive_id,
            self.options.request_channel,
        )

    def reconnect(self) -> Steps[None]:
        """End the session and connect anew; callers that ask at the same time share one attempt."""
        previous = self.known()
        if self._is_reconnecting:
            while self._is_reconnecting:
                yield 0
            if self.known() is not previous:
                return
        self._is_reconnecting = True
        try:
            previous.close()
            self._renew_aeron()
            yield from self.connect()
        finally:
            self._is_reconnecting = False

    def _renew_aeron(self) -> None:
        """Replace the transport client if it is the conversation's and has lost its driver."""
        if not self.aeron.closed:
            return
        if self._renew is None:
            raise ResourceClosedError(
                "the transport client is closed: make a new one, and an archive client on it"
            ) from self.aeron.close_reason
        self.aeron = self._renew()

    def known(self) -> ControlSession:
        """The session, also when it is closed or disconnected.

        Raises:
            ResourceClosedError: there is no session, or the conversation was closed.
        """
        if self.session is None or self.closed:
            raise ResourceClosedError("client is closed")
        return self.session

    def usable(self) -> ControlSession:
        """The session, for requests.

        Raises:
            ResourceClosedError: there is no session, or it is closed.
        """
        session = self.known()
        if session.closed:  # by a reconnect that has not finished
            raise ResourceClosedError("client is closed: the archive has disconnected")
        return session

    @property
    def is_disconnected(self) -> bool:
        """Whether the archive was found to be gone."""
        session = self.session
        if session is None or self.closed:
            return False
        return session.disconnected or session.closed or not session.stream.is_connected

    # -- asking ----------------------------------------------------------------------------------

    def begin(self, request: Request[T]) -> PendingRequest[T]:
        """Note a request, whose answer `answer` waits for."""
        return self.usable().begin(request, self.aeron.next_correlation_id())

    def answer(
        self, pending: PendingRequest[T], on_sent: Callable[[], object] | None = None
    ) -> Steps[T]:
        """Wait for the answer to a request; the request is dropped when the waiting is given up.

        Args:
            pending: a request that was begun in the present session.
            on_sent: called once, when the request has been sent.
        """
        session = self.usable()
        try:
            while True:
                work = session.pump()
                if on_sent is not None and pending.sent_ns is not None:
                    on_sent()
                    on_sent = None
                if pending.done:
                    return pending.result()
                yield work
        finally:
            session.forget(pending)

    def ask(self, request: Request[T], on_sent: Callable[[], object] | None = None) -> Steps[T]:
        """Send a request and wait for its answer."""
        return (yield from self.answer(self.begin(request), on_sent))

    def ask_position(self, what: str, recording_id: int) -> Steps[int | None]:
        """Ask for a position of a recording with the query that ``what`` names."""
        return self.ask(ask_position(what, recording_id))

    def tell(self, request: Request[T]) -> None:
        """Send a request whose answer nobody waits for, if it can be sent now."""
        asking = self.ask(request)
        with contextlib.suppress(AerologError):
            next(asking, None)
        asking.close()

    def take_error(self, correlation_id: int) -> ArchiveError | None:
        """The error that the archive sent after it had agreed to a request, None without one."""
        return self.usable().take_error(correlation_id)

    def added(self, adding: Future[T]) -> Steps[T]:
        """Wait until the driver has added a stream, and take it back if the wait is given up."""
        return added(adding, self.tend)

    # -- turning ---------------------------------------------------------------------------------

    def turn(self) -> int:
        """Turn a transport client that has no thread of its own, and the user's agent invoker."""
        work = self.aeron.do_work() if self.aeron.options.invoker else 0
        if self.options.agent_invoker is not None:
            self.options.agent_invoker()
        return work

    def pump(self) -> int:
        """Send requests and read what the archive has sent; the work done."""
        return self.usable().pump()

    def keep_up(self) -> None:
        """Turn and pump, for callers that wait for something else than the archive's answers."""
        with self.lock:
            self.turn()
            if not self.closed:
                self.pump()

    def tend(self) -> int:
        """Pump at intervals while there is a session, and return the work done."""
        now_ns = self.clock.now_ns()
        if self.session is None or now_ns - self._tended_ns < TEND_INTERVAL_NS:
            return 0
        self._tended_ns = now_ns
        return 0 if self.session.closed else self.session.pump()

    def deadline_ns(self, timeout: float | None) -> int | None:
        """The clock's time after ``timeout`` seconds from now, None when there is no timeout."""
        return None if timeout is None else self.clock.now_ns() + round(timeout * NS_PER_S)

    def is_late(self, deadline_ns: int | None) -> bool:
        """Whether a deadline has passed."""
        return deadline_ns is not None and self.clock.now_ns() > deadline_ns

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """End the session and close a transport client that it owns; idempotent."""
        self.closed = True
        if self.aeron.conductor.forked:  # the session is the parent's
            return
        if self.session is not None:
            if not self.session.closed:
                _LOG.debug("control session %d: closed", self.session.control_session_id)
            self.session.close()
        if self._renew is not None:
            self.aeron.close()
