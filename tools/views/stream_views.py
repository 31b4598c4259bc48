"""Streams as a driver's counters tell of them: who publishes, sends, receives, reads and records.

A stream is a session of a publication. Where a driver has both ends of a network stream, they are
one view: the image is matched with the publication by session, stream and port.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.tools.views import counter_keys
from aerolog.transport.counters.counter_types import OF_STREAMS, CounterType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aerolog.tools.views.counters_snapshot import CountersSnapshot
    from aerolog.tools.views.log_settings import Logs

_SPY: Final = "aeron-spy:"
#: Type of a counter -> the attribute of the publisher, sender or receiver that it tells.
OF_PUBLISHERS: Final[Mapping[int, str]] = {
    CounterType.PUBLISHER_POSITION: "position",
    CounterType.PUBLISHER_LIMIT: "limit",
}
OF_SENDERS: Final[Mapping[int, str]] = {
    CounterType.SENDER_POSITION: "position",
    CounterType.SENDER_LIMIT: "limit",
    CounterType.SENDER_BPE: "back_pressure_events",
    CounterType.SENDER_NAKS_RECEIVED: "naks_received",
    CounterType.FLOW_CONTROL_RECEIVERS: "tracked_receivers",
}
OF_RECEIVERS: Final[Mapping[int, str]] = {
    CounterType.RECEIVER_POSITION: "position",
    CounterType.RECEIVER_HWM: "hwm",
    CounterType.RECEIVER_NAKS_SENT: "naks_sent",
}
_OF_IMAGES: Final = frozenset((*OF_RECEIVERS, CounterType.PER_IMAGE))


@dataclass(slots=True)
class Publisher:
    """A publication's own end. Positions are bytes in the stream, None where no counter tells."""

    registration_id: int
    client_id: int
    channel: str
    exclusive: bool = False
    position: int | None = None
    limit: int | None = None

    @property
    def window(self) -> int | None:
        """Bytes that may still be published before back pressure; negative when overshot."""
        return None if self.position is None or self.limit is None else self.limit - self.position


@dataclass(slots=True)
class Sender:
    """The driver's sender of a network publication."""

    registration_id: int
    position: int | None = None
    limit: int | None = None
    back_pressure_events: int | None = None
    naks_received: int | None = None
    tracked_receivers: int | None = None

    @property
    def window(self) -> int | None:
        """Bytes that the receivers allow to send now."""
        return None if self.position is None or self.limit is None else self.limit - self.position


@dataclass(slots=True)
class Receiver:
    """An image of a network stream in this driver.

    ``window_length`` is what the receiver would let be sent at most, bytes.
    """

    registration_id: int
    channel: str
    position: int | None = None
    hwm: int | None = None
    naks_sent: int | None = None
    congestion_window: int | None = None
    round_trip_ns: int | None = None
    window_length: int | None = None

    @property
    def missing(self) -> int:
        """Bytes between what is complete and the highest position seen: being repaired."""
        return max(0, (self.hwm or 0) - (self.position or 0))


@dataclass(slots=True)
class Subscriber:
    """A subscription's position in one image, or in a publication of this driver.

    Attributes:
        client_id: who subscribes.
        reference_id: registration id of the image or publication it reads.
        position: consumed up to.
        client_name: the name that the client gave itself, empty without one.
        recording_id: what an archive records with it, None when it is no archive's.
    """

    registration_id: int
    client_id: int
    reference_id: int
    channel: str
    position: int
    counter_id: int
    client_name: str = ""
    recording_id: int | None = None

    @property
    def is_spy(self) -> bool:
        """Whether it reads what the driver sends, before the network."""
        return self.channel.startswith(_SPY)


@dataclass(slots=True)
class RecordingPosition:
    """How far an archive has recorded a stream."""

    recording_id: int
    archive_id: int | None
    session_id: int
    stream_id: int | None
    position: int
    counter_id: int
    client_id: int
    source_identity: str


