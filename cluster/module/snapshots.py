"""Snapshots as recordings of the node's archive: written, and loaded (spec cluster 16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.client.recording_position import recording_begun
from aerolog.archive.protocol import SourceLocation
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.protocol import SCHEMA, SnapshotMark, SnapshotMarker
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from aerolog.archive.client.aeron_archive import SteppedArchive
    from aerolog.cluster.files import MessageSum, SnapshotCheck
    from aerolog.cluster.protocol import ClusterTimeUnit
    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.client.publication import ExclusivePublication
    from aerolog.transport.client.steps.caller import Steps

_POLL_LIMIT: Final = 10


def check_archive(archive: SteppedArchive) -> None:
    """Check that the archive is there for whose work a step waits.

    Raises:
        ClusterError: it has ended, or has closed the module's session.
    """
    if archive.conversation.is_disconnected:
        raise ClusterError(
            "local archive is not connected: it has ended, or has closed the session of the"
            " consensus module: see its error log"
        )


def offered(archive: SteppedArchive, publication: ExclusivePublication, data: bytes) -> Steps[int]:
    """Offer a message that the archive records until it is taken; the position behind it."""
    while True:
        check_archive(archive)
        result = publication.offer(data)
        if result > 0:
            return int(result)
        if result in (OfferStatus.CLOSED, OfferStatus.MAX_POSITION_EXCEEDED):
            raise ClusterError(f"a snapshot's publication ended: {result!r}")
        yield 0


def write_snapshot(
    aeron: Aeron,
    archive: SteppedArchive,
    written: MessageSum,
    channel: str,
    stream_id: int,
    marker: SnapshotMarker,
    messages: Iterable[bytes],
    appended: Iterable[bytes] = (),
) -> Steps[int]:
    """Record a snapshot; returns the recording's id.

    Args:
        aeron: the transport client.
        archive: the node's archive.
        written: takes all messages, markers too.
        channel: where the snapshot is published.
        stream_id: the stream it is published on.
        marker: the marker that stands before and behind the messages; its mark is set here.
        messages: the encoded messages.
        appended: messages behind the marker that ends these.

    Raises:
        ArchiveError: the archive could not begin the recording.
        AeronTimeoutError: no recording has begun.
        ResourceClosedError: the recording has ended before the snapshot.
    """
    publication = yield from added(aeron.add_exclusive_publication_async(channel, stream_id))
    try:
        uri = ChannelUri.parse(channel).replace(session_id=publication.session_id)
        yield from archive.start_recording(
            str(uri), stream_id, SourceLocation.LOCAL, auto_stop=True
        )
        recorded = yield from recording_begun(archive.conversation, publication.session_id)
        end = 0
        for message in _framed(marker, messages, appended):
            written.add(message)
            end = yield from offered(archive, publication, message)
        while recorded.value < end:
            yield 0
    finally:
        publication.close()
    return recorded.recording_id


def _framed(
    marker: SnapshotMarker, messages: Iterable[bytes], appended: Iterable[bytes]
) -> Iterator[bytes]:
    marker.mark = SnapshotMark.BEGIN
    yield marker.encode()
    yield from messages
    marker.mark = SnapshotMark.END
    yield marker.encode()
    yield from appended


def load_snapshot(
    archive: SteppedArchive,
    recording_id: int,
    check: SnapshotCheck,
    channel: str,
    stream_id: int,
    type_id: int,
    take: Callable[[bytes], object],
    take_appended: Callable[[bytes], object] | None = None,
) -> Steps[SnapshotMarker]:
    """Read a snapshot up to its end marker, which is returned.

    Args:
        archive: the node's archive.
        recording_id: the snapshot's recording.
        check: takes all messages that are read. Where a snapshot has messages behind its end marker
            that are not read, there is nothing to compare.
        channel: where it is replayed.
        stream_id: the stream it is replayed on.
        type_id: what the snapshot must be one of.
        take: called with each message between the markers.
        take_appended: called with each message behind them, up to the recording's end.

    Raises:
        ClusterError: the recording is no such snapshot, or ends before its end marker.
        FileFormatError: the messages are not those that were written.
    """
    subscription = yield from archive.replay(
        recording_id, channel=channel, stream_id=stream_id, follow=False
    )
    has_begun = had_image = False
    end: SnapshotMarker | None = None
    try:
        while True:
            work = 0
            for received in subscription.poll_messages(_POLL_LIMIT):
                work += 1
                check.add(received.data)
                if end is not None and take_appended is not None:
                    take_appended(received.data)
                    continue
                message = SCHEMA.decode(received.data)
                if not isinstance(message, SnapshotMarker):
                    if not has_begun:
                        raise ClusterError(f"recording {recording_id} is no snapshot: {message}")
                    take(received.data)
                    continue
                if message.type_id != type_id:
                    raise ClusterError(
                        f"recording {recording_id} is a snapshot of type {message.type_id}, not of"
                        f" type {type_id}"
                    )
                if message.mark == SnapshotMark.BEGIN:
                    if has_begun:
                        raise ClusterError(f"recording {recording_id} begins a snapshot twice")
                    has_begun = True
                elif message.mark == SnapshotMark.END:
                    end = message
                    if take_appended is None:
                        if check.is_complete:
                            check.check()
                        return end
            had_image = had_image or bool(subscription.images)
            if had_image and work == 0 and not any(not i.closed for i in subscription.images):
                check.check()
                if end is not None:
                    return end
                raise ClusterError(f"the snapshot in recording {recording_id} ends unexpectedly")
            if not had_image:
                check_archive(archive)
            yield work
    finally:
        subscription.close()


def check_time_unit(marker: SnapshotMarker, unit: ClusterTimeUnit) -> None:
    """Check that a snapshot's timers are in the node's unit of time.

    Raises:
        ClusterError: they are not.
    """
    if marker.time_unit != unit:
        raise ClusterError(
            f"incompatible time unit: {unit.name} snapshot={marker.time_unit.name}: set"
            " aeron.cluster.clock"
        )
