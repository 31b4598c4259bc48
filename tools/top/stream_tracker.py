"""Streams from one snapshot to the next, cheaply: put together once, then only read anew.

Which counter belongs to whom changes seldom; its value does at every look. While keys, labels and
owners stay as they are, the views made before are filled with the new values. Two sets of views
take turns, so that the one before stays as it was for whoever compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.tools.views import counter_keys
from aerolog.tools.views.stream_views import (
    OF_PUBLISHERS,
    OF_RECEIVERS,
    OF_SENDERS,
    StreamView,
    congestion_attribute,
    streams,
)

if TYPE_CHECKING:
    from aerolog.tools.views.counters_snapshot import CountersSnapshot

Slot = tuple[Any, str, int]
"""An object, its attribute, and the row of the snapshot whose value belongs there."""


class StreamsFollower:
    """Gives the streams of one snapshot after the other.

    Attributes:
        streams: the streams of the latest snapshot.
        before: the same streams as they were in the snapshot before, one to one; empty when the
            two do not have the same streams.
    """

    def __init__(self) -> None:
        self.streams: list[StreamView] = []
        self.before: list[StreamView] = []
        self._shape: CountersSnapshot | None = None
        self._sets: list[_ViewSet] = []

    def take(self, snapshot: CountersSnapshot) -> None:
        """Goes on to a later snapshot."""
        if self._shape is not None and snapshot.same_layout(self._shape):
            if len(self._sets) == 1:
                self._sets.append(_ViewSet(snapshot))
            else:
                self._sets.reverse()
                self._sets[1].fill(snapshot)
            self.before, self.streams = (one.streams for one in self._sets)
        else:
            self._sets = [_ViewSet(snapshot)]
            self.before, self.streams = [], self._sets[0].streams
        self._shape = snapshot

    def forget(self) -> None:
        """Begins anew: what comes is of another driver."""
        self.streams, self.before = [], []
        self._shape = None
        self._sets = []


class _ViewSet:
    """Views of all streams, with the places that values go to."""

    def __init__(self, snapshot: CountersSnapshot) -> None:
        self.streams = streams(snapshot)
        self._slots: list[Slot] = []
        self._shared: list[StreamView] = []
        for view in self.streams:
            self._slots += _slots(view, snapshot)
            if len(view.subscribers) > 1:
                self._shared.append(view)

    def fill(self, snapshot: CountersSnapshot) -> None:
        values = snapshot.values
        for target, attribute, row in self._slots:
            setattr(target, attribute, values[row])
        for view in self._shared:
            view.subscribers.sort(key=lambda one: (one.position, one.counter_id))


def _slots(view: StreamView, snapshot: CountersSnapshot) -> list[Slot]:
    """Where the values of a stream's counters belong."""
    positions: dict[int, Any] = {one.counter_id: one for one in view.subscribers}
    positions |= {one.counter_id: one for one in view.recordings}
    receivers = {one.registration_id: one for one in view.receivers}
    slots: list[Slot] = []
    for counter_id in view.counter_ids:
        row = snapshot.row_of(counter_id)
        if row is None:
            continue
        type_id = snapshot.type_ids[row]
        target: Any
        if counter_id in positions:
            target, attribute = positions[counter_id], "position"
        elif type_id in OF_PUBLISHERS:
            target, attribute = view.publisher, OF_PUBLISHERS[type_id]
        elif type_id in OF_SENDERS:
            target, attribute = view.sender, OF_SENDERS[type_id]
        else:
            registration_id = counter_keys.stream_key(snapshot.key(row)).registration_id
            target = receivers.get(registration_id)
            attribute = OF_RECEIVERS.get(type_id) or congestion_attribute(snapshot.label(row))
        if target is not None and attribute:
            slots.append((target, attribute, row))
    return slots