@dataclass(slots=True)
class StreamView:
    """A stream with the positions of all who write and read it.

    Attributes:
        session_id: the session id of the publication.
        stream_id: the stream on the channel.
        channel: the longest form that a counter has, without ``aeron-spy:``.
        publisher: None when another driver has it.
        sender: None for IPC and when another driver has it.
        receivers: images in this driver.
        subscribers: the subscribers by position, the slowest first.
    """

    session_id: int
    stream_id: int
    channel: str
    publisher: Publisher | None = None
    sender: Sender | None = None
    receivers: list[Receiver] = field(default_factory=list)
    subscribers: list[Subscriber] = field(default_factory=list)
    recordings: list[RecordingPosition] = field(default_factory=list)
    counter_ids: list[int] = field(default_factory=list)

    @property
    def identity(self) -> tuple[int, int, int]:
        """What stays the same from one snapshot to the next."""
        if self.publisher is not None:
            return self.session_id, self.stream_id, self.publisher.registration_id
        if self.receivers:
            return self.session_id, self.stream_id, self.receivers[0].registration_id
        return self.session_id, self.stream_id, 0

    @property
    def is_ipc(self) -> bool:
        """Whether the stream stays in the machine's memory."""
        return self.channel.startswith("aeron:ipc")

    @property
    def position(self) -> int:
        """How far the stream has come: the highest position that anybody here has seen."""
        found = [r.hwm or 0 for r in self.receivers] + [s.position for s in self.subscribers]
        found += [r.position for r in self.recordings]
        found += [p.position or 0 for p in (self.publisher, self.sender) if p is not None]
        return max(found, default=0)

    def readers_of(self, registration_id: int) -> list[Subscriber]:
        """Subscribers of one image or of the publication, the slowest first."""
        return [one for one in self.subscribers if one.reference_id == registration_id]


def streams(snapshot: CountersSnapshot, logs: Logs | None = None) -> list[StreamView]:
    """All streams of a driver, by session, stream and channel.

    Args:
        snapshot: the driver's counters.
        logs: to know the windows of receivers as well (``DriverView.logs``).
    """
    found = _Collector(snapshot)
    for row in snapshot.rows_of(OF_STREAMS):
        found.take(row)
    found.join()
    if logs is not None:
        for view in found.views():
            for receiver in view.receivers:
                settings = logs.image(receiver.registration_id)
                if settings is not None and settings.receiver_window_length > 0:
                    receiver.window_length = settings.receiver_window_length
    return sorted(found.views(), key=lambda view: (view.session_id, view.stream_id, view.channel))


def client_names(snapshot: CountersSnapshot) -> dict[int, str]:
    """Names of the connected clients by id; empty for those that have none."""
    names: dict[int, str] = {}
    for row in snapshot.rows_of({CounterType.CLIENT_HEARTBEAT}):
        name = counter_keys.client_name(snapshot.label(row))
        names[counter_keys.client_id(snapshot.key(row))] = name
    return names


def recording_positions(snapshot: CountersSnapshot) -> list[RecordingPosition]:
    """What archives record with this driver now, by counter id."""
    found = []
    for row in snapshot.rows_of({ArchiveCounterType.RECORDING_POSITION}):
        key = counter_keys.recording_key(snapshot.key(row))
        found.append(
            RecordingPosition(
                key.recording_id,
                key.archive_id,
                key.session_id,
                _stream_of_recording(snapshot.label(row)),
                snapshot.values[row],
                snapshot.ids[row],
                snapshot.owner_ids[row],
                key.source_identity,
            )
        )
    return found


def _stream_of_recording(label: str) -> int | None:
    """Stream id in ``rec-pos: <recording> <session> <stream> <channel> - archiveId=<n>``."""
    words = label.split(" ", 4)
    try:
        return int(words[3])
    except (IndexError, ValueError):
        return None


