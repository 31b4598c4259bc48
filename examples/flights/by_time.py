"""The flights by the time at which they were recorded: windows of it, and one at twice its pace."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from examples.recorded_stream import STALL_TIMEOUT_S, CheckError

from aerolog.archive.client import TimedReplay
from aerolog.archive.time_index import TimeIndex

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aerolog.archive.client import AeronArchive

WINDOWS = 5
SPEED = 2.0
_NS = 1e-9
_SHORTEST_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the time in which the flights were recorded.

    Attributes:
        begin_ns: of the window, since the epoch.
        end_ns: of the window, which does not belong to it.
        flights: recorded in it.
    """

    begin_ns: int
    end_ns: int
    flights: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.begin_ns) * _NS

    def __str__(self) -> str:
        return (
            f"{_clock(self.begin_ns)} to {_clock(self.end_ns)} {self.flights:>9,} flights"
            f" {self.flights / self.seconds:>11,.0f}/s"
        )


def by_window(
    archive: AeronArchive, archive_dir: Path, recording_id: int, messages: Sequence[bytes]
) -> list[Window]:
    """Replay one window of time after the other, and check that no flight is missing or twice.

    Raises:
        CheckError: the windows together are not what was published.
    """
    with TimeIndex.open(archive_dir, recording_id) as index:
        first = index.first_time_ns
        last = max(index.last_time_ns, first + _SHORTEST_NS)
    bounds = [first + (last - first) * number // WINDOWS for number in range(WINDOWS + 1)]
    found, at = [], 0
    for begin, end in pairwise(bounds):
        # What lies before the first entry and behind the last one belongs to the ends.
        start, stop = None if begin == first else begin, None if end == last else end
        with TimedReplay(
            archive, recording_id, start, stop, speed=None, timeout=STALL_TIMEOUT_S
        ) as replay:
            payloads = [message.payload for message in replay]
        if payloads != messages[at : at + len(payloads)]:
            raise CheckError(f"the flights of {_clock(begin)} to {_clock(end)} are others")
        found.append(Window(begin, end, len(payloads)))
        at += len(payloads)
    if at != len(messages):
        raise CheckError(f"{at} of {len(messages)} flights are in the windows")
    return found


def paced(archive: AeronArchive, recording_id: int, window: Window) -> float:
    """Replay a window at twice the pace at which it was recorded; seconds that it took.

    Raises:
        CheckError: it has another number of flights than before, or was faster than it may be.
    """
    begun = time.monotonic()
    with TimedReplay(
        archive,
        recording_id,
        window.begin_ns,
        window.end_ns,
        speed=SPEED,
        timeout=STALL_TIMEOUT_S,
    ) as replay:
        times = [message.time_ns for message in replay]
    seconds = time.monotonic() - begun
    if len(times) != window.flights:
        raise CheckError(f"{len(times)} of {window.flights} flights were replayed")
    if times and seconds < (times[-1] - times[0]) * _NS / SPEED:
        raise CheckError(f"a replay at {SPEED:g}x took {seconds:.3f} s: it is too fast")
    return seconds


def _clock(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns * _NS, UTC):%H:%M:%S.%f}"[:-3]
