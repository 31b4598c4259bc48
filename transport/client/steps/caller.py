"""Operations written once as steps, and the callers: waiting, awaited, or an agent's duty cycle.

Steps are generators that never wait. When they can go no further they yield how much they did, and
at the end they return the result; a series also yields lists of what it has found. `operation` and
`series` turn them into methods that block in a `WaitingForm`, are awaited in an `AwaitedForm`, and
return the steps themselves in a `SteppedForm`, whose owner carries them out in its duty cycle. The
methods keep the arguments of the steps, and type checkers see the types of each form.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from aerolog.transport.client.steps.backoff import waiter, waiting_backoff
from aerolog.transport.resource import AsyncResource, Resource

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Self

    from aerolog.transport.client.client_conductor import ClientConductor
    from aerolog.transport.client.steps.awaited_caller import AwaitedCaller

P = ParamSpec("P")
T = TypeVar("T")
OwnerT = TypeVar("OwnerT")
Steps = Generator[int, None, T]
Parts = Generator[int | list[T], None, None]


class Caller:
    """Carries steps out.

    Attributes:
        turn: called between two steps; it turns clients that have no thread of their own.
        lock: held while steps are carried out.
    """

    def __init__(
        self, turn: Callable[[], object], lock: AbstractContextManager[Any] | None = None
    ) -> None:
        self.turn = turn
        self.lock: AbstractContextManager[Any] = threading.RLock() if lock is None else lock


class WaitingCaller(Caller):
    """Carries steps out in the calling thread, which waits; one thread at a time gets through."""

    def __init__(
        self,
        turn: Callable[[], object],
        idle: Callable[[int], object] | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        """Make a caller.

        Args:
            turn: called between two steps.
            idle: called while waiting, with how much was done; a back-off by default.
            lock: held while steps are carried out, a new one by default.
        """
        super().__init__(turn, lock)
        self.idle = waiting_backoff() if idle is None else idle

    def wait(self, work_count: int) -> None:
        """Call ``turn``, then ``idle`` when nothing was done."""
        self.turn()
        self.idle(work_count)

    def carry_out(self, steps: Steps[T]) -> T:
        """Carry steps out to their end and return their result."""
        with self.lock:
            try:
                while True:
                    try:
                        work = next(steps)
                    except StopIteration as done:
                        result: T = done.value
                        return result
                    self.wait(work)
            finally:
                steps.close()

    def iterate(self, parts: Parts[T]) -> Iterator[T]:
        """Give what a series finds, one by one; other threads may call between two parts."""
        try:
            while True:
                with self.lock:
                    part = next(parts, None)
                if part is None:
                    return
                if isinstance(part, int):
                    self.wait(part)
                else:
                    self.wait(len(part))  # with work done: no wait
                    yield from part
        finally:
            with self.lock:
                parts.close()


def waiting_caller(
    conductor: ClientConductor, idle: Callable[[int], object] | str | None = None
) -> WaitingCaller:
    """Return a caller that waits with a client.

    Args:
        conductor: the client's conductor, which is turned if the client has no thread.
        idle: an idle strategy, its name, or a callable that takes a work count; None for a
            back-off.

    Raises:
        ConfigurationError: the name is unknown.
    """
    return WaitingCaller(lambda: None, waiter(conductor, idle))


class SteppedCaller(Caller):
    """Gives steps to the caller, who carries them out; nothing waits."""

    def carry_out(self, steps: Steps[T]) -> Steps[T]:
        """Return the steps."""
        return steps

    def iterate(self, parts: Parts[T]) -> Parts[T]:
        """Return the parts."""
        return parts


class WaitingForm(Resource):
    """The base of objects whose operations block the calling thread.

    Attributes:
        caller: carries operations out.
    """

    caller: WaitingCaller


class AwaitedForm(AsyncResource):
    """The base of objects whose operations are awaited in an event loop.

    Attributes:
        caller: carries operations out.
    """

    caller: AwaitedCaller


class SteppedForm(Resource):
    """The base of objects whose operations return their steps, for the duty cycle of an agent.

    Attributes:
        caller: gives the steps to whoever asked for the operation.
    """

    caller: SteppedCaller


class Operation(Generic[P, T]):
    """The type that checkers see for `operation`: a method that blocks or is awaited."""

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> Self: ...
    @overload
    def __get__(self, owner: WaitingForm, kind: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, owner: AwaitedForm, kind: type[Any]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, owner: SteppedForm, kind: type[Any]) -> Callable[P, Steps[T]]: ...
    def __get__(self, owner: Any, kind: type[Any]) -> Any:
        """Return the method bound to its owner, in the form that the owner has."""


class Series(Generic[P, T]):
    """The type that checkers see for `series`: a method that returns an iterator."""

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> Self: ...
    @overload
    def __get__(self, owner: WaitingForm, kind: type[Any]) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, owner: AwaitedForm, kind: type[Any]) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, owner: SteppedForm, kind: type[Any]) -> Callable[P, Parts[T]]: ...
    def __get__(self, owner: Any, kind: type[Any]) -> Any:
        """Return the method bound to its owner, in the form that the owner has."""


def operation(steps: Callable[Concatenate[OwnerT, P], Steps[T]]) -> Operation[P, T]:
    """Make a method that carries steps out and returns their result."""

    @functools.wraps(steps)
    def carry_out(owner: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return owner.caller.carry_out(steps(owner, *args, **kwargs))

    _show_as(carry_out, steps, "Steps[", "")
    return carry_out  # type: ignore[return-value]  # at run time a plain method


def series(parts: Callable[Concatenate[OwnerT, P], Parts[T]]) -> Series[P, T]:
    """Make a method that iterates over what a series finds."""

    @functools.wraps(parts)
    def iterate(owner: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return owner.caller.iterate(parts(owner, *args, **kwargs))

    _show_as(iterate, parts, "Parts[", "Iterator[")
    return iterate  # type: ignore[return-value]  # at run time a plain method


def _show_as(method: Callable[..., Any], steps: Callable[..., Any], kind: str, shown: str) -> None:
    """Have ``help`` show the type that a method returns instead of the type of its steps."""
    signature = inspect.signature(steps)
    given = str(signature.return_annotation).removeprefix(kind)
    given = shown + given if shown else given.removesuffix("]")
    method.__signature__ = signature.replace(return_annotation=given)  # type: ignore[attr-defined]
