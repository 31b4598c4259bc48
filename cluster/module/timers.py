"""Timers that services have scheduled (spec cluster 17).

The log shows in which order timers expire that are due at one time, as after a suspension. Both
kinds keep the reference's order: the wheel goes by tick and, in a tick, by the slots that timers
got; the heap goes by deadline, and has equal ones in the order of a binary heap.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from aerolog.cluster.module import properties as p

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.cluster.module.properties import ModuleConfig

POLL_LIMIT: Final = 20
#: Deadlines of timers that are gone, which a wheel keeps at most beside as many as it has timers.
_STALE_MAX: Final = 100


class Timers(ABC):
    """Deadlines by correlation id, in the unit of the cluster's time."""

    def __init__(self) -> None:
        # A timer event may stand in the log before its service has scheduled the timer again.
        self._expired_early: set[int] = set()

    @abstractmethod
    def __len__(self) -> int:
        """Return how many timers there are."""

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Give correlation ids and deadlines, in the order in which a snapshot has them."""

    def schedule(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer; one that has this id moves to the new deadline."""
        if correlation_id in self._expired_early:
            self._expired_early.discard(correlation_id)
            return
        self._put(correlation_id, deadline)

    @abstractmethod
    def _put(self, correlation_id: int, deadline: int) -> None: ...

    @abstractmethod
    def cancel(self, correlation_id: int) -> bool:
        """Take a timer back; returns whether there was one."""

    def on_timer_event(self, correlation_id: int) -> None:
        """Note that the log says that a timer has fired."""
        if not self.cancel(correlation_id):
            self._expired_early.add(correlation_id)

    @property
    @abstractmethod
    def next_deadline(self) -> int | None:
        """The earliest deadline, None without timers."""

    def advance(self, now: int) -> None:  # noqa: B027 - a heap has no use for it
        """Take notice of the time, before timers are scheduled."""

    @abstractmethod
    def poll(self, now: int, fire: Callable[[int], bool]) -> int:
        """Fire what has expired, at most 20 timers; one that cannot be fired stays.

        Args:
            now: the cluster's time.
            fire: called with a correlation id; returns whether the event stands in the log.

        Returns:
            How many were fired.
        """


