"""Offers that reach the log once: numbered, kept until they are answered, and repeated."""

from __future__ import annotations

import secrets
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from aerolog.cluster.client.aeron_cluster import AeronCluster, AsyncAeronCluster
from aerolog.cluster.client.cluster_session import FRAGMENT_LIMIT
from aerolog.cluster.numbered_messages import NumberedMessage, numbered_message
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.client.steps.caller import AwaitedForm, WaitingForm, operation, series
from aerolog.transport.errors import AeronTimeoutError, MessageFormatError
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from aerolog.cluster.client.cluster_session import ClusterSession
    from aerolog.transport.client.steps.caller import Parts, Steps
    from aerolog.transport.protocol.sbe import Buffer

WINDOW: Final = 1024
ClientT = TypeVar("ClientT", AeronCluster, AsyncAeronCluster)


class NumberedOffersBase(Generic[ClientT]):
    """The offers of a client that waits or is awaited.

    Attributes:
        sender: who numbers.
        window: how many messages may be without an answer.
        repeated: how many messages were sent again.
        caller: the client's, which carries operations out.
    """

    def __init__(
        self,
        cluster: ClientT,
        *,
        sender: int | None = None,
        first_number: int = 1,
        window: int = WINDOW,
    ) -> None:
        """Begin to number.

        Args:
            cluster: the client; only this object offers to it and polls it.
            sender: who numbers, 64 bits; a random one by default. No two clients may have the same.
            first_number: the number of the first message. A sender that goes on in a new process
                goes on with its numbers.
            window: how many messages may be without an answer.
        """
        if first_number < 1 or window < 1:
            raise ValueError(f"first_number={first_number} and window={window} must be positive")
        self.sender = secrets.randbits(63) if sender is None else sender
        self.window = window
        self.repeated = 0
        self._next = first_number
        self._waiting: dict[int, bytes] = {}
        self._unsent: deque[int] = deque()
        self._answers: deque[NumberedMessage] = deque()
        self._cluster: ClientT = cluster
        self.caller: Any = cluster.caller
        self._session: ClusterSession = cluster.session
        self._term = cluster.leadership_term_id

    @property
    def waiting(self) -> int:
        """How many messages have no answer."""
        return len(self._waiting)

    def offer(self, data: Buffer) -> int | OfferStatus:
        """Offer a message, without waiting.

        Args:
            data: anything with a contiguous buffer.

        Returns:
            The message's number, or the OfferStatus that says why it was not taken:
            BACK_PRESSURED also when as many messages as the window holds have no answer.

        Raises:
            MessageTooLargeError: it is longer than the ingress takes, with 16 bytes in front.
        """
        if len(self._waiting) >= self.window:
            return OfferStatus.BACK_PRESSURED
        result = self._repeat()
        if result <= 0:
            return OfferStatus(result)
        number = self._next
        message = NumberedMessage(self.sender, number, bytes(data)).encode()
        result = self._cluster.offer(message)
        if result <= 0:
            return OfferStatus(result)
        self._next += 1
        self._waiting[number] = message
        return number

    @operation
    def send(self, data: Buffer, *, timeout: float | None = None) -> Steps[int]:
        """Offer a message until it is taken, and return its number.

        Answers that come meanwhile are in what `poll` and `answers` give next.

        Args:
            data: anything with a contiguous buffer.
            timeout: seconds; the client's message timeout by default.

        Raises:
            AeronTimeoutError: it was not taken in time.
            SessionClosedError: the session has ended: `reconnect`, and send it then.
        """
        options = self._cluster.options
        seconds = options.message_timeout if timeout is None else timeout
        deadline_ns = options.clock.now_ns() + round(seconds * NS_PER_S)
        while (result := self.offer(data)) <= 0:
            found = self._read(FRAGMENT_LIMIT)
            self._answers += found
            if options.clock.now_ns() > deadline_ns:
                raise AeronTimeoutError(f"the cluster's ingress took no message: {result!r}")
            yield len(found)
        return int(result)

    def poll(self, limit: int = FRAGMENT_LIMIT) -> list[NumberedMessage]:
        """Read at most ``limit`` fragments; the answers to messages that had none.

        Raises:
            SessionClosedError: the session has ended: `reconnect`.
        """
        found = list(self._answers)
        self._answers.clear()
        return found or self._read(limit)

    @series
    def answers(self) -> Parts[NumberedMessage]:
        """Iterate over the answers, until no message is without one.

        Raises:
            SessionClosedError: the session has ended: `reconnect`, and iterate again.
        """
        while True:
            while self._answers:
                # One at a time: what an abandoned iteration has not given stays for the next.
                yield [self._answers.popleft()]
            if not self._waiting:
                return
            self._answers += self._read(FRAGMENT_LIMIT)
            if not self._answers:
                yield 0

    def _read(self, limit: int) -> list[NumberedMessage]:
        found = []
        for received in self._cluster.poll_messages(limit):
            try:
                answer = numbered_message(received.data)
            except MessageFormatError:
                continue  # something else that the service says
            if answer.sender == self.sender and self._waiting.pop(answer.number, None) is not None:
                found.append(answer)
        self._repeat()
        return found

    @operation
    def reconnect(self, cluster: ClientT | None = None) -> Steps[None]:
        """Go on in a new session, and repeat what has no answer.

        Args:
            cluster: another client, whose driver is there; by default the one there is connects
                anew, which waits for the cluster.

        Raises:
            AeronTimeoutError: no leader answered.
            ClusterError: the cluster refused the session.
        """
        if cluster is None:
            yield from self._cluster.reconnecting()
        else:
            self._cluster, self.caller = cluster, cluster.caller
        self._repeat()

    def _repeat(self) -> int:
        """Offer again what has no answer, if another leader may not have heard of it."""
        session, term = self._cluster.session, self._cluster.leadership_term_id
        if session is not self._session or term != self._term:
            self._session, self._term = session, term
            self._unsent = deque(self._waiting)
        while self._unsent:
            message = self._waiting.get(self._unsent[0])
            if message is not None:  # it was not answered meanwhile
                result = self._cluster.offer(message)
                if result <= 0:
                    return int(result)
                self.repeated += 1
            self._unsent.popleft()
        return 1


class NumberedOffers(NumberedOffersBase[AeronCluster], WaitingForm):
    """Numbers the messages of a client and repeats those without an answer.

    After a new leader, and in a new session, all that was not answered is sent again, in the order
    of its numbers and before anything new. The service applies a number once
    (`aerolog.cluster.service.SeenNumbers`) and answers each message, repeated ones too, with
    `NumberedMessage.answer`.

    Example:
        with AeronCluster(aeron, ingress_channel=ipc, egress_channel=ipc) as cluster:
            offers = NumberedOffers(cluster)
            offers.send(b"bid 7 100")
            for answer in offers.answers(): ...
    """

    def close(self) -> None:
        """Close the client."""
        self._cluster.close()


class AsyncNumberedOffers(NumberedOffersBase[AsyncAeronCluster], AwaitedForm):
    """As `NumberedOffers`, for an `AsyncAeronCluster`; `offer` and `poll` do not wait.

    Example:
        offers = AsyncNumberedOffers(cluster)
        await offers.send(b"bid 7 100")
        async for answer in offers.answers(): ...
    """

    async def close(self) -> None:
        """Close the client."""
        await self._cluster.close()
