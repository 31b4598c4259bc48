"""The base of connections to an archive or a cluster that are being made.

`poll` never waits, so that a duty cycle or an event loop can turn it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from aerolog._version import __version__
from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.errors import AeronTimeoutError

if TYPE_CHECKING:
    from concurrent.futures import Future
    from enum import IntEnum

    from aerolog.transport.client import Aeron, ExclusivePublication, Subscription
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.uri import ChannelUri

SessionT = TypeVar("SessionT")
StreamT = TypeVar("StreamT", bound="Subscription | ExclusivePublication")


class SessionConnection(ABC, Generic[SessionT]):
    """A session that is being made, within the message timeout.

    Attributes:
        step: the step that it has reached.
    """

    #: The begin of the text of a timeout.
    _TIMEOUT: ClassVar[str]
    step: IntEnum

    def __init__(self, aeron: Aeron, options: Any) -> None:
        self._aeron = aeron
        self._clock = options.clock
        self._deadline_ns = self._clock.now_ns() + options.message_timeout_ns
        self._streams: list[Subscription | ExclusivePublication] = []
        self._steps = self._run()

    def poll(self) -> SessionT | None:
        """Do what can be done now; returns the session once it is open, None before.

        Raises:
            AeronTimeoutError: not connected within the message timeout.
            AerologError: the other side refused the session, or the driver a channel.
        """
        try:
            next(self._steps)
        except StopIteration as done:
            session: SessionT = done.value
            return session
        except BaseException:
            self.close()
            raise
        if self._clock.now_ns() - self._deadline_ns > 0:
            # No local name has the error: its traceback would keep this connection's logs mapped.
            text = f"{self._TIMEOUT}: step={self.step.name}: {self._why()}"
            self.close()
            raise AeronTimeoutError(text)
        return None

    @abstractmethod
    def _run(self) -> Steps[SessionT]:
        """All steps, at whose end the session is open."""

    @abstractmethod
    def _why(self) -> str:
        """What did not come, from whom, and what to do."""

    def close(self) -> None:
        """Give up: the streams are closed."""
        self._steps.close()
        for stream in self._streams:
            stream.close()

    def _added(self, adding: Future[StreamT]) -> Steps[StreamT]:
        """Wait for a stream, which is closed when the connection is given up."""
        stream = yield from added(adding)
        self._streams.append(stream)
        return stream


def connected(connection: SessionConnection[SessionT]) -> Steps[SessionT]:
    """Make a session; the connection is closed when that is given up."""
    try:
        while (session := connection.poll()) is None:
            yield 0
    except BaseException:
        connection.close()
        raise
    return session


def resolved_channel(subscription: Subscription, channel: ChannelUri) -> Steps[str]:
    """The channel of a subscription with the port that the system chose, once that is known."""
    if not channel.is_udp:
        return str(channel)
    while (resolved := subscription.resolved_channel) is None:
        yield 0
    return resolved


def client_info(name: str) -> str:
    """What a connect request tells about its client."""
    return f"name={name} version={__version__} commit=aerolog"
