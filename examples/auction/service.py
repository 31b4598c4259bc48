"""The auction house: lots, the highest bid for each, and the last bid of each bidder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aerolog.cluster.service import ClusteredService

if TYPE_CHECKING:
    from aerolog.cluster.service import ClientSession


class AuctionHouse(ClusteredService):
    """Takes bids as JSON, ``{"bidder": ..., "number": ..., "lot": ..., "price": ...}``.

    Each bidder numbers its bids from 1. A number that was seen is answered again and changes
    nothing, so that a bidder may repeat a bid of which it does not know whether it arrived.
    """

    def __init__(self) -> None:
        self.lots: dict[str, dict[str, Any]] = {}
        self.seen: dict[str, int] = {}

    def state(self) -> Any:
        """Everything that a snapshot keeps, as JSON can say it."""
        return {"lots": self.lots, "seen": self.seen}

    def restore(self, state: Any) -> None:
        """Go on from a snapshot."""
        self.lots, self.seen = state["lots"], state["seen"]

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, data: memoryview
    ) -> None:
        """Take a bid, and tell the bidder who leads."""
        if session is None:
            return
        try:
            bid = json.loads(bytes(data))
            bidder, number = str(bid["bidder"]), int(bid["number"])
            name, price = str(bid["lot"]), int(bid["price"])
        except (ValueError, KeyError, TypeError) as error:
            session.send(json.dumps({"error": f"no bid: {error!r}"}).encode())
            return
        lot = self.lots.setdefault(name, {"price": 0, "bidder": "", "bids": 0, "time": 0})
        if number > self.seen.get(bidder, 0):
            self.seen[bidder] = number
            lot["bids"] += 1
            if price > lot["price"]:
                lot.update(price=price, bidder=bidder, time=timestamp)
        session.send(json.dumps({"number": number, "lot": name, **lot}).encode())
