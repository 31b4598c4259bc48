"""What the waiting and the awaited archive client have in common: a client and a session."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aerolog.archive.client.caller import Steps, Turned
from aerolog.archive.client.connection import ArchiveConnection, give_up
from aerolog.archive.client.options import NS_PER_SECOND, ArchiveClientOptions
from aerolog.transport.client import Aeron
from aerolog.transport.errors import ResourceClosedError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aerolog.archive.client.client_session import ControlSession
    from aerolog.archive.client.client_stats import ArchiveClientStats
    from aerolog.archive.client.request import Call

T = TypeVar("T")
PAGE: Final = 256


class ArchiveClientState(Enum):
    """Where a client stands (spec archive-protocol 21.4)."""

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    CLOSED = "closed"


class ArchiveClientBase(Turned):
    """A client with at most one session.

    Attributes:
        aeron: the transport client in use.
        options: as checked at connect.
    """

    def __init__(self, aeron: Aeron | None, aeron_dir: str | None, options: dict[str, Any]) -> None:
        super().__init__()
        self.options = ArchiveClientOptions.of(**options)
        self._aeron_dir = aeron_dir
        self._owns_aeron = aeron is None
        self._session: ControlSession | None = None
        self._closed = False
        self._reconnecting = False
        self.aeron = self._own_aeron() if aeron is None else aeron

    def _own_aeron(self) -> Aeron:
        return Aeron(self._aeron_dir, name=self.options.name or "archive-client")

    # -- the session -----------------------------------------------------------------------------

    @property
    def control_session_id(self) -> int:
        """The archive's id of this session."""
        return self._usable().control_session_id

    @property
    def archive_id(self) -> int:
        """The archive's own id, -1 when it is too old to tell."""
        return self._usable().archive_id

    @property
    def last_correlation_id(self) -> int:
        """Correlation id of the last request: signals and errors of it carry the same."""
        return self._usable().last_correlation_id

    @property
    def state(self) -> ArchiveClientState:
        """CONNECTED, DISCONNECTED when the archive is gone, CLOSED."""
        if self.closed:
            return ArchiveClientState.CLOSED
        if self.is_disconnected:
            return ArchiveClientState.DISCONNECTED
        return ArchiveClientState.CONNECTED

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed or self._session is None

    @property
    def is_disconnected(self) -> bool:
        """Whether the archive was found to be gone; `reconnect` connects anew."""
        session = self._session
        if session is None or self._closed:
            return False
        return session.disconnected or session.closed or not session.stream.is_connected

    @property
    def stats(self) -> ArchiveClientStats:
        """Requests, answers and round trips since the client was made."""
        return self._known_session().stats

    def _known_session(self) -> ControlSession:
        if self._session is None or self._closed:
            raise ResourceClosedError("client is closed")
        return self._session

    def _usable(self) -> ControlSession:
        session = self._known_session()
        if session.closed:  # by a reconnect that is not through
            raise ResourceClosedError("client is closed: the archive has disconnected")
        return session

    # -- steps -----------------------------------------------------------------------------------

    def _ask(self, call: Call[T]) -> Steps[T]:
        """A request, sent and answered."""
        session = self._usable()
        pending = session.begin(call, self.aeron.next_correlation_id())
        try:
            while True:
                work = session.pump()
                if pending.done:
                    return pending.result()
                yield work
        finally:
            session.forget(pending)

    def _added(self, adding: Future[T]) -> Steps[T]:
        """A stream, when the driver has added it; taken back when nobody waits any more."""
        done = False
        try:
            while not adding.done():
                yield 0
            done = True
        finally:
            if not done:
                give_up(adding)  # type: ignore[arg-type]  # streams are what is added here
        return adding.result(0)

    def _connecting(self) -> Steps[ControlSession]:
        """A new session."""
        connection = ArchiveConnection(self.aeron, self.options)
        try:
            while (session := connection.poll()) is None:
                yield 0
        except BaseException:
            connection.close()
            raise
        session.stats.sessions = 1
        return session

    def _turn(self) -> None:
        """Turn a transport client that has no thread of its own, and what was asked for."""
        if self.aeron.options.invoker:
            self.aeron.do_work()
        if self.options.agent_invoker is not None:
            self.options.agent_invoker()

    def _deadline_ns(self, timeout: float | None) -> int | None:
        if timeout is None:
            return None
        return self.options.clock.now_ns() + round(timeout * NS_PER_SECOND)

    def _is_late(self, deadline_ns: int | None) -> bool:
        return deadline_ns is not None and self.options.clock.now_ns() > deadline_ns

    # -- the end ---------------------------------------------------------------------------------

    def _release(self) -> None:
        self._closed = True
        if self.aeron.conductor.forked:  # the session is the parent's
            return
        if self._session is not None:
            self._session.close()
        if self._owns_aeron:
            self.aeron.close()

    def __del__(self) -> None:
        session = getattr(self, "_session", None)
        if session is not None and not self._closed and not self.aeron.conductor.forked:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
            self._release()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            f"{type(self).__name__} cannot be pickled: connect anew in the other process"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.options.request_channel} {self.state.value}>"
