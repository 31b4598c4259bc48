"""Duty cycles: what counters and histograms say of each agent's, and the page that shows it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.tools.top import number_text
from aerolog.tools.top.page import TextPage
from aerolog.tools.top.text_lines import Line, Style, clean, fit, line
from aerolog.tools.views import cluster_counters
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.measurement import CycleHistogram, Reading
    from aerolog.tools.top.top_model import Model
    from aerolog.tools.views.counters_snapshot import CountersSnapshot

#: System counters of the longest cycle -> those of the cycles above a threshold.
_DRIVER_LONGEST: Final = {
    SystemCounter.CONDUCTOR_MAX_CYCLE_TIME: SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED,
    SystemCounter.SENDER_MAX_CYCLE_TIME: SystemCounter.SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED,
    SystemCounter.RECEIVER_MAX_CYCLE_TIME: SystemCounter.RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED,
    SystemCounter.NAME_RESOLVER_MAX_TIME: SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED,
}
_ARCHIVE_LONGEST: Final = ArchiveCounterType.MAX_CYCLE_TIME
_ARCHIVE_TRANSFERS: Final = (ArchiveCounterType.MAX_WRITE_TIME, ArchiveCounterType.MAX_READ_TIME)
#: Types of the longest -> those that count the ones above a threshold.
_CLUSTER_LONGEST: Final = {
    ClusterCounterType.MODULE_MAX_CYCLE: ClusterCounterType.MODULE_CYCLES_EXCEEDED,
    ClusterCounterType.SERVICE_MAX_CYCLE: ClusterCounterType.SERVICE_CYCLES_EXCEEDED,
    ClusterCounterType.MODULE_MAX_SNAPSHOT: ClusterCounterType.MODULE_SNAPSHOTS_EXCEEDED,
    ClusterCounterType.SERVICE_MAX_SNAPSHOT: ClusterCounterType.SERVICE_SNAPSHOTS_EXCEEDED,
}
_SNAPSHOTS: Final = frozenset(
    (ClusterCounterType.MODULE_MAX_SNAPSHOT, ClusterCounterType.SERVICE_MAX_SNAPSHOT)
)
_DOINGS: Final = frozenset((ClusterCounterType.MODULE_STATE, ClusterCounterType.NODE_ROLE))
_ARCHIVE_ID: Final = re.compile(r" - archiveId=(-?\d+)")
_THRESHOLD: Final = re.compile(r"threshold=(\S+)")

#: The exponents of two, in nanoseconds, that the axis goes over: 512 ns to 8.6 s.
_FIRST: Final = 9
_LAST: Final = 33
_MARKS: Final = ((10, "1us"), (15, "32us"), (20, "1ms"), (25, "33ms"), (30, "1s"))
_INDENT: Final = 18


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's duty cycles.

    Attributes:
        name: the beginning of the label of the agent's counter.
        owner: ``driver``, ``archive`` and its id, or ``cluster``, its id and what it does.
        longest_ns: the longest cycle since the process began.
        exceeded: cycles above the threshold, None where nobody counts them.
        threshold: in the short form of the label, empty when it does not say.
        ever: cycles by powers of two since the process began, None where nobody keeps them.
        recent: the same of the last looks.
    """

    name: str
    owner: str
    longest_ns: int
    exceeded: int | None
    threshold: str
    ever: tuple[int, ...] | None = None
    recent: tuple[int, ...] | None = None


def agents_of(reading: Reading, oldest: Reading) -> list[Agent]:
    """The agents that a driver's counters tell of.

    Args:
        reading: the newest look.
        oldest: the look that recent cycles are counted from.
    """
    snapshot = reading.snapshot
    if snapshot is None:
        return []
    agents = [*_of_driver(snapshot), *_of_archives(snapshot), *_of_clusters(snapshot)]
    ever = {one.agent: one for one in reading.cycles}
    past = {one.agent: one for one in oldest.cycles}
    return [_with_histogram(agent, ever, past) for agent in agents]


