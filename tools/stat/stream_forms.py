"""The ``streams`` and ``backlog`` commands' forms for people and programs."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from aerolog.tools.terminal.schedule import StyledLine
from aerolog.tools.views.stream_limits import LimitKind, limited_by, reader_text
from aerolog.tools.views.stream_views import StreamView, streams
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.stat.counter_filters import Filters
    from aerolog.tools.stat.watched_driver import WatchedDriver
    from aerolog.tools.views.counters_snapshot import CountersSnapshot
    from aerolog.tools.views.stream_limits import Limit

_Identity = tuple[int, int, int]


class Streams:
    """Looks at a driver's streams; each look knows the one before."""

    def __init__(self, watched: WatchedDriver, filters: Filters) -> None:
        self._watched = watched
        self._filters = filters
        self._previous: dict[_Identity, StreamView] = {}
        self._previous_ns: int | None = None
        self.snapshot: CountersSnapshot = watched.view.counters()
        self.found: list[StreamView] = []
        self.interval_s = 0.0

    def look(self) -> None:
        """Sees what is there now."""
        previous, before_ns = {one.identity: one for one in self.found}, self._previous_ns
        self.snapshot = self._watched.refresh().counters()
        self._previous = previous
        self._previous_ns = self.snapshot.taken_ns
        self.interval_s = (
            0.0 if before_ns is None else (self.snapshot.taken_ns - before_ns) / NS_PER_S
        )
        passes = self._filters.passes_stream
        self.found = [
            one
            for one in streams(self.snapshot, self._watched.view.logs)
            if passes(one.session_id, one.stream_id, one.channel)
        ]

    def sample(self, seconds: float) -> None:
        """Two looks, so that there are rates."""
        self.look()
        if seconds > 0:
            time.sleep(seconds)
            self.look()

    def limit(self, stream: StreamView) -> Limit:
        """What limits a stream now."""
        return limited_by(stream, self._previous.get(stream.identity), self.interval_s)

    def rate(self, stream: StreamView) -> float | None:
        """Bytes a second that the stream moves, None when nobody can tell."""
        before = self._previous.get(stream.identity)
        if before is None or self.interval_s <= 0:
            return None
        return max(0, stream.position - before.position) / self.interval_s

    def people(self) -> Iterator[str]:
        """Lines of the last look."""
        yield f"{self._watched.heading(self.snapshot)}"
        if not self.found:
            yield "no streams" if self._filters.is_empty else "no streams that pass the filters"
        for stream in self.found:
            yield from self._stream(stream)

    def _stream(self, stream: StreamView) -> Iterator[str]:
        limit = self.limit(stream)
        yield ""
        rate = self.rate(stream)
        speed = "" if rate is None else f", {rate:,.0f} bytes/s"
        yield StyledLine(
            f"stream {stream.stream_id} session {stream.session_id}{speed}  {stream.channel}"
        )
        for who, position, note in rows(stream):
            told = "" if position is None else f"{position:,}"
            yield f"  {who:48} {told:>20}  {note}".rstrip()
        text = limit.text
        yield f"  limited by {text}" if limit.kind is not LimitKind.NOTHING else f"  limit: {text}"

    def document(self) -> dict[str, Any]:
        """The last look for programs."""
        return {
            **self._watched.facts(self.snapshot),
            "interval_s": round(self.interval_s, 6),
            "streams": [self._fields(stream) for stream in self.found],
        }

    def _fields(self, stream: StreamView) -> dict[str, Any]:
        limit, rate = self.limit(stream), self.rate(stream)
        fields = asdict(stream)
        fields["position"] = stream.position
        fields["bytes_per_second"] = None if rate is None else round(rate, 1)
        fields["limited_by"] = {"kind": limit.kind.value, "text": limit.text}
        return fields


