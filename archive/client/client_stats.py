"""What a client counts about its requests, to see how an archive answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ArchiveClientStats:
    """Counts since the client was made; they go on over a reconnect.

    A round trip is the time from the moment a request is in the log to the moment its last answer
    is taken in, so it holds the waits of a client between two looks at its responses.

    Attributes:
        requests: sent.
        answers: requests that ended in a result or in an error of the archive's.
        refused: of these, in an error.
        timeouts: requests that had no answer in the message timeout.
        signals: recording signals that came.
        sessions: connected, the first one included.
        round_trip_last_ns: of the last answer.
        round_trip_min_ns: the shortest, 0 before there is any.
        round_trip_max_ns: the longest.
        round_trip_total_ns: of all together.
    """

    requests: int = 0
    answers: int = 0
    refused: int = 0
    timeouts: int = 0
    signals: int = 0
    sessions: int = 0
    round_trip_last_ns: int = 0
    round_trip_min_ns: int = 0
    round_trip_max_ns: int = 0
    round_trip_total_ns: int = 0

    @property
    def round_trip_mean_ns(self) -> float:
        """Of the answers so far, 0 before there is any."""
        return self.round_trip_total_ns / self.answers if self.answers else 0.0

    def on_answer(self, round_trip_ns: int, *, refused: bool) -> None:
        """A request was answered."""
        first = self.answers == 0
        self.answers += 1
        self.refused += refused
        self.round_trip_last_ns = round_trip_ns
        self.round_trip_total_ns += round_trip_ns
        self.round_trip_max_ns = max(self.round_trip_max_ns, round_trip_ns)
        if first or round_trip_ns < self.round_trip_min_ns:
            self.round_trip_min_ns = round_trip_ns
