"""What a driver's directory gives: a driver that goes away and comes back included."""

from __future__ import annotations

import re
from collections import Counter as Tally
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from aerolog.tools.metrics.cluster_metrics import ClusterMetrics
from aerolog.tools.metrics.samples import OTHER, Bound, Labels, Samples
from aerolog.tools.metrics.stream_metrics import StreamMetrics, channel_name
from aerolog.tools.metrics.system_metrics import add_system_metrics, driver_version
from aerolog.tools.views import counter_keys
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.errors import ViewError
from aerolog.tools.views.stream_views import client_names, streams
from aerolog.transport.counters.counter_types import CounterType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aerolog.tools.views.counters_snapshot import CountersSnapshot
    from aerolog.tools.views.stream_views import StreamView
    from aerolog.transport.memory.error_log import ErrorObservation

ALIVE: Final = "alive"
CLOSED: Final = "closed"
DEAD: Final = "dead"

_DIRECTIONS: Final = {
    CounterType.SEND_CHANNEL_STATUS: "send",
    CounterType.RECEIVE_CHANNEL_STATUS: "receive",
}
_STATUSES: Final = {-1: "errored", 0: "initializing", 1: "active", 2: "closing"}
_CLASS: Final = re.compile(r"[A-Za-z_][\w.$]*(?=[:\s]|$)")
_ERROR_CLASSES: Final = 20


class MetricSource(Protocol):
    """Something that metrics are collected from."""

    def collect(self, samples: Samples) -> None:
        """Adds what there is now; never raises for what it finds."""

    def close(self) -> None:
        """Lets go of it."""


@dataclass(slots=True)
class DriverReading:
    """What was found in a driver's directory at one moment.

    Attributes:
        state: alive, closed, dead, or the trouble that keeps us from looking.
        view: the files of the driver, None when they cannot be looked at.
        snapshot: all counters, None when the driver is not alive.
        streams: what they say of streams.
    """

    state: str
    view: DriverView | None = None
    snapshot: CountersSnapshot | None = None
    streams: list[StreamView] = field(default_factory=list)


class DriverReader:
    """A driver's directory, looked at once a collection, however many ask.

    A driver that is gone is looked for again each time; one that has been replaced is opened anew.
    """

    def __init__(self, aeron_dir: str) -> None:
        self.aeron_dir = aeron_dir
        self._view: DriverView | None = None
        self._look: tuple[Samples, DriverReading] | None = None

    def look(self, samples: Samples) -> DriverReading:
        """What there is now; the same one for the same collection."""
        if self._look is None or self._look[0] is not samples:
            self._look = samples, self._now(samples.now_ms)
        return self._look[1]

    def _now(self, now_ms: int) -> DriverReading:
        if self._view is not None and self._view.is_replaced():
            self.close()
        if self._view is None:
            try:
                self._view = DriverView.open(self.aeron_dir)
            except ViewError as error:
                return DriverReading(error.trouble.value)
        view = self._view
        if view.is_closed():
            return DriverReading(CLOSED, view)
        if not view.is_alive(now_ms):
            return DriverReading(DEAD, view)
        snapshot = view.counters()
        return DriverReading(ALIVE, view, snapshot, streams(snapshot))

    def close(self) -> None:
        """Lets go of the files."""
        if self._view is not None:
            self._view.close()
        self._view = None
        self._look = None


