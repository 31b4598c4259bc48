"""Steps carried out in both forms: results, errors, waits, clean-up, and what they look like."""

import asyncio
import inspect
import threading

import pytest

from aerolog.transport.client.steps.awaited_caller import AwaitedCaller
from aerolog.transport.client.steps.caller import (
    AwaitedForm,
    Parts,
    Steps,
    WaitingCaller,
    WaitingForm,
    operation,
    series,
)


class Work:
    """Operations that note what happens to them."""

    def __init__(self) -> None:
        self.notes: list[object] = []

    def turn(self) -> None:
        self.notes.append("turn")

    @operation
    def add(self, left: int, right: int = 1) -> Steps[int]:
        """The sum."""
        try:
            yield 1
            yield 0
            return left + right
        finally:
            self.notes.append("done")

    @operation
    def fail(self) -> Steps[None]:
        yield 0
        raise ZeroDivisionError

    @operation
    def forever(self) -> Steps[None]:
        try:
            while True:
                yield 0
        finally:
            self.notes.append("cleaned up")

    @series
    def numbers(self, count: int) -> Parts[int]:
        """Numbers, two at a time."""
        try:
            for first in range(0, count, 2):
                yield 0
                yield [first, first + 1]
        finally:
            self.notes.append("ended")


class Waiting(Work, WaitingForm):
    """The form that waits."""

    def __init__(self, idle=None) -> None:
        super().__init__()
        self.caller = WaitingCaller(self.turn, idle or self.notes.append)


class Awaited(Work, AwaitedForm):
    """The form that is awaited."""

    def __init__(self) -> None:
        super().__init__()
        self.caller = AwaitedCaller(self.turn)


def test_a_waiting_operation_turns_and_idles_between_its_steps():
    work = Waiting()
    assert work.add(2, right=3) == 5
    assert work.notes == ["turn", 1, "turn", 0, "done"]


async def test_an_awaited_operation_turns_between_its_steps():
    work = Awaited()
    assert await work.add(2) == 3
    assert work.notes == ["turn", "turn", "done"]


async def test_errors_come_out_as_they_are():
    with pytest.raises(ZeroDivisionError):
        Waiting().fail()
    with pytest.raises(ZeroDivisionError):
        await Awaited().fail()


def test_an_interrupted_wait_cleans_up_and_frees_the_lock():
    def interrupt(_):
        raise KeyboardInterrupt

    work = Waiting(interrupt)
    with pytest.raises(KeyboardInterrupt):
        work.forever()
    assert work.notes == ["turn", "cleaned up"]
    got = []
    thread = threading.Thread(target=lambda: got.append(work.caller.lock.acquire(timeout=30)))
    thread.start()
    thread.join(10)
    assert got == [True]


async def test_a_cancelled_operation_cleans_up():
    work, begun = Awaited(), asyncio.Event()
    work.caller.turn = begun.set
    task = asyncio.create_task(work.forever())
    await asyncio.wait_for(begun.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.notes[-1] == "cleaned up"


async def test_a_series_gives_its_parts_one_by_one():
    waiting, awaited = Waiting(), Awaited()
    assert list(waiting.numbers(4)) == [0, 1, 2, 3]
    assert waiting.notes == ["turn", 0, "turn", 2] * 2 + ["ended"]
    assert [one async for one in awaited.numbers(4)] == [0, 1, 2, 3]
    assert awaited.notes[-1] == "ended"


async def test_a_series_that_is_left_early_is_ended():
    waiting, awaited = Waiting(), Awaited()
    iterator = waiting.numbers(10)
    assert next(iterator) == 0
    iterator.close()
    assert waiting.notes[-1] == "ended"
    iterator = awaited.numbers(10)
    assert await anext(iterator) == 0
    await iterator.aclose()
    assert awaited.notes[-1] == "ended"


def test_operations_look_like_methods():
    assert Waiting.add.__name__ == "add"
    assert Waiting.add.__doc__ == "The sum."
    assert list(inspect.signature(Waiting().add).parameters) == ["left", "right"]