class HeapTimers(Timers):
    """A binary heap: the earliest deadline first."""

    def __init__(self) -> None:
        super().__init__()
        self._heap: list[tuple[int, int]] = []  # deadline and correlation id
        self._places: dict[int, int] = {}  # by correlation id, where the heap has it

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter([(correlation_id, deadline) for deadline, correlation_id in self._heap])

    @property
    def next_deadline(self) -> int | None:
        """The earliest deadline, None without timers."""
        return self._heap[0][0] if self._heap else None

    def _put(self, correlation_id: int, deadline: int) -> None:
        timer = (deadline, correlation_id)
        place = self._places.get(correlation_id)
        if place is None:
            self._heap.append(timer)
            self._rise(len(self._heap) - 1, timer)
        elif deadline < self._heap[place][0]:
            self._rise(place, timer)
        elif deadline > self._heap[place][0]:
            self._sink(place, timer)

    def cancel(self, correlation_id: int) -> bool:
        """Take a timer back; returns whether there was one."""
        place = self._places.pop(correlation_id, None)
        if place is None:
            return False
        last = self._heap.pop()
        if place < len(self._heap) and self._sink(place, last) == place:
            self._rise(place, last)
        return True

    def _set(self, place: int, timer: tuple[int, int]) -> None:
        self._heap[place] = timer
        self._places[timer[1]] = place

    def _rise(self, place: int, timer: tuple[int, int]) -> None:
        """Put a timer to a place, or above it where all are later."""
        while place > 0 and self._heap[parent := (place - 1) // 2][0] > timer[0]:
            self._set(place, self._heap[parent])
            place = parent
        self._set(place, timer)

    def _sink(self, place: int, timer: tuple[int, int]) -> int:
        """Put a timer to a place, or below it where none is later; returns the place."""
        heap = self._heap
        while (child := 2 * place + 1) < len(heap):
            if child + 1 < len(heap) and heap[child + 1][0] < heap[child][0]:
                child += 1
            if heap[child][0] > timer[0]:
                break
            self._set(place, heap[child])
            place = child
        self._set(place, timer)
        return place

    def poll(self, now: int, fire: Callable[[int], bool]) -> int:
        """Fire what has expired, at most 20 timers; one that cannot be fired stays."""
        fired = 0
        while fired < POLL_LIMIT and self._heap and self._heap[0][0] <= now:
            correlation_id = self._heap[0][1]
            if not fire(correlation_id):
                break
            self.cancel(correlation_id)
            fired += 1
        return fired


class WheelTimers(Timers):
    """A wheel of spokes, each of which takes the timers of a tick, and of those whole turns later.

    Args:
        resolution: how long a tick is, in the unit of the cluster's time.
        spokes: how many ticks a turn has.
    """

    def __init__(self, resolution: int, spokes: int) -> None:
        super().__init__()
        self._resolution = resolution
        self._spokes: list[list[tuple[int, int] | None]] = [[] for _ in range(spokes)]
        self._holes: list[list[int]] = [[] for _ in range(spokes)]  # of each spoke, as heaps
        self._places: dict[int, tuple[int, int, int]] = {}  # deadline, spoke and slot
        self._deadlines: list[tuple[int, int]] = []  # a heap that also has what was cancelled
        self._tick: int | None = None  # None until the first poll
        self._slot = 0  # where the tick's poll goes on

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter([(each, place[0]) for each, place in self._places.items()])

    @property
    def next_deadline(self) -> int | None:
        """The earliest deadline, None without timers."""
        while self._deadlines:
            deadline, correlation_id = self._deadlines[0]
            if self._places.get(correlation_id, (None,))[0] == deadline:
                return deadline
            heapq.heappop(self._deadlines)
        return None

    def _put(self, correlation_id: int, deadline: int) -> None:
        self.cancel(correlation_id)
        tick = deadline // self._resolution
        if self._tick is not None:
            tick = max(tick, self._tick)
        spoke = tick % len(self._spokes)
        holes, timers = self._holes[spoke], self._spokes[spoke]
        slot = heapq.heappop(holes) if holes else len(timers)
        if slot == len(timers):
            timers.append(None)
        timers[slot] = (deadline, correlation_id)
        self._places[correlation_id] = (deadline, spoke, slot)
        heapq.heappush(self._deadlines, (deadline, correlation_id))
        if len(self._deadlines) > 2 * len(self._places) + _STALE_MAX:
            self._deadlines = [(place[0], each) for each, place in self._places.items()]
            heapq.heapify(self._deadlines)

    def cancel(self, correlation_id: int) -> bool:
        """Take a timer back; returns whether there was one."""
        place = self._places.pop(correlation_id, None)
        if place is None:
            return False
        _, spoke, slot = place
        self._spokes[spoke][slot] = None
        heapq.heappush(self._holes[spoke], slot)
        return True

    def poll(self, now: int, fire: Callable[[int], bool]) -> int:
        """Fire what has expired, at most 20 timers; one that cannot be fired stays."""
        last, turn = now // self._resolution, len(self._spokes)
        # Since a restart ticks were missed: the reference begins at the present one's spoke.
        first = last - turn if self._tick is None else self._tick
        fired = 0
        # In one turn all spokes are seen: further ones find nothing more that is due.
        for tick in range(first, max(first, min(last, first + turn)) + 1):
            self._tick = tick
            if not self._is_due(now):
                break
            fired, is_done = self._poll_spoke(tick % turn, now, fire, fired)
            if not is_done:
                return fired
            self._slot = 0
        self.advance(now)
        return fired

    def advance(self, now: int) -> None:
        """Take notice of the time: what is overdue when it is scheduled gets the present tick."""
        if not self._is_due(now):
            last = now // self._resolution
            if self._tick is None or self._tick < last:
                self._tick, self._slot = last, 0

    def _is_due(self, now: int) -> bool:
        deadline = self.next_deadline
        return deadline is not None and deadline <= now

    def _poll_spoke(
        self, spoke: int, now: int, fire: Callable[[int], bool], fired: int
    ) -> tuple[int, bool]:
        """Fire what has expired of a spoke; how many were fired, and whether all were."""
        timers = self._spokes[spoke]
        for slot in range(self._slot, len(timers)):
            timer = timers[slot]
            if timer is None or timer[0] > now:
                continue
            self._slot = slot
            if fired == POLL_LIMIT or not fire(timer[1]):
                return fired, False
            self.cancel(timer[1])
            fired += 1
        if len(self._holes[spoke]) == len(timers):
            timers.clear()
            self._holes[spoke].clear()
        return fired, True


def timers_of(config: ModuleConfig) -> Timers:
    """Return the timers of the kind that a module's properties name."""
    if config[p.TIMER_SERVICE] == p.HEAP_TIMERS:
        return HeapTimers()
    ticks = max(config[p.TICK_RESOLUTION] // config.time_unit_ns, 1)
    return WheelTimers(1 << (ticks - 1).bit_length(), config[p.TICKS_PER_WHEEL])