class _Collector:
    """Puts counters together to streams."""

    def __init__(self, snapshot: CountersSnapshot) -> None:
        self._snapshot = snapshot
        self._names = client_names(snapshot)
        #: Publications and images, each a view of its own at first, by registration id.
        self._publications: dict[int, StreamView] = {}
        self._images: dict[int, StreamView] = {}
        self._subscribers: list[tuple[counter_keys.StreamKey, Subscriber]] = []
        self._others: list[StreamView] = []

    def views(self) -> Iterable[StreamView]:
        """The views of all streams."""
        yield from self._publications.values()
        yield from self._images.values()
        yield from self._others

    def take(self, row: int) -> None:
        """Adds a counter."""
        snapshot = self._snapshot
        type_id, value = snapshot.type_ids[row], snapshot.values[row]
        key = counter_keys.stream_key(snapshot.key(row))
        if type_id == CounterType.SUBSCRIBER_POSITION:
            self._subscribers.append((key, self._subscriber(row, key)))
            return
        if type_id in _OF_IMAGES:
            view = self._view(self._images, row, key)
            receiver = view.receivers[0] if view.receivers else None
            if receiver is None:
                receiver = Receiver(key.registration_id, key.channel)
                view.receivers.append(receiver)
            attribute = OF_RECEIVERS.get(type_id) or congestion_attribute(snapshot.label(row))
            if attribute:
                setattr(receiver, attribute, value)
            return
        view = self._view(self._publications, row, key)
        if type_id in OF_SENDERS:
            if view.sender is None:
                view.sender = Sender(key.registration_id)
            setattr(view.sender, OF_SENDERS[type_id], value)
            return
        if view.publisher is None:
            view.publisher = Publisher(key.registration_id, snapshot.owner_ids[row], view.channel)
        setattr(view.publisher, OF_PUBLISHERS[type_id], value)
        if type_id == CounterType.PUBLISHER_POSITION:
            view.publisher.exclusive = "exclusive" in counter_keys.label_name(snapshot.label(row))

    def _view(
        self, known: dict[int, StreamView], row: int, key: counter_keys.StreamKey
    ) -> StreamView:
        view = known.get(key.registration_id)
        if view is None:
            channel = counter_keys.label_channel(self._snapshot.label(row)) or key.channel
            view = StreamView(key.session_id, key.stream_id, channel)
            known[key.registration_id] = view
        view.counter_ids.append(self._snapshot.ids[row])
        return view

    def _subscriber(self, row: int, key: counter_keys.StreamKey) -> Subscriber:
        snapshot = self._snapshot
        client_id = snapshot.owner_ids[row]
        channel = counter_keys.label_channel(snapshot.label(row)) or key.channel
        return Subscriber(
            key.registration_id,
            client_id,
            snapshot.reference_ids[row],
            _SPY + channel if key.channel.startswith(_SPY) else channel,
            snapshot.values[row],
            snapshot.ids[row],
            self._names.get(client_id, ""),
        )

    def join(self) -> None:
        """Gives images, subscribers and recordings to the streams that they belong to."""
        by_session: dict[tuple[int, int], list[StreamView]] = {}
        for view in self._publications.values():
            by_session.setdefault((view.session_id, view.stream_id), []).append(view)
        homes: dict[int, StreamView] = dict(self._publications)
        for registration_id, image in list(self._images.items()):
            publication = _home(by_session.get((image.session_id, image.stream_id), ()), image)
            if publication is not None:
                del self._images[registration_id]
                publication.receivers += image.receivers
                publication.counter_ids += image.counter_ids
            homes[registration_id] = publication or image
        for key, subscriber in self._subscribers:
            home = homes.get(subscriber.reference_id)
            if home is None or home.session_id != key.session_id:
                # Its stream's other counters are gone, or not there yet.
                channel = subscriber.channel.removeprefix(_SPY)
                home = StreamView(key.session_id, key.stream_id, channel)
                self._others.append(home)
            home.subscribers.append(subscriber)
            home.counter_ids.append(subscriber.counter_id)
        self._join_recordings()
        for view in self.views():
            view.subscribers.sort(key=lambda one: (one.position, one.counter_id))

    def _join_recordings(self) -> None:
        by_session: dict[tuple[int, int], list[StreamView]] = {}
        for view in self.views():
            by_session.setdefault((view.session_id, view.stream_id), []).append(view)
        for recording in recording_positions(self._snapshot):
            if recording.stream_id is None:
                continue
            for view in by_session.get((recording.session_id, recording.stream_id), ()):
                readers = [s for s in view.subscribers if s.client_id == recording.client_id]
                if not readers:
                    continue
                view.recordings.append(recording)
                view.counter_ids.append(recording.counter_id)
                for reader in readers:
                    if reader.recording_id is None:
                        reader.recording_id = recording.recording_id
                break


def congestion_attribute(label: str) -> str:
    """The attribute of a receiver that a counter of its congestion control tells, "" for none."""
    name = counter_keys.label_name(label)
    if name.endswith("-wnd"):
        return "congestion_window"
    return "round_trip_ns" if name.endswith("-rtt") else ""


def _home(publications: Iterable[StreamView], image: StreamView) -> StreamView | None:
    """The publication of this driver that an image receives, None when it is another's."""
    fitting = [view for view in publications if _meets(view.channel, image.channel)]
    return fitting[0] if len(fitting) == 1 else None


def _meets(publication: str, image: str) -> bool:
    """Whether packets of the one channel can reach the other, as far as their texts tell."""
    if publication.startswith("aeron:ipc"):
        return False
    sent, heard = _parameters(publication), _parameters(image)
    if "control" in sent or "control-mode" in sent:
        return True  # to many destinations: which ones, the counters do not say
    port, listening = _port(sent.get("endpoint")), _port(heard.get("endpoint"))
    return port is None or listening in {None, "0", port}


def _parameters(channel: str) -> dict[str, str]:
    pairs = channel.partition("?")[2].split("|")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _port(endpoint: str | None) -> str | None:
    if endpoint is None:
        return None
    return endpoint.rpartition(":")[2]
