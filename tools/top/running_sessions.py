"""Which recordings and replays run now, from a driver's counters and an archive's catalog.

A recording has a counter of its own. A replay has none: it is a publication of an archive's client
whose channel says at which position it begins; the recording is the one of the same terms.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol.counter_types import OF_ARCHIVES
from aerolog.tools.top.measurement import RecordingFigures, ReplayFigures
from aerolog.tools.views.stream_views import recording_positions
from aerolog.transport.errors import ChannelUriError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.tools.views.counters_snapshot import CountersSnapshot
    from aerolog.tools.views.stream_views import StreamView

#: So many stopped recordings are listed at most: each look draws and sorts all of them.
_STOPPED_MAX: Final = 1_000

Terms = tuple[int, int]
"""Initial term id and term length: what a replay has in common with its recording."""


def recordings_of(
    snapshot: CountersSnapshot,
    catalog: Mapping[int, RecordingDescriptor],
    archive_id: int | None,
    health: Mapping[int, str] | None = None,
) -> list[RecordingFigures]:
    """What is recorded with this driver now.

    Args:
        snapshot: the counters of the archive's driver.
        catalog: descriptors by recording id; empty when no archive is looked at.
        archive_id: the id of the archive that has the catalog.
        health: the state of each recording by its id, in a word.
    """
    found = []
    states = health or {}
    for one in recording_positions(snapshot):
        descriptor = catalog.get(one.recording_id) if one.archive_id == archive_id else None
        row = snapshot.row_of(one.counter_id)
        label = "" if row is None else snapshot.label(row)
        found.append(
            RecordingFigures(
                one.recording_id,
                one.archive_id,
                one.session_id,
                one.stream_id,
                _channel(label) if descriptor is None else descriptor.stripped_channel,
                None if descriptor is None else descriptor.start_position,
                one.position,
                one.counter_id,
                "" if descriptor is None else states.get(one.recording_id, ""),
            )
        )
    return found


def stopped_recordings(
    catalog: Mapping[int, RecordingDescriptor],
    archive_id: int | None,
    written: Container[int],
    health: Mapping[int, str],
) -> list[RecordingFigures]:
    """The recordings that have stopped, the latest ones of a long catalog.

    Args:
        catalog: descriptors by recording id.
        archive_id: the id of the archive that has the catalog.
        written: ids of the recordings that are written now.
        health: the state of each recording by its id, in a word.
    """
    stopped = (
        one
        for one in sorted(catalog.values(), key=lambda one: one.recording_id, reverse=True)
        if not one.is_active and one.recording_id not in written
    )
    return [
        RecordingFigures(
            one.recording_id,
            archive_id,
            one.session_id,
            one.stream_id,
            one.stripped_channel,
            one.start_position,
            one.stop_position,
            -1,
            health.get(one.recording_id, ""),
        )
        for one in islice(stopped, _STOPPED_MAX)
    ]


def _channel(label: str) -> str:
    """Of ``rec-pos: <recording> <session> <stream> <channel> - archiveId=<n>``."""
    start = label.find("aeron:")
    return label[start:].partition(" - archiveId=")[0] if start >= 0 else ""


def archive_clients(snapshot: CountersSnapshot) -> set[int]:
    """Ids of the clients that are archives."""
    return {snapshot.owner_ids[row] for row in snapshot.rows_of(OF_ARCHIVES)}


class ReplayFinder:
    """Finds replays; remembers what channels say, which does not change."""

    def __init__(self) -> None:
        self._begins: dict[str, tuple[int, Terms] | None] = {}

    def replays(
        self,
        snapshot: CountersSnapshot,
        streams: Sequence[StreamView],
        catalog: Iterable[RecordingDescriptor],
        written: Mapping[int, int],
    ) -> list[ReplayFigures]:
        """What is replayed with this driver now.

        Args:
            snapshot: the counters of the archive's driver.
            streams: the streams of the same snapshot.
            catalog: the archive's descriptors.
            written: positions of the recordings that are written now, by id.
        """
        archives = archive_clients(snapshot)
        if not archives:
            return []
        ours = [
            view
            for view in streams
            if view.publisher is not None and view.publisher.client_id in archives
        ]
        by_terms: dict[Terms, list[RecordingDescriptor]] = {}
        if ours:
            for descriptor in catalog:
                terms = descriptor.initial_term_id, descriptor.term_buffer_length
                by_terms.setdefault(terms, []).append(descriptor)
        begins = {view.channel: self._begin(view.channel) for view in ours}
        self._begins = begins
        found = []
        for view in ours:
            begin = begins[view.channel]
            if begin is not None:
                found.append(_replay(view, begin, by_terms, written))
        return found

    def _begin(self, channel: str) -> tuple[int, Terms] | None:
        if channel in self._begins:
            return self._begins[channel]
        return begin_of(channel)


def begin_of(channel: str) -> tuple[int, Terms] | None:
    """Position and terms that a channel says its publication begins with; None without them."""
    try:
        uri = ChannelUri.parse(channel)
        position = uri.initial_position
        built = uri.build()
    except (ChannelUriError, ValueError):  # cut off in its label, or somebody else's
        return None
    if position is None or position < 0:
        return None
    return position, (int(built["init-term-id"]), _length(built["term-length"]))


def _length(text: str) -> int:
    from aerolog.transport.config.values import parse_size

    return parse_size("term-length", text)


def _replay(
    view: StreamView,
    begin: tuple[int, Terms],
    by_terms: Mapping[Terms, Sequence[RecordingDescriptor]],
    written: Mapping[int, int],
) -> ReplayFigures:
    start, terms = begin
    publisher = view.publisher
    assert publisher is not None
    position = publisher.position or 0
    # Initial term ids are random: two recordings that share theirs are not told apart.
    candidates = [
        one
        for one in by_terms.get(terms, ())
        if one.start_position <= start
        and (one.is_active or position <= max(one.stop_position, written.get(one.recording_id, 0)))
    ]
    one = candidates[0] if len(candidates) == 1 else None
    limit: int | None = None
    live = False
    if one is not None:
        live = one.recording_id in written
        limit = written.get(one.recording_id, one.stop_position)
    return ReplayFigures(
        publisher.registration_id,
        None if one is None else one.recording_id,
        view.session_id,
        view.stream_id,
        view.channel,
        start,
        position,
        None if limit is None or limit < 0 else limit,
        live,
    )
