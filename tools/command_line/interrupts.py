"""Interrupts that wait for a safe place: what a command has begun at a server, it also ends."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from types import FrameType, TracebackType

_HELD: Final = (signal.SIGINT, signal.SIGTERM)


class HeldInterrupts:
    """SIGINT and SIGTERM noted when they come, and raised by ``check``.

    For a command that asks a server to begin something: an exception between the request and the
    ``try`` that ends it, or while an answer is being taken in, would leave it running and nobody
    knowing. Only the first one waits: whoever interrupts again is heard at once. Outside the main
    thread, where signals belong to the caller, it does nothing.
    """

    def __init__(self) -> None:
        self._previous: dict[int, Any] = {}
        self._pending: int | None = None
        self._heard = False

    def __enter__(self) -> Self:
        """Begins to hold them."""
        if threading.current_thread() is threading.main_thread():
            for number in _HELD:
                self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Lets them through again; one that waits is raised, unless another error is under way."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        if error is None:
            self.check()

    def check(self) -> None:
        """Raises what the signal that waits would have raised; nothing when none has come."""
        if self._pending is not None:
            number, self._pending = self._pending, None
            self._raise(number, None)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._heard:
            self._raise(number, frame)
        self._heard = True
        self._pending = number

    def _raise(self, number: int, frame: FrameType | None) -> None:
        handler = self._previous[number]
        if callable(handler):
            handler(number, frame)
        elif handler != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
