"""Timers that services have scheduled (spec cluster 17).

The reference offers a wheel and a heap. Both keep the same promises, but for the order of timers
that expire in one tick of the wheel, so both names give this heap, which fires by deadline.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POLL_LIMIT: Final = 20


class Timers:
    """Deadlines by correlation id, in the unit of the cluster's time."""

    def __init__(self) -> None:
        self._deadlines: dict[int, int] = {}
        self._heap: list[tuple[int, int, int]] = []
        self._order = 0
        # A timer event may stand in the log before its service has scheduled the timer again.
        self._expired_early: set[int] = set()

    def __len__(self) -> int:
        return len(self._deadlines)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Give correlation ids and deadlines, the earliest first."""
        return iter(sorted(self._deadlines.items(), key=lambda timer: timer[1]))

    def schedule(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer; one that has this id moves to the new deadline."""
        if correlation_id in self._expired_early:
            self._expired_early.discard(correlation_id)
            return
        self._deadlines[correlation_id] = deadline
        self._order += 1
        heapq.heappush(self._heap, (deadline, self._order, correlation_id))

    def cancel(self, correlation_id: int) -> bool:
        """Take a timer back; returns whether there was one."""
        return self._deadlines.pop(correlation_id, None) is not None

    def on_timer_event(self, correlation_id: int) -> None:
        """Note that the log says that a timer has fired."""
        if not self.cancel(correlation_id):
            self._expired_early.add(correlation_id)

    @property
    def next_deadline(self) -> int | None:
        """The earliest deadline, None without timers."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else None

    def poll(self, now: int, fire: Callable[[int], bool]) -> int:
        """Fire what has expired, at most 20 timers; one that cannot be fired stays.

        Args:
            now: the cluster's time.
            fire: called with a correlation id; returns whether the event stands in the log.

        Returns:
            How many were fired.
        """
        fired = 0
        while fired < POLL_LIMIT:
            deadline = self.next_deadline
            if deadline is None or deadline > now:
                break
            correlation_id = self._heap[0][2]
            if not fire(correlation_id):
                break
            self.cancel(correlation_id)
            fired += 1
        return fired

    def _drop_stale(self) -> None:
        """Drop what was cancelled or moved from the head of the heap."""
        while self._heap and self._deadlines.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
