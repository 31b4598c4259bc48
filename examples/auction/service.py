"""The auction house: lots, the highest bid for each, and the bids that were seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aerolog.cluster.service import ClusteredService, SeenNumbers, numbered_message
from aerolog.transport.errors import MessageFormatError

if TYPE_CHECKING:
    from aerolog.cluster.service import ClientSession


class AuctionHouse(ClusteredService):
    """Takes numbered bids as JSON, ``{"bidder": ..., "lot": ..., "price": ...}``.

    A bid that was seen is answered again and changes nothing, so that a bidder may repeat a bid of
    which it does not know whether it arrived. What has no price is a question.
    """

    def __init__(self) -> None:
        self.lots: dict[str, dict[str, Any]] = {}
        self.seen = SeenNumbers()

    def state(self) -> Any:
        """Everything that a snapshot keeps, as JSON can say it."""
        return {"lots": self.lots, "seen": self.seen.state()}

    def restore(self, state: Any) -> None:
        """Go on from a snapshot."""
        self.lots = state["lots"]
        self.seen.restore(state["seen"])

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, data: memoryview
    ) -> None:
        """Take a bid, and tell the bidder who leads."""
        if session is None:
            return
        try:
            message = numbered_message(data)
            bid = json.loads(message.payload)
            name, price = str(bid["lot"]), int(bid.get("price", 0))
        except (MessageFormatError, ValueError, KeyError, TypeError) as error:
            session.send(json.dumps({"error": f"no bid: {error!r}"}).encode())
            return
        lot = self.lots.setdefault(name, {"price": 0, "bidder": "", "bids": 0, "time": 0})
        if self.seen.add(message) and "price" in bid:
            lot["bids"] += 1
            if price > lot["price"]:
                lot.update(price=price, bidder=str(bid.get("bidder")), time=timestamp)
        session.send(message.answer(json.dumps({"lot": name, **lot}).encode()))
