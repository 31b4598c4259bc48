"""Operations written once as steps, and the two forms that carry steps out: waiting and awaited.

Steps never wait. They yield how much they did when they can go no further, and return the result;
a series yields lists of what it has found as well. `operation` and `series` make methods of them
that block in a client of the `WaitingForm` and are awaited in one of the `AwaitedForm`, with the
arguments of the steps and with types that checkers see.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar, overload

from aerolog.transport.concurrent.idle import BackoffIdleStrategy

if TYPE_CHECKING:
    from typing import Self

P = ParamSpec("P")
T = TypeVar("T")
OwnerT = TypeVar("OwnerT", bound="Turned")
Steps = Generator[int, None, T]
Parts = Generator[int | list[T], None, None]
BUSY_TURNS: Final = 50  # of the loop without work, before it sleeps
MOST_TURNS: Final = BUSY_TURNS + 10  # by when the sleeps have become the longest
FIRST_SLEEP: Final = 50e-6
LONGEST_SLEEP: Final = 1e-3


class Turned:
    """What both forms stand on: an owner of steps that may have something to turn between them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def _turn(self) -> None:
        """Turn what has no thread of its own."""


class WaitingForm(Turned):
    """Carries steps out in the calling thread, which waits; one thread at a time gets through."""

    _idle: Callable[[int], object]

    def _use_idle(self, idle: Callable[[int], object] | None) -> None:
        self._idle = BackoffIdleStrategy() if idle is None else idle

    def _wait(self, work_count: int) -> None:
        self._turn()
        self._idle(work_count)

    def _carry_out(self, steps: Steps[T]) -> T:
        with self._lock:
            try:
                while True:
                    try:
                        work = next(steps)
                    except StopIteration as done:
                        result: T = done.value
                        return result
                    self._wait(work)
            finally:
                steps.close()

    def _iterate(self, parts: Parts[T]) -> Iterator[T]:
        try:
            while True:
                with self._lock:
                    part = next(parts, None)
                if part is None:
                    return
                if isinstance(part, int):
                    self._wait(part)
                else:
                    self._wait(len(part))  # with work done: no wait
                    yield from part
        finally:
            with self._lock:
                parts.close()


class AwaitedForm(Turned):
    """Carries steps out in an event loop; several may be under way at once."""

    async def _pause(self, work_count: int, idle_turns: int) -> int:
        """Give the loop its turn, and the machine a rest when there was nothing to do for long.

        Returns:
            How many turns in a row there was nothing to do.
        """
        self._turn()
        if work_count > 0:
            idle_turns = -1
        excess = idle_turns - BUSY_TURNS
        await asyncio.sleep(0 if excess < 0 else min(FIRST_SLEEP * 2**excess, LONGEST_SLEEP))
        return min(idle_turns + 1, MOST_TURNS)

    async def _carry_out(self, steps: Steps[T]) -> T:
        idle_turns = 0
        try:
            while True:
                try:
                    work = next(steps)
                except StopIteration as done:
                    result: T = done.value
                    return result
                idle_turns = await self._pause(work, idle_turns)
        finally:
            steps.close()

    async def _iterate(self, parts: Parts[T]) -> AsyncIterator[T]:
        idle_turns = 0
        try:
            while (part := next(parts, None)) is not None:
                if isinstance(part, int):
                    idle_turns = await self._pause(part, idle_turns)
                    continue
                for one in part:
                    yield one
                idle_turns = await self._pause(len(part), idle_turns)
        finally:
            parts.close()


class Operation(Generic[P, T]):
    """What `operation` looks like to a type checker: a method in the form of its owner."""

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> Self: ...
    @overload
    def __get__(self, owner: WaitingForm, kind: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, owner: AwaitedForm, kind: type[Any]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, owner: Any, kind: type[Any]) -> Any:
        """The method."""


class Series(Generic[P, T]):
    """What `series` looks like to a type checker: a method that gives an iterator."""

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> Self: ...
    @overload
    def __get__(self, owner: WaitingForm, kind: type[Any]) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, owner: AwaitedForm, kind: type[Any]) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, owner: Any, kind: type[Any]) -> Any:
        """The method."""


def operation(steps: Callable[Concatenate[OwnerT, P], Steps[T]]) -> Operation[P, T]:
    """A method that carries steps out and gives their result."""

    @functools.wraps(steps)
    def carry_out(owner: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return owner._carry_out(steps(owner, *args, **kwargs))  # noqa: SLF001 - forms are of here

    _show_as(carry_out, steps, "Steps[", "")
    return carry_out  # type: ignore[return-value]  # at run time a plain method


def series(parts: Callable[Concatenate[OwnerT, P], Parts[T]]) -> Series[P, T]:
    """A method that gives what a series finds, one by one."""

    @functools.wraps(parts)
    def iterate(owner: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return owner._iterate(parts(owner, *args, **kwargs))  # noqa: SLF001 - forms are of here

    _show_as(iterate, parts, "Parts[", "Iterator[")
    return iterate  # type: ignore[return-value]  # at run time a plain method


def _show_as(method: Callable[..., Any], steps: Callable[..., Any], kind: str, shown: str) -> None:
    """Have ``help`` show what a method gives, not the steps that lead there."""
    signature = inspect.signature(steps)
    given = str(signature.return_annotation).removeprefix(kind)
    given = shown + given if shown else given.removesuffix("]")
    method.__signature__ = signature.replace(return_annotation=given)  # type: ignore[attr-defined]