class DriverSource:
    """Metrics of a driver."""

    def __init__(self, reader: DriverReader, limit: int) -> None:
        self._reader = reader
        self._limit = limit
        self._view: DriverView | None = None
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Forgets what is of a driver: a new one counts from its own beginning."""
        directory = self._reader.aeron_dir
        self._streams = StreamMetrics(directory, self._limit)
        self._clusters = ClusterMetrics(directory, self._limit)
        self._losses = Bound(self._limit)
        self._clients = Bound(self._limit)
        self._errors = Bound(_ERROR_CLASSES)

    def collect(self, samples: Samples) -> None:
        """Adds what there is now. Of a driver that is not alive that is its state alone."""
        look, directory = self._reader.look(samples), self._reader.aeron_dir
        samples.add("driver_up", look.state == ALIVE, directory)
        samples.add("driver_state", 1, directory, look.state)
        view, snapshot = look.view, look.snapshot
        if view is None:
            return
        samples.add("driver_start_time_seconds", view.start_ms / 1000, directory)
        if look.state != CLOSED:
            age = max(view.heartbeat_age_ms(samples.now_ms), 0)
            samples.add("driver_heartbeat_age_seconds", age / 1000, directory)
        if snapshot is None:
            return
        if view is not self._view:
            self._view = view
            self._begin_anew()
        version = driver_version(snapshot)
        samples.add("driver_info", 1, directory, version, view.version_text)
        samples.add("driver_counters", len(snapshot), directory)
        samples.add("driver_streams", len(look.streams), directory)
        add_system_metrics(samples, directory, snapshot)
        self._add_channels(samples, snapshot)
        self._add_clients(samples, snapshot)
        add_errors(samples, "driver", directory, view.errors(), self._errors)
        self._streams.add(samples, look.streams, snapshot)
        self._clusters.add(samples, snapshot)
        self._add_losses(samples, view)
        for kind, bound in (
            ("streams", self._streams.bound),
            ("clusters", self._clusters.bound),
            ("cluster components", self._clusters.components),
            ("losses", self._losses),
            ("clients", self._clients),
            ("errors", self._errors),
        ):
            add_overflow(samples, directory, kind, bound)

    def _add_channels(self, samples: Samples, snapshot: CountersSnapshot) -> None:
        for row in snapshot.rows_of(_DIRECTIONS):
            status = _STATUSES.get(snapshot.values[row], OTHER)
            direction = _DIRECTIONS[CounterType(snapshot.type_ids[row])]
            samples.add("driver_channels", 1, self._reader.aeron_dir, direction, status)

    def _add_clients(self, samples: Samples, snapshot: CountersSnapshot) -> None:
        names = {one: name or "unnamed" for one, name in client_names(snapshot).items()}
        directory = self._reader.aeron_dir
        samples.add("driver_clients", len(names), directory)
        shown = self._clients.admit((name,) for name in names.values())
        for row in snapshot.rows_of({CounterType.CLIENT_HEARTBEAT}):
            name = names[counter_keys.client_id(snapshot.key(row))]
            age = max(samples.now_ms - snapshot.values[row], 0) / 1000
            samples.add("client_heartbeat_age_seconds", age, directory, *shown[name,])

    def _add_losses(self, samples: Samples, view: DriverView) -> None:
        directory = self._reader.aeron_dir
        losses = [((str(e.stream_id), channel_name(e.channel)), e) for e in view.losses()]
        shown = self._losses.admit(labels for labels, _ in losses)
        for labels, entry in losses:
            where = directory, *shown[labels]
            samples.add("loss_bytes_total", entry.total_bytes_lost, *where)
            samples.add("loss_observations_total", entry.observation_count, *where)
            samples.add("loss_last_time_seconds", entry.last_observation_ms / 1000, *where)

    def close(self) -> None:
        """Lets go of it."""
        self._reader.close()


def add_overflow(samples: Samples, source: str, kind: str, bound: Bound) -> None:
    """Tells how many label sets share ``other``."""
    samples.add("exporter_overflowed_label_sets", bound.overflowed, source, kind)


def add_errors(
    samples: Samples, whose: str, where: str, observed: Iterable[ErrorObservation], bound: Bound
) -> None:
    """Adds what an error log says, by the errors' classes.

    Args:
        samples: the samples to which the errors are added.
        whose: ``driver`` or ``archive``.
        where: the directory that the label names.
        observed: the errors.
        bound: limits how many classes of errors are told apart.
    """
    counts: Tally[Labels] = Tally()
    distinct, last_ms = 0, 0
    for error in observed:
        distinct += 1
        last_ms = max(last_ms, error.last_ms)
        counts[error_class(error.text),] += error.count
    samples.add(f"{whose}_distinct_errors", distinct, where)
    shown = bound.admit(counts)
    for labels, count in counts.items():
        samples.add(f"{whose}_logged_errors_total", count, where, *shown[labels])
    if whose == "driver" and last_ms:
        samples.add("driver_last_error_time_seconds", last_ms / 1000, where)


def error_class(text: str) -> str:
    """The class that an error's text begins with, without its package; else ``other``."""
    found = _CLASS.match(text)
    return found[0].rpartition(".")[2] if found and found[0][0].isalpha() else OTHER