def rows(stream: StreamView) -> Iterator[tuple[str, int | None, str]]:
    """The parties of a stream, each with its position and a note."""
    publisher, sender = stream.publisher, stream.sender
    if publisher is not None:
        kind = "exclusive publication" if publisher.exclusive else "publication"
        window = "" if publisher.window is None else f"{publisher.window:,} bytes to its limit"
        who = f"{kind} {publisher.registration_id} of client {publisher.client_id}"
        yield who, publisher.position, window
    if sender is not None:
        yield "sender", sender.position, _sender_note(stream)
    for receiver in stream.receivers:
        notes = [f"{receiver.missing:,} bytes missing"] if receiver.missing else ["complete"]
        if receiver.naks_sent:
            notes.append(f"{receiver.naks_sent:,} NAKs sent")
        if receiver.congestion_window is not None:
            notes.append(f"congestion window {receiver.congestion_window:,}")
        yield f"receiver {receiver.registration_id}", receiver.position, ", ".join(notes)
    for reader in stream.subscribers:
        behind = ahead_of(stream, reader.reference_id) - reader.position
        yield reader_text(reader), reader.position, f"{max(0, behind):,} bytes behind"
    for recording in stream.recordings:
        behind = stream.position - recording.position
        archive = "" if recording.archive_id is None else f" of archive {recording.archive_id}"
        who = f"recorded as {recording.recording_id}{archive}"
        yield who, recording.position, f"{max(0, behind):,} bytes to record"


def _sender_note(stream: StreamView) -> str:
    sender = stream.sender
    if sender is None:
        return ""
    notes = []
    if sender.window is not None:
        notes.append(f"{sender.window:,} bytes allowed")
    if stream.publisher is not None and stream.publisher.position is not None:
        notes.append(f"{max(0, stream.publisher.position - (sender.position or 0)):,} to send")
    if sender.back_pressure_events:
        notes.append(f"{sender.back_pressure_events:,} times at its limit")
    if sender.naks_received:
        notes.append(f"{sender.naks_received:,} NAKs")
    if sender.tracked_receivers is not None:
        notes.append(f"{sender.tracked_receivers} receivers tracked")
    return ", ".join(notes)


def ahead_of(stream: StreamView, reference_id: int) -> int:
    """The position of the image or publication that a subscriber reads."""
    for receiver in stream.receivers:
        if receiver.registration_id == reference_id:
            return max(receiver.hwm or 0, receiver.position or 0)
    return stream.position


def backlogs(stream: StreamView) -> Iterator[dict[str, Any]]:
    """What waits for whom in a stream: bytes behind, and room before somebody has to wait."""

    def row(
        who: str, identity: int, position: int | None, backlog: int, window: int | None
    ) -> dict[str, Any]:
        return {
            "session_id": stream.session_id,
            "stream_id": stream.stream_id,
            "channel": stream.channel,
            "who": who,
            "id": identity,
            "position": position,
            "backlog": backlog,
            "window": window,
        }

    publisher, sender = stream.publisher, stream.sender
    if sender is not None and publisher is not None:
        behind = max(0, (publisher.position or 0) - (sender.position or 0))
        yield row("sender", sender.registration_id, sender.position, behind, sender.window)
    for receiver in stream.receivers:
        yield row("receiver", receiver.registration_id, receiver.position, receiver.missing, None)
    window = None if publisher is None or not stream.is_ipc else publisher.window
    for reader in stream.subscribers:
        who, identity = "spy" if reader.is_spy else "subscriber", reader.registration_id
        if reader.recording_id is not None:
            who, identity = "recording", reader.recording_id
        behind = max(0, ahead_of(stream, reader.reference_id) - reader.position)
        yield row(who, identity, reader.position, behind, window)


class Backlogs:
    """Looks at what waits in a driver's streams, the longest backlog first."""

    def __init__(self, watched: WatchedDriver, filters: Filters, at_least: int) -> None:
        self._watched = watched
        self._streams = Streams(watched, filters)
        self._at_least = at_least

    def _rows(self) -> list[dict[str, Any]]:
        self._streams.look()
        found = [row for stream in self._streams.found for row in backlogs(stream)]
        found = [row for row in found if row["backlog"] >= self._at_least]
        return sorted(found, key=lambda row: -row["backlog"])

    def people(self) -> Iterator[str]:
        """Lines of a look."""
        found = self._rows()
        yield self._watched.heading(self._streams.snapshot)
        yield StyledLine(
            f"{'backlog':>15} {'window':>15}  {'who':22} {'position':>20}"
            f"  {'stream':>11} {'session':>11}  channel"
        )
        for row in found:
            window = "" if row["window"] is None else f"{row['window']:,}"
            yield (
                f"{row['backlog']:15,d} {window:>15}  {row['who']:10} {row['id']:<11d}"
                f" {row['position'] or 0:20,d}  {row['stream_id']:11d} {row['session_id']:11d}"
                f"  {row['channel']}"
            )

    def document(self) -> dict[str, Any]:
        """A look for programs."""
        found = self._rows()
        return {**self._watched.facts(self._streams.snapshot), "backlogs": found}
