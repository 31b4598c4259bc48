"""A bidder that loses no bid: those that were not answered are repeated."""

from __future__ import annotations

import json
import threading
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
        self._thread: threading.Thread | None = None
        self._gives_up = False

    @property
    def repeated(self) -> int:
        """How many bids were sent again."""
        return 0 if self._offers is None else self._offers.repeated

    def begin(self, bids: Iterable[tuple[str, int]]) -> None:
        """Start a thread that places bids, pairs of lot and price, until each has been answered."""
        self._thread = threading.Thread(target=self._bid, args=(bids,))
        self._thread.start()

    def finish(self) -> None:
        """Wait until the thread has placed its bids."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _bid(self, bids: Iterable[tuple[str, int]]) -> None:
        try:
            for lot, price in bids:
                self._send({"bidder": self.name, "lot": lot, "price": price})
            self._hear()
        except AerologError:
            if not self._gives_up:
                raise

    def ask(self, lot: str) -> None:
        """Ask how a lot stands."""
        self._send({"lot": lot})
        self._hear()

    def _send(self, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        while True:
            offers = self._offering()
            try:
                offers.send(data)
                return
            except AerologError:
                self._disconnect()

    def _hear(self) -> None:
        """Read answers until no bid waits for one."""
        while True:
            offers = self._offering()
            try:
                answers = offers.poll()
            except AerologError:
                self._disconnect()
                continue
            for answer in answers:
                told = json.loads(answer.payload)
                self.answers[told["lot"]] = told
            if not answers and not offers.waiting:
                return

    def _offering(self) -> NumberedOffers:
        """The offers, with a client that is connected; a new one repeats what has no answer.

        Raises:
            AerologError: there was no node for too long, or the bidder gives up.
        """
        deadline = time.monotonic() + PATIENCE_S
        while self._open is None or self._offers is None:
            try:
                self._open = self._connect()
                if self._offers is None:
                    self._offers = NumberedOffers(self._open[1], window=WINDOW)
                else:
                    self._offers.reconnect(self._open[1])
            except AerologError:
                self._disconnect()
                if self._gives_up or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        if self._gives_up:
            raise AerologError(f"{self.name} has given up")
        return self._offers

    def _disconnect(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            for each in reversed(opened):
                each.close()

    def close(self) -> None:
        """End thread and session, whatever is not placed by then."""
        self._gives_up = True
        self.finish()
        self._disconnect()
