"""What a stream must have cost: predicted bytes, and counters of two drivers from a moment on."""

import time
from typing import Any

from waits import wait_until

from peer import counters as types

FRAME_HEADER = 32
STABLE_S = 0.01


def aligned(length: int) -> int:
    """Rounded up to whole frames of 32 bytes."""
    return (length + 31) & ~31


class PaddedLog:
    """Where messages of given lengths come to lie in a log (spec log-buffers 6).

    Attributes:
        position: of the end.
        padding: bytes of padding frames, headers included.
        padding_frames: how many.
    """

    def __init__(self, term_length: int, mtu: int) -> None:
        self._term_length = term_length
        self._max_payload = mtu - FRAME_HEADER
        self.position = 0
        self.padding = 0
        self.padding_frames = 0

    def append(self, length: int) -> None:
        """One message; a term that has no room for all of it is filled up first."""
        fragments, rest = divmod(length, self._max_payload)
        required = fragments * (self._max_payload + FRAME_HEADER)
        if rest or not fragments:
            required += aligned(rest + FRAME_HEADER)
        room = self._term_length - self.position % self._term_length
        if required > room:
            self.position += room
            self.padding += room
            self.padding_frames += 1
        self.position += required

    @property
    def bytes_on_wire(self) -> int:
        """Of all datagrams of data: of padding only headers are sent."""
        return self.position - self.padding + FRAME_HEADER * self.padding_frames


class Tally:
    """Growth of the system counters of both drivers of a link since this was made."""

    def __init__(self, link: Any) -> None:
        self._sides = link.counters()
        nothing = dict.fromkeys(types.SYSTEM_IDS, 0)
        self._begin: tuple[dict[str, int], dict[str, int]] = (nothing, nothing)
        self._begin = self.stable()

    def read(self) -> tuple[dict[str, int], dict[str, int]]:
        """Growth at the sending and at the receiving driver."""
        sending, receiving = [
            {name: value - old[name] for name, value in side.all_system().items()}
            for side, old in zip(self._sides, self._begin, strict=True)
        ]
        return sending, receiving

    def __repr__(self) -> str:
        kept = [{n: v for n, v in side.items() if v} for side in self.read()]
        return f"sending {kept[0]}, receiving {kept[1]}"

    def stable(self) -> tuple[dict[str, int], dict[str, int]]:
        """The same, at a moment in which nothing was under way."""
        deadline = time.monotonic() + 30
        before = self.read()
        while True:
            time.sleep(STABLE_S)
            now = self.read()
            if now == before:
                return now
            assert time.monotonic() < deadline, "counters never rest"
            before = now


def quiet(link: Any) -> None:
    """Waits until both drivers have forgotten earlier streams, which would be counted as well."""

    def gone() -> bool:
        return not any(
            side.labels(kind)
            for side in link.counters()
            for kind in (
                types.SENDER_POSITION,
                types.RECEIVER_POSITION,
                types.SEND_CHANNEL,
                types.RECEIVE_CHANNEL,
            )
        )

    wait_until(gone, "earlier streams to be forgotten", 30)
