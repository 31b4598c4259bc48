"""Bases of resources that are closed at the end of a ``with`` block."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from types import TracebackType


class Closeable(Protocol):
    """An object with ``close``, which is a coroutine if the resource is asynchronous."""

    def close(self) -> object:
        """Release the resource."""


class Resource:
    """A context manager that closes itself at the end of its block, also after an exception."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self: Closeable,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncResource:
    """An asynchronous context manager that closes itself when its block ends."""

    __slots__ = ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self: Closeable,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        closed = self.close()
        if isawaitable(closed):
            await closed