def _with_histogram(
    agent: Agent, ever: dict[str, CycleHistogram], past: dict[str, CycleHistogram]
) -> Agent:
    now = ever.get(agent.name)
    if now is None:
        return agent
    before = past.get(agent.name)
    recent = now.counts
    if before is not None and before is not now:
        recent = tuple(max(n - b, 0) for n, b in zip(now.counts, before.counts, strict=False))
    return replace(agent, ever=now.counts, recent=recent)


def _of_driver(snapshot: CountersSnapshot) -> Iterator[Agent]:
    for longest, above in _DRIVER_LONGEST.items():
        row, exceeded = snapshot.row_of(longest), snapshot.row_of(above)
        if row is None or snapshot.type_ids[row] != CounterType.SYSTEM:
            continue
        name = _agent_name(snapshot.label(row))
        yield Agent(name, "driver", snapshot.values[row], *_exceeded(snapshot, exceeded))


def _of_archives(snapshot: CountersSnapshot) -> Iterator[Agent]:
    exceeded: dict[tuple[str, str], int] = {}
    for row in snapshot.rows_of({ArchiveCounterType.CYCLE_TIME_EXCEEDED}):
        label = snapshot.label(row)
        exceeded[label.partition(" work cycle ")[0], _owner(label)] = row
    for row in snapshot.rows_of({_ARCHIVE_LONGEST, *_ARCHIVE_TRANSFERS}):
        label = snapshot.label(row)
        name, owner = _agent_name(label), _owner(label)
        other = exceeded.get((name, owner)) if snapshot.type_ids[row] == _ARCHIVE_LONGEST else None
        yield Agent(name, owner, snapshot.values[row], *_exceeded(snapshot, other))


def _of_clusters(snapshot: CountersSnapshot) -> Iterator[Agent]:
    """Consensus modules and services: their cycles, and their snapshots."""
    doings: dict[int | None, list[str]] = {}
    for row in snapshot.rows_of(_DOINGS):
        type_id, key = snapshot.type_ids[row], snapshot.key(row)
        doing = cluster_counters.value_name(type_id, snapshot.values[row])
        of = doings.setdefault(cluster_counters.cluster_id_of(type_id, key), [])
        of.append(doing.lower().replace("_", " "))
    exceeded = {
        (snapshot.type_ids[row], snapshot.key(row)): row
        for row in snapshot.rows_of(_CLUSTER_LONGEST.values())
    }
    for row in snapshot.rows_of(_CLUSTER_LONGEST):
        type_id, key = snapshot.type_ids[row], snapshot.key(row)
        cluster_id = cluster_counters.cluster_id_of(type_id, key)
        kind = " snapshot" if type_id in _SNAPSHOTS else ""
        above = exceeded.get((_CLUSTER_LONGEST[ClusterCounterType(type_id)], key))
        yield Agent(
            cluster_counters.component_of(type_id, key) + kind,
            ", ".join((f"cluster {cluster_id}", *filter(None, doings.get(cluster_id, ())))),
            snapshot.values[row],
            *_exceeded(snapshot, above),
        )


def _agent_name(label: str) -> str:
    """``Conductor``, ``archive-recorder``; ``archive-recorder write`` of a single write."""
    name, _, rest = label.partition(" max ")
    kind = rest.split(" ", 1)[0]
    return clean(f"{name} {kind}" if kind in {"write", "read"} else name)


def _owner(label: str) -> str:
    found = _ARCHIVE_ID.search(label)
    return f"archive {found[1]}" if found else "archive"


def _exceeded(snapshot: CountersSnapshot, row: int | None) -> tuple[int | None, str]:
    """How many cycles passed the threshold, and which one, by the row of their counter."""
    if row is None:
        return None, ""
    found = _THRESHOLD.search(snapshot.label(row))
    return snapshot.values[row], clean(found[1]) if found else ""


