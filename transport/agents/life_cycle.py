"""``LifeCycle``: how a driver, an archive and a consensus module fail and are closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Callable


class LifeCycle(Resource, ABC):
    """Runs from its construction until it fails or is closed.

    Args:
        on_fatal: called with the reason when it cannot go on, on the thread that failed.

    Attributes:
        failure: why it cannot go on; None while it can.
    """

    def __init__(self, on_fatal: Callable[[BaseException], None] | None) -> None:
        self.failure: BaseException | None = None
        self._on_fatal = on_fatal
        self._closed = False

    @property
    def is_closed(self) -> bool:
        """Whether it was closed or cannot go on, as when its driver is lost."""
        return self._closed or self.failure is not None

    def _fail(self, reason: BaseException) -> None:
        """Keep the first reason why it cannot go on, and pass it on; on the thread that failed."""
        if self.failure is not None:
            return
        self.failure = reason
        if self._on_fatal is not None:
            self._on_fatal(reason)

    def close(self) -> None:
        """End it in good order; further calls do nothing."""
        if not self._closed:
            self._closed = True
            self._close_parts()

    @abstractmethod
    def _close_parts(self) -> None:
        """Close what was started; the rest may be missing."""
