"""The page of clusters, a line for each that has a node on this driver, and what is behind one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.tools.top import number_text, table_cells
from aerolog.tools.top.cluster_figures import ClusterTrack
from aerolog.tools.top.glyphs import sparkline
from aerolog.tools.top.page import TablePage, TextPage
from aerolog.tools.top.text_lines import Column, Line, Piece, Style, column, fit, line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from aerolog.tools.top.cluster_figures import AgentFigures, ClusterFigures
    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.page import Page
    from aerolog.tools.top.top_model import Model

_TERM: Final = ClusterCounterType.LEADERSHIP_TERM
_SNAPSHOTS: Final = ClusterCounterType.SNAPSHOT_COUNT
_WHO: Final = 18
_AGENT_COLUMNS: Final = (
    ("LONGEST CYCLE", 14),
    ("SLOW", 7),
    ("LONGEST SNAPSHOT", 18),
    ("SLOW", 7),
    ("ERRORS", 9),
)


def state_of(figures: ClusterFigures) -> Piece:
    """What the node does: the election while one is under way, else the module's state."""
    if figures.is_electing:
        return figures.named(ClusterCounterType.ELECTION_STATE), Style.WARNING
    style = Style.GOOD if figures.is_active else Style.WARNING
    return figures.named(ClusterCounterType.MODULE_STATE), style


def _count(value: int | None, style: Style = Style.PLAIN) -> Piece:
    if value is None:
        return "-", Style.DIM
    return number_text.amount(value), style if value else Style.DIM


def _services(figures: ClusterFigures) -> Piece:
    there = len(figures.services)
    missing = there < figures.awaited
    text = f"{there}/{figures.awaited}" if missing else f"{there}"
    return text, Style.BAD if missing or not there else Style.PLAIN


def _column(
    title: str,
    width: int,
    piece: Callable[[ClusterFigures], Piece],
    order: Callable[[ClusterFigures], float | str],
    *,
    from_width: int = 0,
    right: bool = True,
) -> Column[ClusterTrack]:
    return column(
        title,
        width,
        lambda row: piece(row.figures),
        lambda row: (order(row.figures), row.figures.cluster_id),
        right=right,
        from_width=from_width,
        descending=right and title != "CLUSTER",
    )


def _value(
    type_id: ClusterCounterType, style: Style = Style.PLAIN
) -> Callable[[ClusterFigures], Piece]:
    return lambda one: _count(one.values.get(type_id), style)


def _order(type_id: ClusterCounterType) -> Callable[[ClusterFigures], float]:
    return lambda one: one.values.get(type_id, -1)


def _position(value: int | None) -> Piece:
    return number_text.position(value), Style.PLAIN if value else Style.DIM


_COLUMNS: Final[tuple[Column[ClusterTrack], ...]] = (
    _column(
        "CLUSTER", 8, lambda one: (str(one.cluster_id), Style.PLAIN), lambda one: one.cluster_id
    ),
    _column("STATE", 16, state_of, lambda one: state_of(one)[0], right=False),
    _column(
        "ROLE",
        9,
        lambda one: (one.named(ClusterCounterType.NODE_ROLE), Style.PLAIN),
        lambda one: one.named(ClusterCounterType.NODE_ROLE),
        right=False,
    ),
    _column("TERM", 6, _value(_TERM), _order(_TERM)),
    _column(
        "COMMITTED", 14, lambda one: _position(one.committed), lambda one: one.committed or -1
    ),
    column(
        "RATE",
        9,
        lambda row: table_cells.rate(row.meter.rate),
        lambda row: (row.meter.rate or 0.0, row.figures.cluster_id),
        right=True,
        descending=True,
    ),
    Column(
        "TREND",
        8,
        lambda row, width, glyphs: table_cells.curve(row.meter.curve, width, glyphs),
        grows=1,
        from_width=120,
    ),
    _column(
        "SESSIONS", 8, lambda one: _count(len(one.sessions)), lambda one: len(one.sessions),
        from_width=100,
    ),
    _column("SERVICES", 8, _services, lambda one: len(one.services), from_width=100),
    _column(
        "SNAPSHOTS", 9, _value(_SNAPSHOTS), _order(_SNAPSHOTS), from_width=120
    ),
    _column(
        "SLOW",
        5,
        lambda one: _count(one.total("slow_cycles"), Style.WARNING),
        lambda one: one.total("slow_cycles"),
    ),
    _column(
        "ERRORS",
        6,
        lambda one: _count(one.total("errors"), Style.BAD),
        lambda one: one.total("errors"),
    ),
)  # fmt: skip


