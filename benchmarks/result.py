"""What a benchmark answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """One figure of aerolog's beside the same of its peer.

    Attributes:
        name: what the figure is called.
        unit: the unit of both figures.
        ours: our figure.
        peer: the peer's, None when it could not be had.
        peer_name: what the peer is; why there is no figure, if there is none.
        smaller_is_better: whether a smaller figure is better, as with latencies.
    """

    name: str
    unit: str
    ours: float
    peer: float | None
    peer_name: str
    smaller_is_better: bool = False

    @property
    def ratio(self) -> float | None:
        """How many times better ours is; above 1 we are ahead, whatever the unit."""
        if not self.peer or not self.ours:
            return None
        return self.peer / self.ours if self.smaller_is_better else self.ours / self.peer

    def as_dict(self) -> dict[str, object]:
        """The form that ``--json`` prints."""
        ratio = self.ratio
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": round(self.ours, 3),
            "peer": None if self.peer is None else round(self.peer, 3),
            "peer_name": self.peer_name,
            "ratio": None if ratio is None else round(ratio, 3),
        }


class BenchmarkFailedError(Exception):
    """Something was lost, doubled, out of order, or did not run."""


class PeerUnavailableError(Exception):
    """The peer cannot be had on this machine: the reason."""
