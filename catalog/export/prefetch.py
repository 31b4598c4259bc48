"""A generator that another thread runs one item ahead.

An export reads the next row group so while it encodes one: the scan does not hold the interpreter.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

T = TypeVar("T")


class _End(Generic[T]):
    """The end of the items: the exception that ended the generator, or None."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def prefetched(items: Generator[T]) -> Iterator[T]:
    """The items of a generator, which another thread runs while the caller works.

    Two items are in memory at a time: the caller's and the next. An exception of the generator is
    raised after the items before it. When the caller stops early the generator is closed, by the
    thread that ran it, before this returns.

    Args:
        items: a generator that the caller does not use any more.
    """
    found: SimpleQueue[T | _End[T]] = SimpleQueue()
    wanted = threading.Semaphore(1)
    stopping = threading.Event()

    def read() -> None:
        error: BaseException | None = None
        try:
            while True:
                wanted.acquire()
                if stopping.is_set():
                    break
                found.put(next(items))
        except StopIteration:
            error = None
        except BaseException as raised:  # noqa: BLE001 - the caller gets it
            error = raised
        finally:
            items.close()
            found.put(_End(error))

    thread = threading.Thread(target=read, name="aerolog-export-read", daemon=True)
    thread.start()
    try:
        while True:
            item = found.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            wanted.release()
            yield item
            del item
    finally:
        stopping.set()
        wanted.release()
        thread.join()