def quantile(counts: Sequence[int], share: float) -> int | None:
    """A bound that this part of the cycles stays below, nanoseconds; None without a cycle."""
    total = sum(counts)
    if not total:
        return None
    wanted = max(math.ceil(total * share), 1)
    seen = 0
    for index, count in enumerate(counts):
        seen += count
        if seen >= wanted:
            return 1 << (index + 1)
    raise AssertionError("the counts sum up to their sum")


class CyclesPage(TextPage):
    """Each agent: longest cycle, cycles above the threshold, histograms where there are some."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__("Cycles")
        self._glyphs = glyphs
        self._agents: Sequence[Agent] = ()

    def refresh(self, model: Model) -> None:
        """Draws the agents anew."""
        self._agents = model.agents
        lines: list[Line] = []
        for agent in model.agents:
            lines += self._agent(agent)
        self._lines = lines or [line(" no agent tells of its cycles", Style.DIM)]

    def head(self, width: int) -> Sequence[Line]:
        """The line with the axis."""
        axis = [" "] * (width + 8)
        for exponent, text in _MARKS:
            at = _INDENT + _at(exponent)
            axis[at : at + len(text) + 1] = f"|{text}"
        axis[1:8] = "AGENT  "
        return (((("".join(axis))[:width].ljust(width), Style.HEADING),),)

    def _agent(self, agent: Agent) -> Iterator[Line]:
        longest = Style.PLAIN if not agent.exceeded else Style.WARNING
        name = agent.name if agent.owner == "driver" else f"{agent.name} ({agent.owner})"
        told = [
            (f" {name}", Style.KEY),
            (f"  max {number_text.duration(agent.longest_ns)}", longest),
        ]
        if agent.exceeded is not None:
            style = Style.BAD if agent.exceeded else Style.DIM
            told.append((f"  >{agent.threshold or 'threshold'} {agent.exceeded:,}", style))
        told += [(text, Style.DIM) for text in _quantiles(agent.recent)]
        yield tuple(told)
        if agent.ever is None or agent.recent is None:
            yield self._mark(agent)
        else:
            yield self._histogram("recent", agent.recent)
            yield self._histogram("since start", agent.ever)

    def _histogram(self, title: str, counts: Sequence[int]) -> Line:
        """One cell pair for a power of two, as high as the logarithm of its cycles."""
        shown = _on_axis(counts)
        highest = math.log2(max(shown) + 1)
        levels = self._glyphs.levels
        cells = []
        for count in shown:
            level = 0
            if count and highest > 0:
                level = max(1, round(math.log2(count + 1) / highest * (len(levels) - 1)))
            cells.append((levels[level] if count else " ") * 2)
        return (fit(f"   {title}", _INDENT), Style.DIM), ("".join(cells), Style.CURVE)

    def _mark(self, agent: Agent) -> Line:
        """Where the longest one lies, for agents that keep no histogram."""
        if agent.longest_ns <= 0:
            return (("   none so far", Style.DIM),)
        exponent = agent.longest_ns.bit_length() - 1
        at = _at(min(max(exponent, _FIRST), _LAST))
        track = self._glyphs.track * at + self._glyphs.eighths[-1] * 2
        style = Style.WARNING if agent.exceeded else Style.CURVE
        return (fit("   longest", _INDENT), Style.DIM), (track, style)


def _at(exponent: int) -> int:
    return (exponent - _FIRST) * 2


def _on_axis(counts: Sequence[int]) -> list[int]:
    """Cycles by the exponents of the axis; what is outside counts at its ends."""
    shown = [0] * (_LAST - _FIRST + 1)
    for exponent, count in enumerate(counts):
        shown[min(max(exponent, _FIRST), _LAST) - _FIRST] += count
    return shown


def _quantiles(counts: Sequence[int] | None) -> Iterator[str]:
    for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)):
        bound = quantile(counts or (), share)
        if bound is not None:
            yield f"  {name} <{number_text.duration(bound).replace(' ', '')}"
