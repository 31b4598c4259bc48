"""A bidder that loses no bid: it numbers its bids and repeats those that were not answered."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.cluster.client import AeronCluster
    from aerolog.transport.client import Aeron

WINDOW = 100
PATIENCE_S = 30.0


class Bidder:
    """Bids under a name, through nodes that may end at any time.

    Attributes:
        name: the bidder.
        answers: the last answer for each lot.
        repeated: how many bids were sent again.
    """

    def __init__(self, name: str, connect: Callable[[], tuple[Aeron, AeronCluster]]) -> None:
        self.name = name
        self.answers: dict[str, dict[str, Any]] = {}
        self.repeated = 0
        self._connect = connect
        self._next = 1
        self._waiting: dict[int, bytes] = {}
        self._open: tuple[Aeron, AeronCluster] | None = None

    def bid(self, bids: Iterable[tuple[str, int]]) -> None:
        """Place bids, pairs of lot and price, and return when each has been answered."""
        for lot, price in bids:
            number, self._next = self._next, self._next + 1
            bid = {"bidder": self.name, "number": number, "lot": lot, "price": price}
            self._waiting[number] = json.dumps(bid).encode()
            self._send(self._waiting[number])
            self._hear(WINDOW)
        self._hear(0)

    def ask(self, lot: str) -> None:
        """Ask how a lot stands: the number 0 was seen before any bid, and so changes nothing."""
        bid = {"bidder": self.name, "number": 0, "lot": lot, "price": 0}
        self._waiting[0] = json.dumps(bid).encode()
        self._send(self._waiting[0])
        self._hear(0)

    def _hear(self, most: int) -> None:
        """Read answers until at most so many bids wait for one."""
        while True:
            try:
                assert self._open is not None
                for message in self._open[1].poll_messages():
                    answer = json.loads(message.data)
                    self._waiting.pop(answer["number"], None)
                    self.answers[answer["lot"]] = answer
                if len(self._waiting) <= most:
                    return
            except AerologError:
                self._connect_anew()

    def _send(self, data: bytes) -> None:
        try:
            if self._open is None:
                self._connect_anew()
            else:
                self._open[1].send(data)
        except (AerologError, TimeoutError):
            self._connect_anew()

    def _connect_anew(self) -> None:
        """Connect, and repeat what nobody has answered."""
        self.close()
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._open = self._connect()
                for data in self._waiting.values():
                    self._open[1].send(data)
                self.repeated += len(self._waiting)
                return
            except (AerologError, TimeoutError):
                self.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def close(self) -> None:
        """End the session."""
        opened, self._open = self._open, None
        if opened is not None:
            for each in reversed(opened):
                each.close()
