"""Waits that are announced when they last."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: What takes no longer needs no word.
PATIENCE_S: Final = 1.0


@contextmanager
def announced(announce: Callable[[], object]) -> Iterator[None]:
    """Call a function, on a thread of its own, when the block takes longer than a second."""
    timer = threading.Timer(PATIENCE_S, announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
