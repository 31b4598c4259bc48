"""Messages of any source at a pace."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aerolog.archive.client.replay.paced_replay import paced, paced_async
from aerolog.archive.client.replay.timed_message import TimedMessage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

T0 = 1_700_000_000_000_000_000
MS = 1_000_000
LONG = 10**15


class Source:
    """Messages, and how often it was given a turn."""

    def __init__(self, *times: int) -> None:
        self.made = [TimedMessage(time, 1, 64 * n, b"%d" % n) for n, time in enumerate(times)]
        self.turns = 0

    def __iter__(self) -> Iterator[TimedMessage]:
        return iter(self.made)

    async def __aiter__(self) -> AsyncIterator[TimedMessage]:
        for message in self.made:
            yield message

    def turn(self) -> None:
        self.turns += 1


def test_messages_come_in_order_when_due() -> None:
    source = Source(T0, T0 + MS, T0 + 3 * MS)
    replay = paced(source, 1.0)
    due = []
    for message, expected in zip(replay, source.made, strict=True):
        assert message is expected
        due.append(replay.pacer.due_ns)

    assert [one - due[0] for one in due] == [0, MS, 3 * MS]


def test_a_plain_list_will_do() -> None:
    made = Source(T0, T0 + 1).made

    assert list(paced(made, None)) == made


def test_the_source_is_turned_while_a_message_is_waited_for() -> None:
    source = Source(T0, T0 + 200 * MS)
    iterator = iter(paced(source))
    next(iterator)
    before = source.turns
    next(iterator)

    assert source.turns > before


def test_stopping_ends_the_iteration() -> None:
    replay = paced(Source(T0, T0 + LONG))
    iterator = iter(replay)
    next(iterator)
    replay.stop()

    assert list(iterator) == []


def test_the_speed_may_change_on_the_way() -> None:
    replay = paced(Source(T0, T0 + LONG, T0 + 2 * LONG), 1.0)
    found = []
    for message in replay:
        found.append(message.payload)
        replay.speed = None

    assert found == [b"0", b"1", b"2"]


def test_a_paused_one_gives_nothing_until_it_is_resumed() -> None:
    replay = paced(Source(T0, T0), paused=True)
    assert replay.paused
    assert not replay.pacer.wait(T0, MS)
    replay.resume()

    assert len(list(replay)) == 2


async def test_in_an_event_loop_others_get_their_turn() -> None:
    source = Source(*(T0 + n * 5 * MS for n in range(5)))
    replay = paced_async(source, 1.0)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    due = [replay.pacer.due_ns async for _ in replay]
    beside.cancel()

    assert [one - due[0] for one in due] == [n * 5 * MS for n in range(5)]
    assert turns > 5


async def test_a_pause_and_a_resume_of_an_event_loop_take_effect_at_once() -> None:
    replay = paced_async(Source(T0, T0 + LONG), 1.0, paused=True)
    loop = asyncio.get_running_loop()
    loop.call_later(0.01, replay.resume)
    found = []
    async for message in replay:
        found.append(message.payload)
        loop.call_later(0.01, setattr, replay, "speed", None)

    assert found == [b"0", b"1"]


async def test_stopping_ends_an_asynchronous_iteration() -> None:
    replay = paced_async(Source(T0, T0 + LONG))
    asyncio.get_running_loop().call_later(0.01, replay.stop)

    assert [message.payload async for message in replay] == [b"0"]
