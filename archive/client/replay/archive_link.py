"""The conversation of a persistent subscription, whose session may be lost and made again."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeVar

from aerolog.archive.client.conversation import Conversation
from aerolog.transport.errors import (
    AerologError,
    BackPressuredError,
    ErrorCode,
    NotConnectedError,
    RegistrationError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from aerolog.archive.client.client_session import ControlSession, PendingRequest
    from aerolog.archive.client.request import Request
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.errors import ArchiveError

T = TypeVar("T")


class ArchiveLostError(Exception):
    """The archive is gone: drop everything and connect anew."""


class StartOverError(Exception):
    """This attempt failed in a way that another attempt may not."""


class ArchiveLink(Conversation):
    """A conversation whose session may be lost; its errors tell how to recover."""

    def connect(self) -> Steps[None]:
        """Make a session.

        Raises:
            AeronTimeoutError: no archive answered.
            ArchiveError: the archive refused the session.
            StartOverError: it failed, but another attempt may succeed.
        """
        try:
            yield from super().connect()
        except NotConnectedError as error:
            raise StartOverError from error
        except RegistrationError as error:
            raise as_temporary(error) from error

    def usable(self) -> ControlSession:
        """The session.

        Raises:
            ArchiveLostError: there is no session, or the archive is gone.
        """
        session = self.session
        if session is None or session.disconnected:
            raise ArchiveLostError
        return session

    def answer(
        self, pending: PendingRequest[T], on_sent: Callable[[], object] | None = None
    ) -> Steps[T]:
        """The answer to a request.

        Raises:
            ArchiveError: the archive refused.
            AeronTimeoutError: the archive did not answer in time.
            ArchiveLostError: the archive is gone.
        """
        session = self.usable()
        with _losses(session):
            return (yield from super().answer(pending, on_sent))

    def tell(self, request: Request[T]) -> None:
        """Send a request whose answer nobody waits for, if it can be sent now."""
        with contextlib.suppress(ArchiveLostError, StartOverError):
            super().tell(request)

    def take_error(self, correlation_id: int) -> ArchiveError | None:
        """The error that the archive sent after its answer to a request, None when it sent none."""
        if self.session is None:
            return None
        if not self.session.disconnected:
            self.session.pump()
        return self.session.take_error(correlation_id)

    def added(self, adding: Future[T]) -> Steps[T]:
        """A stream, when the driver has added it; the archive is tended meanwhile."""
        yield 0
        try:
            return (yield from super().added(adding))
        except RegistrationError as error:
            raise as_temporary(error) from error

    def tend(self) -> int:
        """Read now and then what the archive has sent; the work done.

        Raises:
            ArchiveLostError: the archive is gone.
        """
        work = super().tend()
        self.usable()
        return work

    def tend_if_there(self) -> int:
        """As ``tend``, but a lost archive raises nothing: the next request finds the loss."""
        try:
            return 0 if self.session is None else self.tend()
        except ArchiveLostError:
            self.leave()
            return 1

    def leave(self) -> None:
        """End the session; another one may be made."""
        session, self.session = self.session, None
        if session is not None:
            session.close()


@contextlib.contextmanager
def _losses(session: ControlSession) -> Iterator[None]:
    """Turn the errors of a request into those that tell the link how to recover."""
    try:
        yield
    except BackPressuredError as error:
        raise StartOverError from error
    except NotConnectedError as error:
        raise ArchiveLostError from error
    except AerologError as error:
        if session.disconnected:
            raise ArchiveLostError from error
        raise


def as_temporary(error: RegistrationError) -> Exception:
    """StartOverError when another attempt may succeed, else the error itself."""
    if error.code is ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
        return StartOverError()
    return error
