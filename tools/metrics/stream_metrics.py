"""Metrics of streams, by stream id and channel; sessions come and go and have no labels."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from aerolog.tools.metrics.samples import Bound, Labels, Samples, Totals
from aerolog.tools.views.stream_limits import LimitKind, limited_by
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from aerolog.tools.views.counters_snapshot import CountersSnapshot
    from aerolog.tools.views.stream_views import Receiver, StreamView

#: What a channel keeps of its parameters: where it goes. The others may differ by session.
_KEPT: Final = ("endpoint", "control", "control-mode", "interface")
#: Parameters by which a publication begins elsewhere than at 0.
_BEGINS_ELSEWHERE: Final = ("term-id=", "term-offset=")
_JOINED: Final = re.compile(r" @(-?\d+)$")


@lru_cache(16_384)
def channel_name(channel: str) -> str:
    """A channel with what says where it goes, in a fixed order."""
    media, _, parameters = channel.removeprefix("aeron-spy:").partition("?")
    given = dict(pair.partition("=")[::2] for pair in parameters.split("|"))
    kept = [f"{name}={given[name]}" for name in _KEPT if given.get(name)]
    return f"{media}?{'|'.join(kept)}" if kept else media


def labels_of(stream: StreamView) -> Labels:
    """Stream id and channel."""
    return str(stream.stream_id), channel_name(stream.channel)


class StreamMetrics:
    """Metrics of all streams of a driver.

    Attributes:
        bound: limits how many label sets are told apart.
    """

    def __init__(self, aeron_dir: str, limit: int) -> None:
        self._aeron_dir = aeron_dir
        self.bound = Bound(limit)
        self._totals = Totals()
        self._before: dict[tuple[int, int, int], StreamView] = {}
        self._before_ns = 0

    def add(self, samples: Samples, streams: list[StreamView], snapshot: CountersSnapshot) -> None:
        """Adds what a snapshot says of streams."""
        shown = self.bound.admit(labels_of(stream) for stream in streams)
        interval_s = (snapshot.taken_ns - self._before_ns) / NS_PER_S
        for stream in streams:
            labels = (self._aeron_dir, *shown[labels_of(stream)])
            samples.add("stream_sessions", 1, *labels)
            samples.add("stream_subscribers", len(stream.subscribers), *labels)
            self._add_publisher(samples, stream, labels)
            for receiver in stream.receivers:
                self._add_receiver(samples, receiver, labels)
            self._add_subscribers(samples, stream, labels, snapshot)
            limit = limited_by(stream, self._before.get(stream.identity), interval_s)
            if limit.kind is not LimitKind.NOTHING:
                samples.add("stream_limited_sessions", 1, *labels, limit.kind.value)
        self._totals.finish(samples)
        self._before = {stream.identity: stream for stream in streams}
        self._before_ns = snapshot.taken_ns

    def _add_publisher(self, samples: Samples, stream: StreamView, labels: Labels) -> None:
        begin = None if any(p in stream.channel for p in _BEGINS_ELSEWHERE) else 0
        publisher, sender = stream.publisher, stream.sender
        if publisher is not None:
            source = publisher.registration_id
            if publisher.position is not None:
                self._totals.add(
                    "stream_published_bytes_total", labels, source, publisher.position, begin
                )
            if publisher.window is not None:
                samples.add("stream_publisher_window_bytes", publisher.window, *labels)
        if sender is None:
            return
        source = sender.registration_id
        for name, value, first in (
            ("stream_sent_bytes_total", sender.position, begin),
            ("stream_back_pressure_events_total", sender.back_pressure_events, 0),
            ("stream_naks_received_total", sender.naks_received, 0),
        ):
            if value is not None:
                self._totals.add(name, labels, source, value, first)
        if sender.window is not None:
            samples.add("stream_sender_window_bytes", sender.window, *labels)
        if sender.tracked_receivers is not None:
            samples.add("stream_tracked_receivers", sender.tracked_receivers, *labels)

    def _add_receiver(self, samples: Samples, receiver: Receiver, labels: Labels) -> None:
        source = receiver.registration_id
        if receiver.position is not None:
            self._totals.add("stream_received_bytes_total", labels, source, receiver.position, None)
        if receiver.naks_sent is not None:
            self._totals.add("stream_naks_sent_total", labels, source, receiver.naks_sent, 0)
        samples.add("stream_receiver_gap_bytes", receiver.missing, *labels)
        if receiver.congestion_window is not None:
            samples.add("stream_congestion_window_bytes", receiver.congestion_window, *labels)
        if receiver.round_trip_ns is not None:
            samples.add("stream_round_trip_seconds", receiver.round_trip_ns / NS_PER_S, *labels)

    def _add_subscribers(
        self, samples: Samples, stream: StreamView, labels: Labels, snapshot: CountersSnapshot
    ) -> None:
        for subscriber in stream.subscribers:
            row = snapshot.row_of(subscriber.counter_id)
            joined = None if row is None else _JOINED.search(snapshot.label(row))
            self._totals.add(
                "stream_consumed_bytes_total",
                labels,
                (subscriber.counter_id, subscriber.registration_id, subscriber.reference_id),
                subscriber.position,
                None if joined is None else int(joined[1]),
            )
            lag = max(stream.position - subscriber.position, 0)
            samples.add("stream_subscriber_lag_bytes", lag, *labels)
