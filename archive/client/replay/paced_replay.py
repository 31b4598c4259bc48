"""Messages at the pace at which they were recorded, or faster or slower."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from aerolog.archive.client.replay.pacer import Pacer
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator

    from aerolog.archive.client.replay.timed_message import TimedMessage
    from aerolog.transport.concurrent.clock import Clock

_FIRST_NAP_NS: Final = 50_000
_LAST_NAP_NS: Final = NS_PER_MS
#: How late an event loop may wake up; for the rest of a wait the loop only gets its turns.
_LOOP_SLACK_NS: Final = 1_500_000
#: The longest time between two turns of a source while no messages are taken from it.
_TURN_S: Final = 0.05


class PaceControl:
    """The control of a pace: any thread may pause, resume, stop and change the speed."""

    def __init__(
        self, speed: float | None, *, clock: Clock | None = None, paused: bool = False
    ) -> None:
        self._pacer = Pacer(speed, clock=clock, paused=paused)

    @property
    def pacer(self) -> Pacer:
        """The pacer that says when messages are due; it also has measurements."""
        return self._pacer

    @property
    def speed(self) -> float | None:
        """Recorded seconds in one second; None: as fast as can be. May be set at any time."""
        return self._pacer.speed

    @speed.setter
    def speed(self, speed: float | None) -> None:
        self._pacer.speed = speed

    def pause(self) -> None:
        """Give no more messages until `resume`."""
        self._pacer.pause()

    def resume(self) -> None:
        """Go on from where it was paused."""
        self._pacer.resume()

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return self._pacer.paused

    def stop(self) -> None:
        """End the iteration: the message that is waited for is not given any more."""
        self._pacer.stop()


SourceT = TypeVar("SourceT")


class _Wrapped(PaceControl, Generic[SourceT]):
    """A source with a pace."""

    def __init__(
        self,
        source: SourceT,
        speed: float | None = 1.0,
        *,
        clock: Clock | None = None,
        paused: bool = False,
    ) -> None:
        super().__init__(speed, clock=clock, paused=paused)
        self._source = source

    def _turn(self) -> Callable[[], object]:
        return getattr(self._source, "turn", lambda: None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._source!r}>"


class Paced(_Wrapped["Iterable[TimedMessage]"]):
    """An iterable of timed messages that gives each when it is due. See `paced`."""

    def __iter__(self) -> Iterator[TimedMessage]:
        return pace(self._pacer, self._singles(), self._turn())

    def batches(self, on_wait: Callable[[], object] | None = None) -> Iterator[list[TimedMessage]]:
        """Messages in lists: each has what is due at the time.

        Args:
            on_wait: called while a message is waited for; may raise.
        """
        return pace_lists(self._pacer, self._singles(), both(self._turn(), on_wait))

    def _singles(self) -> Iterator[Any]:
        return ([message] for message in self._source)


class AsyncPaced(_Wrapped["AsyncIterable[TimedMessage]"]):
    """As `Paced`, of an asynchronous iterable, for an event loop. See `paced_async`."""

    async def __aiter__(self) -> AsyncIterator[TimedMessage]:
        turn = self._turn()
        with Changes(self._pacer) as changes:
            async for message in self._source:
                if not await changes.until_due(message.time_ns, turn):
                    return
                yield message


def paced(
    source: Iterable[TimedMessage],
    speed: float | None = 1.0,
    *,
    paused: bool = False,
    clock: Clock | None = None,
) -> Paced:
    """Give the messages of a source, each when it is due.

    Args:
        source: messages with their times, such as a merged replay. When it has a method ``turn``,
            that is called at least every 50 ms while a message is waited for.
        speed: recorded seconds in one second; None: as fast as can be.
        paused: begin paused.
        clock: measures the time that passes; the machine's by default.
    """
    return Paced(source, speed, clock=clock, paused=paused)


def paced_async(
    source: AsyncIterable[TimedMessage],
    speed: float | None = 1.0,
    *,
    paused: bool = False,
    clock: Clock | None = None,
) -> AsyncPaced:
    """As `paced`, for an event loop."""
    return AsyncPaced(source, speed, clock=clock, paused=paused)


def pace(
    pacer: Pacer, parts: Iterator[int | list[TimedMessage]], turn: Callable[[], object]
) -> Iterator[TimedMessage]:
    """Give messages when they are due, until the parts end or the pacer is stopped.

    Args:
        pacer: the pacer that says when messages are due.
        parts: lists of messages, or how much was done where there are none now.
        turn: called while a message is waited for.
    """
    wait = pacer.wait
    for part in _lists(pacer, parts, turn):
        for message in part:
            while not wait(message.time_ns):
                if pacer.stopped:
                    return
                turn()
            yield message
        turn()


def pace_lists(
    pacer: Pacer, parts: Iterator[int | list[TimedMessage]], turn: Callable[[], object]
) -> Iterator[list[TimedMessage]]:
    """As `pace`, with all messages that are due together in one list."""
    wait = pacer.wait
    for part in _lists(pacer, parts, turn):
        ready: list[TimedMessage] = []
        for message in part:
            if not wait(message.time_ns, 0):
                if ready:
                    yield ready
                    ready = []
                while not wait(message.time_ns):
                    if pacer.stopped:
                        return
                    turn()
            ready.append(message)
        if ready:
            yield ready
        turn()


def _lists(
    pacer: Pacer, parts: Iterator[int | list[TimedMessage]], turn: Callable[[], object]
) -> Iterator[list[TimedMessage]]:
    """The lists among parts; sleeps where nothing is done."""
    nap_ns = _FIRST_NAP_NS
    for part in parts:
        if not isinstance(part, int):
            nap_ns = _FIRST_NAP_NS
            yield part
            continue
        if pacer.stopped:
            return
        turn()
        if part > 0:
            nap_ns = _FIRST_NAP_NS
            continue
        pacer.nap(nap_ns)
        nap_ns = min(2 * nap_ns, _LAST_NAP_NS)


async def pace_async(
    pacer: Pacer, parts: Iterator[int | list[TimedMessage]], turn: Callable[[], object]
) -> AsyncIterator[TimedMessage]:
    """As `pace`, in an event loop, which gets its turn after each part and while it waits."""
    nap_ns = _FIRST_NAP_NS
    with Changes(pacer) as changes:
        for part in parts:
            if pacer.stopped:
                return
            turn()
            if not isinstance(part, int):
                nap_ns = _FIRST_NAP_NS
                for message in part:
                    if not await changes.until_due(message.time_ns, turn):
                        return
                    yield message
                await asyncio.sleep(0)
            elif part > 0:
                nap_ns = _FIRST_NAP_NS
                await asyncio.sleep(0)
            else:
                await changes.wait(nap_ns / NS_PER_S)
                nap_ns = min(2 * nap_ns, _LAST_NAP_NS)


class Changes:
    """Waits in an event loop for a pacer's messages to be due, and hears of its changes."""

    def __init__(self, pacer: Pacer) -> None:
        self._pacer = pacer
        self._loop = asyncio.get_running_loop()
        self._heard = asyncio.Event()

    def __enter__(self) -> Self:
        self._loop.add_reader(self._pacer.fileno(), self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.remove_reader(self._pacer.fileno())

    def _hear(self) -> None:
        self._pacer.drain()
        self._heard.set()

    async def wait(self, timeout_s: float) -> None:
        """Sleep for a duration, or until there is a change."""
        self._heard.clear()
        timer = self._loop.call_later(timeout_s, self._heard.set)
        try:
            await self._heard.wait()
        finally:
            timer.cancel()

    async def until_due(self, time_ns: int, turn: Callable[[], object]) -> bool:
        """Wait until a message is due; False when the pacer is stopped."""
        pacer = self._pacer
        while not pacer.stopped:
            delay_ns = pacer.delay_ns(time_ns)
            if delay_ns is not None and delay_ns <= 0:
                return True
            if delay_ns is not None and delay_ns <= _LOOP_SLACK_NS:
                await asyncio.sleep(0)
                continue
            turn()
            rest_s = _TURN_S if delay_ns is None else (delay_ns - _LOOP_SLACK_NS) / NS_PER_S
            await self.wait(min(rest_s, _TURN_S))
        return False


def both(first: Callable[[], object], second: Callable[[], object] | None) -> Callable[[], object]:
    """Make a function that calls both functions, the second unless it is None."""
    if second is None:
        return first

    def call() -> None:
        first()
        second()

    return call
