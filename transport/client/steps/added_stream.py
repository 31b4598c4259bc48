"""What a driver is asked for (streams, destinations, session ids): wait for it, take it back."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from concurrent.futures import Future

T = TypeVar("T")


def added(adding: Future[T], tend: Callable[[], int] = lambda: 0) -> Generator[int, None, T]:
    """Wait for what the driver was asked for, and take it back if the wait is given up.

    Args:
        adding: what the driver was asked for.
        tend: called at each step while waiting; returns the work done.
    """
    try:
        while not adding.done():
            yield tend()
    except BaseException:
        give_up(adding)
        raise
    return adding.result(0)


def give_up(adding: Future[Any]) -> None:
    """Take back what is being added, or close it when it is there already."""
    if not adding.cancel():
        with contextlib.suppress(AerologError):
            made = adding.result(0)
            if made is not None and not isinstance(made, int):  # they have nothing to close
                made.close()
