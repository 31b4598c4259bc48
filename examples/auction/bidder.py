"""A bidder that loses no bid: those that were not answered are repeated."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from aerolog.cluster.client import NumberedOffers
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
    """

    def __init__(self, name: str, connect: Callable[[], tuple[Aeron, AeronCluster]]) -> None:
        self.name = name
        self.answers: dict[str, dict[str, Any]] = {}
        self._connect = connect
        self._offers: NumberedOffers | None = None
        self._open: tuple[Aeron, AeronCluster] | None = None

    @property
    def repeated(self) -> int:
        """How many bids were sent again."""
        return 0 if self._offers is None else self._offers.repeated

    def bid(self, bids: Iterable[tuple[str, int]]) -> None:
        """Place bids, pairs of lot and price, and return when each has been answered."""
        for lot, price in bids:
            self._send({"bidder": self.name, "lot": lot, "price": price})
        self._hear()

    def ask(self, lot: str) -> None:
        """Ask how a lot stands."""
        self._send({"lot": lot})
        self._hear()

    def _send(self, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        while True:
            try:
                self._offering().send(data)
                return
            except AerologError:
                self.close()

    def _hear(self) -> None:
        """Read answers until no bid waits for one."""
        while True:
            try:
                offers = self._offering()
                answers = offers.poll()
            except AerologError:
                self.close()
                continue
            for answer in answers:
                told = json.loads(answer.payload)
                self.answers[told["lot"]] = told
            if not answers and not offers.waiting:
                return

    def _offering(self) -> NumberedOffers:
        """The offers, with a client that is connected; a new one repeats what has no answer."""
        if self._open is None:
            self._open = self._patiently_connected()
            if self._offers is None:
                self._offers = NumberedOffers(self._open[1], window=WINDOW)
            else:
                self._offers.reconnect(self._open[1])
        assert self._offers is not None
        return self._offers

    def _patiently_connected(self) -> tuple[Aeron, AeronCluster]:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self._connect()
            except AerologError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def close(self) -> None:
        """End the session."""
        opened, self._open = self._open, None
        if opened is not None:
            for each in reversed(opened):
                each.close()