class ClustersPage(TablePage[ClusterTrack]):
    """All clusters that have a node on this driver."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(
            "Cluster",
            _COLUMNS,
            rows=lambda model: model.clusters.values(),
            key=lambda row: row.figures.cluster_id,
            searched=lambda row: (
                f"{row.figures.cluster_id} {state_of(row.figures)[0]}"
                f" {row.figures.named(ClusterCounterType.NODE_ROLE)}"
            ),
            glyphs=glyphs,
            sorted_by="CLUSTER",
            empty="no cluster has a node on this driver",
        )

    def _behind(self, row: ClusterTrack, model: Model) -> Page:
        del model
        return ClusterPage(row, self._glyphs)


class ClusterPage(TextPage):
    """One cluster's node; its last picture stands when its counters have gone."""

    def __init__(self, track: ClusterTrack, glyphs: Glyphs) -> None:
        super().__init__("Node")
        self._track = track
        self._glyphs = glyphs
        self._ended = False

    def refresh(self, model: Model) -> None:
        """Takes the cluster as it is now."""
        track = model.clusters.get(self._track.figures.cluster_id)
        self._ended = track is None
        self._track = track or self._track

    def head(self, width: int) -> Sequence[Line]:
        """Which cluster; what is below is made to the width."""
        self._lines = list(self._made(max(width, 40)))
        self.move(self.cursor)
        return (line(fit(f" cluster {self._track.figures.cluster_id}", width), Style.HEADING),)

    def _made(self, width: int) -> Iterator[Line]:
        one = self._track.figures
        if self._ended:
            yield line(" its counters have gone: the node has ended", Style.WARNING)
        yield _pairs(
            (
                "module",
                state_of(one)
                if not one.is_electing
                else _named(one, ClusterCounterType.MODULE_STATE),
            ),
            ("role", _named(one, ClusterCounterType.NODE_ROLE)),
            ("term", _value(ClusterCounterType.LEADERSHIP_TERM)(one)),
            ("election", _named(one, ClusterCounterType.ELECTION_STATE)),
            ("elections", _value(ClusterCounterType.ELECTION_COUNT)(one)),
        )
        yield _pairs(
            ("sessions", _count(len(one.sessions))),
            ("timed out", _value(ClusterCounterType.TIMED_OUT_CLIENTS, Style.WARNING)(one)),
            ("services", _services(one)),
            ("snapshots", _value(ClusterCounterType.SNAPSHOT_COUNT)(one)),
            ("toggle", _named(one, ClusterCounterType.CONTROL_TOGGLE)),
        )
        yield ()
        curve = sparkline(self._track.meter.curve.last(width - 24), width - 24, self._glyphs)
        yield ((f" log {number_text.rate(self._track.meter.rate):>12} ", Style.PLAIN),
               (curve, Style.CURVE))  # fmt: skip
        yield from self._positions(one)
        yield ()
        yield from _agents(one)
        if one.sessions:
            yield ()
            yield line(" SESSIONS", Style.HEADING)
            yield from (line(fit(f" {session}", width)) for session in one.sessions)

    def _positions(self, one: ClusterFigures) -> Iterator[Line]:
        titles = f" {fit('LOG', _WHO)}{'POSITION':>20}{'BEHIND':>12}"
        yield line(titles, Style.HEADING)
        places = [
            ("appended", one.appended),
            ("recorded", one.recorded),
            ("committed", one.committed),
            *((f"read by service {name}", each.position) for name, each in one.services.items()),
        ]
        for name, position in places:
            behind = None
            if position is not None and one.appended is not None:
                behind = max(one.appended - position, 0)
            text, style = table_cells.backlog(behind)
            at = number_text.position(position)
            yield (f" {fit(name, _WHO)}{at:>20}", Style.PLAIN), (f"{text:>12}", style)


def _named(figures: ClusterFigures, type_id: int) -> Piece:
    return figures.named(type_id), Style.PLAIN


def _pairs(*pairs: tuple[str, Piece]) -> Line:
    pieces: list[Piece] = []
    for name, (text, style) in pairs:
        pieces += [(f" {name} ", Style.DIM), (f"{text} ", style)]
    return tuple(pieces)


def _agents(one: ClusterFigures) -> Iterator[Line]:
    """Cycles, snapshots and errors of the module and its services."""
    titles = "".join(f"{title:>{width}}" for title, width in _AGENT_COLUMNS)
    yield line(f" {fit('AGENT', _WHO)}{titles}", Style.HEADING)
    yield _agent("consensus module", one.module)
    for service_id, agent in one.services.items():
        yield _agent(f"service {service_id}", agent)


def _agent(name: str, agent: AgentFigures) -> Line:
    figures = (
        _time(agent.longest_ns),
        _count(agent.slow_cycles, Style.WARNING),
        _time(agent.snapshot_ns),
        _count(agent.slow_snapshots, Style.WARNING),
        _count(agent.errors, Style.BAD),
    )
    cells = zip(figures, _AGENT_COLUMNS, strict=True)
    return (
        (f" {fit(name, _WHO)}", Style.PLAIN),
        *((f"{text:>{width}}", style) for (text, style), (_, width) in cells),
    )


def _time(nanoseconds: int | None) -> Piece:
    if not nanoseconds:
        return "-", Style.DIM
    return number_text.duration(nanoseconds), Style.PLAIN
