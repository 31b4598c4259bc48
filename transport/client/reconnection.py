"""A client that is connected anew when its driver was restarted (spec client 4: nothing recovers).

A client that has lost its driver is closed, and so is everything that was added with it. A program
declares its streams once, and they are added again with each new connection. Positions and
sessions start over: what was not polled from the lost driver is lost.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aerolog.transport.client.aeron import Aeron
from aerolog.transport.errors import ResourceClosedError
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from aerolog.transport.client.publication import ExclusivePublication, Publication
    from aerolog.transport.client.subscription import Subscription

_T = TypeVar("_T")


class Declared(Generic[_T]):
    """A stream that survives reconnects; ``get`` returns its current resource."""

    def __init__(self, owner: ReconnectingAeron, add: Callable[[Aeron], _T]) -> None:
        self._owner = owner
        self._add = add
        self._current: _T | None = None

    def get(self) -> _T:
        """The live publication or subscription, after a reconnect a new one.

        Raises:
            DriverTimeoutError: the driver is gone and none came within the driver timeout.
        """
        self._owner.ensure()
        if self._current is None:
            raise ResourceClosedError("the declared stream was closed")
        return self._current

    def renew(self, aeron: Aeron) -> None:
        """Add the stream with a new client."""
        self._current = self._add(aeron)

    def __repr__(self) -> str:
        return f"<Declared {self._current!r}>"


class ReconnectingAeron(Resource):
    """Keeps a client and what was declared with it; safe for any thread.

    Args:
        dir: the driver's directory, as for ``Aeron``.
        on_reconnect: called with each new client after the first, all declared streams added.
        options: the options of ``Aeron``.

    Raises:
        DriverTimeoutError: there is no driver.
    """

    def __init__(
        self,
        dir: str | os.PathLike[str] | None = None,  # noqa: A002 - the property's name
        *,
        on_reconnect: Callable[[Aeron], object] | None = None,
        **options: Any,
    ) -> None:
        self._dir = dir
        self._options = options
        self._on_reconnect = on_reconnect
        self._lock = threading.RLock()
        self._declared: list[Declared[Any]] = []
        self._closed = False
        self.reconnect_count = 0
        self._aeron = Aeron(dir, **options)

    def publication(self, channel: str, stream_id: int) -> Declared[Publication]:
        """Declare a shared publication, which is added at once."""
        return self._declare(lambda aeron: aeron.add_publication(channel, stream_id))

    def exclusive_publication(self, channel: str, stream_id: int) -> Declared[ExclusivePublication]:
        """Declare an exclusive publication, which is added at once."""
        return self._declare(lambda aeron: aeron.add_exclusive_publication(channel, stream_id))

    def subscription(self, channel: str, stream_id: int, **handlers: Any) -> Declared[Subscription]:
        """Declare a subscription, which is added at once; handlers as of ``add_subscription``."""
        return self._declare(lambda aeron: aeron.add_subscription(channel, stream_id, **handlers))

    def _declare(self, add: Callable[[Aeron], _T]) -> Declared[_T]:
        with self._lock:
            aeron = self.ensure()
            declared = Declared(self, add)
            declared.renew(aeron)
            self._declared.append(declared)
            return declared

    def ensure(self) -> Aeron:
        """The live client; connects anew, and adds what was declared, when it has died.

        Raises:
            DriverTimeoutError: no driver within the driver timeout; call again to try again.
            ResourceClosedError: this was closed by the program.
        """
        with self._lock:
            if self._closed:
                raise ResourceClosedError("the reconnecting client is closed")
            if not self._aeron.closed:
                return self._aeron
            self._aeron.close()
            aeron = Aeron(self._dir, **self._options)
            try:
                for declared in self._declared:
                    declared.renew(aeron)
            except BaseException:
                aeron.close()
                raise
            self._aeron = aeron
            self.reconnect_count += 1
            if self._on_reconnect is not None:
                self._on_reconnect(aeron)
            return aeron

    @property
    def aeron(self) -> Aeron:
        """The current client, alive or not."""
        return self._aeron

    def close(self) -> None:
        """Close the client for good; a second call does nothing."""
        with self._lock:
            self._closed = True
            self._aeron.close()

    def __repr__(self) -> str:
        return f"<ReconnectingAeron of {self._aeron!r} reconnects={self.reconnect_count}>"
