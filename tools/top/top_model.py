"""What has been seen, over time: rates, curves, and whether it is still the same driver.

Pure: it knows no clock, no file and no terminal. Readings go in, in the order of their times.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from aerolog.tools.top.cluster_figures import tracks_of
from aerolog.tools.top.cycles_page import Agent, agents_of
from aerolog.tools.top.measurement import DriverState, Reading, ReplayFigures
from aerolog.tools.top.series import Meter, Series
from aerolog.tools.views.stream_limits import Limit, limited_by
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aerolog.tools.top.cluster_figures import ClusterTrack
    from aerolog.tools.top.measurement import (
        ArchiveFigures,
        DriverFigures,
        RecordingFigures,
    )
    from aerolog.tools.views.driver_view import LossEntry, ObservedError
    from aerolog.tools.views.stream_views import StreamView

#: Looks whose histograms are kept: what is shown as recent is the difference to the oldest.
_RECENT_LOOKS: Final = 60

_METERED: Final = (
    SystemCounter.BYTES_SENT,
    SystemCounter.BYTES_RECEIVED,
    SystemCounter.NAK_MESSAGES_SENT,
    SystemCounter.NAK_MESSAGES_RECEIVED,
    SystemCounter.RETRANSMITS_SENT,
    SystemCounter.FLOW_CONTROL_UNDER_RUNS,
    SystemCounter.FLOW_CONTROL_OVER_RUNS,
    SystemCounter.INVALID_PACKETS,
    SystemCounter.SHORT_SENDS,
    SystemCounter.SENDER_FLOW_CONTROL_LIMITS,
    SystemCounter.LOSS_GAP_FILLS,
)


class StreamTrack:
    """A stream over time.

    Attributes:
        view: the stream as it is now.
        before: the stream as it was at the look before; None at first.
        position: how far its fastest end has come.
        behind: bytes from there to the slowest reader; None without a reader.
        rate: bytes a second, None at first.
        curve: the latest rates, oldest first.
        naks: NAKs a second, sent and received.
        back_pressure: events a second.
        lost: bytes that the loss report has for it.
    """

    __slots__ = (
        "_limit",
        "back_pressure",
        "before",
        "behind",
        "bpe_total",
        "curve",
        "interval_s",
        "lost",
        "nak_total",
        "naks",
        "position",
        "rate",
        "view",
    )

    def __init__(self, view: StreamView) -> None:
        self.view = view
        self.before: StreamView | None = None
        self.interval_s = 0.0
        self.position = -1
        self.behind: int | None = None
        self.rate: float | None = None
        self.curve = Series()
        self.naks: float | None = None
        self.back_pressure: float | None = None
        self.nak_total = 0
        self.bpe_total = 0
        self.lost = 0
        self._limit: Limit | None = None

    def take(self, view: StreamView, before: StreamView | None, interval_s: float) -> None:
        """Goes on to a later view."""
        position = _position(view)
        naks, bpe = _naks(view), _back_pressure(view)
        if self.position >= 0 and interval_s > 0:
            self.rate = max(position - self.position, 0) / interval_s
            self.naks = max(naks - self.nak_total, 0) / interval_s
            self.back_pressure = max(bpe - self.bpe_total, 0) / interval_s
            self.curve.add(self.rate)
        self.view, self.before, self.interval_s = view, before, interval_s
        self.position, self.nak_total, self.bpe_total = position, naks, bpe
        slowest = view.subscribers[0].position if view.subscribers else None
        self.behind = None if slowest is None else max(position - slowest, 0)
        self._limit = None

    @property
    def limit(self) -> Limit:
        """What limits it now; found out when somebody asks."""
        if self._limit is None:
            self._limit = limited_by(self.view, self.before, self.interval_s)
        return self._limit


def _position(view: StreamView) -> int:
    publisher = view.publisher
    if publisher is not None and publisher.position is not None:
        return publisher.position
    return view.position


def _naks(view: StreamView) -> int:
    total = view.sender.naks_received or 0 if view.sender is not None else 0
    for receiver in view.receivers:
        total += receiver.naks_sent or 0
    return total


def _back_pressure(view: StreamView) -> int:
    return view.sender.back_pressure_events or 0 if view.sender is not None else 0


class RecordingTrack:
    """A recording or a replay over time.

    Attributes:
        figures: the recording as it is now.
        meter: measures how fast the stream's position moves.
    """

    __slots__ = ("figures", "meter")

    def __init__(self, figures: RecordingFigures | ReplayFigures) -> None:
        self.figures = figures
        self.meter = Meter()

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from all others."""
        figures = self.figures
        if isinstance(figures, ReplayFigures):
            return "replay", figures.registration_id
        if figures.counter_id < 0:
            return "stopped", figures.recording_id
        return "rec", figures.counter_id


