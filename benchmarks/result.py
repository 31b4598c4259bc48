"""What a benchmark answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Peer:
    """The figure of a peer, None when it could not be had, and its name with the reason then."""

    figure: float | None
    name: str


@dataclass(frozen=True, slots=True)
class Result:
    """One figure of aerolog's beside the same of its peer, or of several.

    Attributes:
        name: what the figure is called.
        unit: the unit of both figures.
        ours: our figure.
        peer: the peer's, None when it could not be had.
        peer_name: what the peer is; why there is no figure, if there is none.
        smaller_is_better: whether a smaller figure is better, as with latencies.
        more: other peers.
    """

    name: str
    unit: str
    ours: float
    peer: float | None
    peer_name: str
    smaller_is_better: bool = False
    more: tuple[Peer, ...] = ()

    @property
    def peers(self) -> tuple[Peer, ...]:
        """All of them, first the one in ``peer``."""
        return (Peer(self.peer, self.peer_name), *self.more)

    @property
    def ratio(self) -> float | None:
        """How many times better ours is; above 1 we are ahead, whatever the unit."""
        return self.ratio_to(self.peer)

    def ratio_to(self, figure: float | None) -> float | None:
        """How many times better ours is than a figure."""
        if not figure or not self.ours:
            return None
        return figure / self.ours if self.smaller_is_better else self.ours / figure

    def as_dict(self) -> dict[str, object]:
        """The form that ``--json`` prints; ``more`` is there where there is more than one peer."""
        first, *more = map(self._beside, self.peers)
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": round(self.ours, 3),
            **first,
            **({"more": more} if more else {}),
        }

    def _beside(self, peer: Peer) -> dict[str, object]:
        ratio = self.ratio_to(peer.figure)
        return {
            "peer": None if peer.figure is None else round(peer.figure, 3),
            "peer_name": peer.name,
            "ratio": None if ratio is None else round(ratio, 3),
        }


class BenchmarkFailedError(Exception):
    """Something was lost, doubled, out of order, or did not run."""


class PeerUnavailableError(Exception):
    """The peer cannot be had on this machine: the reason."""


def from_peer(name: str, measure: Callable[[], T]) -> tuple[T | None, str]:
    """What is measured of a peer, None when it cannot be had, and its name with the reason then."""
    try:
        return measure(), name
    except PeerUnavailableError as reason:
        return None, f"{name}: {reason}"
