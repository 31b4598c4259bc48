"""The session of a persistent subscription with its archive: lost, made again, never waited for."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, TypeVar

from aerolog.archive.client.connection import ArchiveConnection, give_up
from aerolog.transport.errors import (
    AerologError,
    BackPressuredError,
    ErrorCode,
    NotConnectedError,
    RegistrationError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from aerolog.archive.client.client_session import ControlSession
    from aerolog.archive.client.options import ArchiveClientOptions
    from aerolog.archive.client.request import Call
    from aerolog.transport.client import Aeron, Subscription
    from aerolog.transport.errors import ArchiveError

T = TypeVar("T")
_PUMP_NS: Final = 100_000_000


class ArchiveLostError(Exception):
    """The archive is gone: drop everything and connect anew."""


class StartOverError(Exception):
    """This round came to nothing; another one may do."""


class ArchiveLink:
    """A session that comes and goes.

    Attributes:
        session: the present one, None without.
        asked: correlation id of the last request.
    """

    def __init__(self, aeron: Aeron, options: ArchiveClientOptions) -> None:
        self.session: ControlSession | None = None
        self.asked = -1
        self._aeron = aeron
        self._options = options
        self._clock = options.clock
        self._pump_ns = 0

    def connect(self) -> Generator[int, None, None]:
        """Make a session.

        Raises:
            AeronTimeoutError: no archive answers.
            ArchiveError: it refuses.
            StartOverError: something that another try may do.
        """
        connection = ArchiveConnection(self._aeron, self._options)
        try:
            while (session := connection.poll()) is None:
                yield 0
        except NotConnectedError as error:
            raise StartOverError from error
        except RegistrationError as error:
            raise as_temporary(error) from error
        except BaseException:
            connection.close()
            raise
        self.session = session

    def ask(
        self, call: Call[T], on_sent: Callable[[], object] | None = None
    ) -> Generator[int, None, T]:
        """A request and its answer.

        Args:
            call: what to ask.
            on_sent: called once when the request is under way.

        Raises:
            ArchiveError: the archive refused.
            AeronTimeoutError: it did not answer in time.
            ArchiveLostError: it is gone.
        """
        session = self.usable()
        pending = session.begin(call, self._aeron.next_correlation_id())
        self.asked = pending.correlation_id
        try:
            while True:
                work = session.pump()
                if on_sent is not None and pending.sent_ns is not None:
                    on_sent()
                    on_sent = None
                if pending.done:
                    return pending.result()
                yield work
        except BackPressuredError as error:
            raise StartOverError from error
        except NotConnectedError as error:
            raise ArchiveLostError from error
        except AerologError as error:
            if session.disconnected:
                raise ArchiveLostError from error
            raise
        finally:
            session.forget(pending)

    def tell(self, call: Call[T]) -> None:
        """Send a request whose answer nobody waits for, if it can be sent now."""
        if self.session is None or self.session.disconnected:
            return
        asking = self.ask(call)
        with contextlib.suppress(ArchiveLostError, StartOverError):
            next(asking, None)
        asking.close()

    def usable(self) -> ControlSession:
        """The session.

        Raises:
            ArchiveLostError: there is none.
        """
        session = self.session
        if session is None or session.disconnected:
            raise ArchiveLostError
        return session

    def tend(self) -> int:
        """Take in now and then what the archive says.

        Raises:
            ArchiveLostError: it says nothing any more.
        """
        now_ns = self._clock.now_ns()
        if now_ns - self._pump_ns < _PUMP_NS:
            return 0
        self._pump_ns = now_ns
        work = self.usable().pump()
        self.usable()
        return work

    def tend_if_there(self) -> int:
        """As ``tend``; a loss does not matter now and is found later."""
        try:
            return 0 if self.session is None else self.tend()
        except ArchiveLostError:
            self.close()
            return 1

    def take_error(self, correlation_id: int | None) -> ArchiveError | None:
        """What the archive said later on about a request that it had agreed to."""
        if self.session is None or correlation_id is None:
            return None
        if not self.session.disconnected:
            self.session.pump()
        return self.session.take_error(correlation_id)

    def added(self, channel: str, stream_id: int) -> Generator[int, None, Subscription]:
        """A subscription, when the driver has added it; the archive is tended meanwhile."""
        future = self._aeron.add_subscription_async(channel, stream_id)
        try:
            yield 0
            while not future.done():
                yield self.tend()
        except BaseException:
            give_up(future)
            raise
        try:
            return future.result(0)
        except RegistrationError as error:
            raise as_temporary(error) from error

    def close(self) -> None:
        """End the session."""
        session, self.session = self.session, None
        if session is not None:
            session.close()


def as_temporary(error: RegistrationError) -> Exception:
    """The error, unless another try may do."""
    if error.code is ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
        return StartOverError()
    return error