class Model:
    """All that the pages show.

    Attributes:
        driver: the driver as it was at the last look; None before the first.
        wall_ms: the time of the last look, epoch milliseconds.
        streams: the streams by their identities.
        system: meters of system counters, by their ids.
        total: meter of bytes published, all streams of this driver together.
        agents: duty cycles.
        works: recordings and replays, by their keys.
        clusters: the clusters that have a node on this driver, by their ids.
        errors: distinct ones, each with the name of the process that recorded it.
        losses: the entries of the loss report.
        archive: the archive's folder and figures, None when none is looked at.
        clients: how many are connected.
        notice: the last thing that happened to the driver, and when (epoch milliseconds).
    """

    def __init__(self) -> None:
        self.driver: DriverFigures | None = None
        self.wall_ms = 0
        self.streams: dict[tuple[int, int, int], StreamTrack] = {}
        self.system = {counter: Meter() for counter in _METERED}
        self.total = Meter()
        self.agents: Sequence[Agent] = ()
        self.works: dict[tuple[str, int], RecordingTrack] = {}
        self.clusters: dict[int, ClusterTrack] = {}
        self.errors: Sequence[tuple[str, ObservedError]] = ()
        self.losses: Sequence[LossEntry] = ()
        self.archive: ArchiveFigures | None = None
        self.clients = 0
        self.notice = ""
        self.notice_ms = 0
        self._at_ns: int | None = None
        self._incarnation: tuple[int, int] | None = None
        self._published = 0
        self._recent: deque[Reading] = deque(maxlen=_RECENT_LOOKS)

    @property
    def is_live(self) -> bool:
        """Whether the driver gave a sign of life."""
        return self.driver is not None and self.driver.state is DriverState.LIVE

    def update(self, reading: Reading) -> None:
        """Takes in one look."""
        self._tell_changes(reading)
        self.driver, self.wall_ms = reading.driver, reading.wall_ms
        if reading.snapshot is None:
            # Nothing can be read: the last picture stands, and the next rate has no beginning.
            self._at_ns = None
            return
        interval_s = 0.0
        if self._at_ns is not None:
            interval_s = max(reading.at_ns - self._at_ns, 0) / NS_PER_S
        self._at_ns = reading.at_ns
        self.clients, self.archive = reading.clients, reading.archive
        self.errors = [
            *(("driver", error) for error in reading.errors),
            *(("archive", error) for error in reading.archive_errors),
        ]
        self._take_streams(reading, interval_s)
        self._take_losses(reading)
        self._take_works([*reading.recordings, *reading.replays, *reading.stopped], interval_s)
        self.clusters = tracks_of(reading, self.clusters, interval_s)
        for counter, meter in self.system.items():
            meter.take(reading.snapshot.system(counter), interval_s)
        self._recent.append(reading)
        self.agents = agents_of(reading, self._recent[0])

    def _tell_changes(self, reading: Reading) -> None:
        """Notices when the driver went, came back, or is another one."""
        now, was = reading.driver, self.driver
        if now.state is not DriverState.ABSENT:
            if self._incarnation is not None and now.incarnation != self._incarnation:
                self._forget()
                self._tell(reading, f"another driver, pid {now.pid}: history begins anew")
                self._incarnation = now.incarnation
                return
            self._incarnation = now.incarnation
        if was is None or was.state is now.state:
            return
        if now.state is DriverState.LIVE:
            self._tell(reading, f"the driver, pid {now.pid}, is back")
        elif now.state is DriverState.SILENT:
            self._tell(reading, f"the driver, pid {now.pid}, has fallen silent")
        elif now.state is DriverState.CLOSED:
            self._tell(reading, f"the driver, pid {now.pid}, has closed")
        else:
            self._tell(reading, "the driver's directory is gone")

    def _tell(self, reading: Reading, text: str) -> None:
        self.notice, self.notice_ms = text, reading.wall_ms

    def _forget(self) -> None:
        """Drops what belonged to the driver before."""
        self.streams, self.works, self.clusters = {}, {}, {}
        self.system = {counter: Meter() for counter in _METERED}
        self.total = Meter()
        self._at_ns, self._published = None, 0
        self._recent.clear()

    def _take_streams(self, reading: Reading, interval_s: float) -> None:
        tracks: dict[tuple[int, int, int], StreamTrack] = {}
        befores: Iterable[StreamView | None] = reading.before or [None] * len(reading.streams)
        published = 0
        for view, before in zip(reading.streams, befores, strict=True):
            identity = view.identity
            track = self.streams.get(identity) or StreamTrack(view)
            known = track.position
            track.take(view, before, interval_s)
            if view.publisher is not None and known >= 0:
                published += max(track.position - known, 0)
            tracks[identity] = track
        self.streams = tracks
        self._published += published
        self.total.take(self._published, interval_s)

    def _take_losses(self, reading: Reading) -> None:
        self.losses = reading.losses
        lost: dict[tuple[int, int], int] = {}
        for entry in reading.losses:
            key = entry.session_id, entry.stream_id
            lost[key] = lost.get(key, 0) + entry.total_bytes_lost
        for (session_id, stream_id, _), track in self.streams.items():
            track.lost = lost.get((session_id, stream_id), 0)

    @property
    def running_count(self) -> int:
        """How many recordings and replays run now."""
        return sum(kind != "stopped" for kind, _ in self.works)

    def _take_works(
        self, figures: Iterable[RecordingFigures | ReplayFigures], interval_s: float
    ) -> None:
        works: dict[tuple[str, int], RecordingTrack] = {}
        for one in figures:
            fresh = RecordingTrack(one)
            track = self.works.get(fresh.key, fresh)
            track.figures = one
            track.meter.take(one.position, interval_s)
            works[track.key] = track
        self.works = works
