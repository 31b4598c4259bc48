"""Numbered offers, by a client and a log that are made up: what is repeated, and what counts."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.cluster.client import (
    AsyncNumberedOffers,
    ClientState,
    NumberedMessage,
    NumberedOffers,
    SessionClosedError,
)
from aerolog.cluster.service import SeenNumbers, numbered_message
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.client.steps.awaited_caller import AwaitedCaller
from aerolog.transport.client.steps.caller import WaitingCaller
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import AeronTimeoutError, MessageFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator


class MadeUpCluster:
    """A client whose offers go into a log, by a service that counts each number once."""

    def __init__(self, caller: Any = None) -> None:
        self.session: object = object()
        self.leadership_term_id = 1
        self.options = SimpleNamespace(clock=SystemClock(), message_timeout=0.05)
        self.caller = caller or WaitingCaller(lambda: None, None)
        self.log: list[bytes] = []
        self.egress: list[bytes] = []
        self.room = 1 << 30
        self.is_lost = False
        self.ended = False
        self.seen = SeenNumbers()
        self.applied: list[bytes] = []

    def offer(self, data: Any) -> int | OfferStatus:
        if self.room <= 0:
            return OfferStatus.BACK_PRESSURED
        self.room -= 1
        if self.is_lost:
            return 1  # by the ingress of a leader that is gone
        self.log.append(bytes(data))
        message = numbered_message(data)
        if self.seen.add(message):
            self.applied.append(message.payload)
        self.egress.append(message.answer(b"ok " + message.payload))
        return len(self.log)

    def poll_messages(self, limit: int) -> list[Any]:
        if self.ended:
            raise SessionClosedError("it has ended")
        taken, self.egress = self.egress[:limit], self.egress[limit:]
        return [SimpleNamespace(data=each) for each in taken]

    def reconnecting(self) -> Iterator[int]:
        yield 0
        self.session, self.ended, self.is_lost = object(), False, False


@pytest.fixture
def cluster() -> Any:
    return MadeUpCluster()


def numbers(log: list[bytes]) -> list[int]:
    return [numbered_message(each).number for each in log]


def test_each_message_has_the_next_number_until_it_is_answered(cluster: Any) -> None:
    offers = NumberedOffers(cluster, sender=7)
    assert [offers.offer(b"a"), offers.offer(b"b")] == [1, 2]
    assert offers.waiting == 2
    assert offers.poll() == [NumberedMessage(7, 1, b"ok a"), NumberedMessage(7, 2, b"ok b")]
    assert (offers.waiting, offers.repeated, offers.poll()) == (0, 0, [])


def test_a_window_bounds_what_has_no_answer(cluster: Any) -> None:
    offers = NumberedOffers(cluster, window=2)
    assert [offers.offer(b"a") for _ in range(3)] == [1, 2, OfferStatus.BACK_PRESSURED]
    assert offers.send(b"b") == 3
    assert [each.number for each in offers.poll()] == [1, 2]
    assert [each.number for each in offers.poll()] == [3]


def test_what_a_lost_leader_took_is_repeated_before_anything_new(cluster: Any) -> None:
    offers = NumberedOffers(cluster)
    offers.offer(b"heard")
    offers.poll()
    cluster.is_lost = True
    assert [offers.offer(b"lost"), offers.offer(b"lost too")] == [2, 3]
    cluster.is_lost, cluster.leadership_term_id = False, 2
    assert offers.offer(b"new") == 4
    assert numbers(cluster.log) == [1, 2, 3, 4]
    assert offers.repeated == 2
    assert cluster.applied == [b"heard", b"lost", b"lost too", b"new"]


def test_what_is_in_the_log_without_an_answer_counts_once(cluster: Any) -> None:
    offers = NumberedOffers(cluster)
    offers.offer(b"a")
    offers.offer(b"b")
    cluster.egress.clear()
    cluster.ended = True
    with pytest.raises(SessionClosedError):
        offers.poll()
    offers.reconnect()
    assert numbers(cluster.log) == [1, 2, 1, 2]
    assert cluster.applied == [b"a", b"b"]
    assert [each.payload for each in offers.poll()] == [b"ok a", b"ok b"]


def test_repeats_wait_for_room_and_keep_their_order(cluster: Any) -> None:
    offers = NumberedOffers(cluster)
    cluster.is_lost = True
    for _ in range(5):
        offers.offer(b"x")
    cluster.session, cluster.is_lost = object(), False
    cluster.room = 2
    assert offers.offer(b"new") == OfferStatus.BACK_PRESSURED
    assert numbers(cluster.log) == [1, 2]
    offers.poll()
    cluster.room = 100
    assert offers.offer(b"new") == 6
    assert numbers(cluster.log) == [1, 2, 3, 4, 5, 6]


def test_another_client_goes_on(cluster: Any) -> None:
    offers = NumberedOffers(cluster, sender=3)
    cluster.is_lost = True
    offers.offer(b"a")
    other = MadeUpCluster()
    offers.reconnect(other)  # type: ignore[arg-type]
    assert (numbers(other.log), offers.repeated) == ([1], 1)


def test_a_send_that_finds_no_room_ends_in_time(cluster: Any) -> None:
    offers = NumberedOffers(cluster)
    cluster.room = 0
    with pytest.raises(AeronTimeoutError, match="took no message"):
        offers.send(b"a")
    assert offers.waiting == 0


def test_foreign_answers_are_passed_over(cluster: Any) -> None:
    offers = NumberedOffers(cluster, sender=3)
    offers.offer(b"a")
    cluster.egress[:0] = [b"", b"news", NumberedMessage(4, 1, b"").encode(),
                          NumberedMessage(3, 9, b"").encode()]  # fmt: skip
    assert offers.poll() == [NumberedMessage(3, 1, b"ok a")]


def test_answers_are_iterated_until_none_is_missing(cluster: Any) -> None:
    offers = NumberedOffers(cluster)
    for number in range(30):
        offers.offer(b"%d" % number)
    begun = [next(iter(offers.answers())).number for _ in range(2)]
    assert begun == [1, 2]
    assert [answer.number for answer in offers.answers()] == list(range(3, 31))
    assert list(offers.answers()) == []


def test_asyncio(cluster: Any) -> None:
    """Sends that wait for room let other tasks read, and all is repeated in a new session."""
    cluster.caller = AwaitedCaller(lambda: None)

    async def run() -> list[int]:
        offers = AsyncNumberedOffers(cluster, window=2)
        assert sorted(await asyncio.gather(*(offers.send(b"%d" % n) for n in range(5)))) == [
            1, 2, 3, 4, 5,
        ]  # fmt: skip
        found = [answer.number async for answer in offers.answers()]
        cluster.is_lost = True
        await offers.send(b"lost")
        cluster.ended = True
        with pytest.raises(SessionClosedError):
            [answer async for answer in offers.answers()]
        await offers.reconnect()
        assert (offers.waiting, offers.repeated) == (1, 1)
        found += [answer.number async for answer in offers.answers()]
        cluster.room = 0
        with pytest.raises(AeronTimeoutError, match="took no message"):
            await offers.send(b"a")
        return found

    assert asyncio.run(run()) == [1, 2, 3, 4, 5, 6]
    assert numbers(cluster.log) == [1, 2, 3, 4, 5, 6]


def test_the_end_of_a_block_closes_the_client(session: Any) -> None:
    cluster, member = session
    with NumberedOffers(cluster) as offers:
        number = offers.send(b"bid")
        term, _, text = member.await_text()
        assert (term, numbered_message(text)) == (
            cluster.leadership_term_id,
            NumberedMessage(offers.sender, number, b"bid"),
        )
        member.text(numbered_message(text).answer(b"ok"))
        assert [answer.payload for answer in offers.answers()] == [b"ok"]
    assert cluster.state is ClientState.CLOSED


@pytest.mark.parametrize("options", [{"window": 0}, {"first_number": 0}])
def test_odd_options(cluster: Any, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        NumberedOffers(cluster, **options)


def test_seen_numbers_are_a_state_and_bounded() -> None:
    seen = SeenNumbers(senders_max=2)
    assert [seen.add(NumberedMessage(1, number, b"")) for number in (1, 1, 2, 1)] == [
        True, False, True, False,
    ]  # fmt: skip
    seen.add(NumberedMessage(2, 5, b""))
    other = SeenNumbers(senders_max=2)
    other.restore(seen.state())
    assert other.state() == [[1, 2], [2, 5]]
    assert other.add(NumberedMessage(3, 1, b""))
    assert len(other) == 2
    assert other.add(NumberedMessage(1, 2, b"")), "the oldest sender was not forgotten"
    with pytest.raises(ValueError, match="must be positive"):
        SeenNumbers(0)


def test_short_messages_are_refused() -> None:
    with pytest.raises(MessageFormatError, match="15 bytes are no numbered message"):
        numbered_message(bytes(15))
