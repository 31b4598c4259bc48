"""What processes hold, and what stands in a driver's directory, while nothing is going on."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from waits import wait_until

from aerolog.transport.client import CountersReader

# A round allocates and frees the same again; what the allocator keeps may still settle a little: by
# fewer mappings without a file than there are clients of a kind in a round.
MEMORY_SLACK_KB, MAPPINGS_SLACK = 2048, 2


@dataclass
class Holdings:
    """Counts of what a process holds, mappings by file, and of what its driver's directory has."""

    log_mappings: int
    mappings: Counter[str] = field(repr=False)  # a line for each library
    descriptors: int
    anonymous_kb: int
    logs: int
    counters: int


def holdings(pid: int, aeron_dir: str) -> Holdings:
    """What a process holds now."""
    process = Path("/proc", str(pid))
    maps = process.joinpath("maps").read_text().splitlines()
    status = process.joinpath("status").read_text()
    anonymous = re.search(r"RssAnon:\s+(\d+) kB", status)
    assert anonymous is not None
    return Holdings(
        sum("/publications/" in line or "/images/" in line for line in maps),
        Counter("".join(line.split(maxsplit=5)[5:]) for line in maps),
        len(list(process.joinpath("fd").iterdir())),
        int(anonymous.group(1)),
        sum(1 for _ in Path(aeron_dir).glob("*/*.logbuffer")),
        sum(1 for _ in CountersReader(aeron_dir).infos()),
    )


def counter_labels(aeron_dir: str) -> Counter[str]:
    """How many counters have which label, but for the names of clients, which come later."""
    counters = CountersReader(aeron_dir).infos()
    return Counter(c.label.partition(" name=")[0] for c in counters)


class Household:
    """What processes of one driver hold while nothing is going on: what has to come back.

    Args:
        aeron_dir: the driver's directory.
        pids: the processes; the first one is the driver's.
    """

    def __init__(self, aeron_dir: str, *pids: int) -> None:
        self._aeron_dir, self._pids = aeron_dir, pids
        self._labels = counter_labels(aeron_dir)
        self.idle = self._now()

    def _now(self) -> list[Holdings]:
        return [holdings(pid, self._aeron_dir) for pid in self._pids]

    def settled(self) -> list[Holdings]:
        """What is left when the time of everything that lingers is over."""
        left: list[object] = []

        def is_quiet() -> bool:
            now = self._now()
            left[:] = [now, *(counter_labels(self._aeron_dir) - self._labels)]
            return len(left) == 1 and now[0].logs == self.idle[0].logs

        wait_until(is_quiet, left, 30)
        return self._now()

    def check(self, before: list[Holdings], after: list[Holdings]) -> None:
        """That nothing has become more from one round to the next ones."""
        for idle, earlier, later in zip(self.idle, before, after, strict=True):
            assert later.counters == earlier.counters
            assert later.descriptors == earlier.descriptors, (earlier, later)
            assert later.log_mappings == idle.log_mappings, (idle, later)
            more = later.mappings - earlier.mappings
            assert more.pop("", 0) <= MAPPINGS_SLACK, (earlier, later)
            assert more == Counter()
            assert later.anonymous_kb <= earlier.anonymous_kb + MEMORY_SLACK_KB, (earlier, later)
