"""A program as a user would write it: what mypy makes of its types is the test."""

from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from aerolog.archive.client import (
    AeronArchive,
    AsyncAeronArchive,
    RecordingDescriptor,
    RecordingPosition,
    RecordingSignal,
    RecordingSignalEvent,
)
from aerolog.transport.client import (
    Aeron,
    ExclusivePublication,
    Header,
    Image,
    Message,
    OfferStatus,
    Publication,
    Subscription,
)
from aerolog.transport.uri import ChannelUri


def handle(payload: memoryview, header: Header) -> None:
    """A handler as poll takes it."""
    assert_type(header.position, int)
    assert_type(bytes(payload), bytes)


def transport(aeron: Aeron) -> None:
    """Publish and subscribe."""
    publication = aeron.add_publication(ChannelUri.ipc(term_length="64k"), 7)
    assert_type(publication, Publication)
    assert_type(publication.offer(b"x"), int | OfferStatus)
    assert_type(aeron.add_exclusive_publication("aeron:ipc", 7), ExclusivePublication)
    subscription = aeron.add_subscription("aeron:ipc", 7)
    assert_type(subscription.poll(handle, limit=10), int)
    assert_type(subscription.poll_messages(), list[Message])
    assert_type(subscription.images, tuple[Image, ...])
    for message in subscription.messages(timeout=1.0):
        assert_type(message.data, bytes)


def archive(client: AeronArchive) -> None:
    """Record, list, replay."""
    assert_type(client.start_recording("aeron:ipc", 7), int)
    assert_type(client.recordings(stream_id=7), Iterator[RecordingDescriptor])
    assert_type(client.stop_position(1), int | None)
    assert_type(client.replay(1, follow=False), Subscription)
    assert_type(client.read(1), Iterator[Message])
    assert_type(client.signals(timeout=1.0), Iterator[RecordingSignalEvent])
    assert_type(client.replicate(1, ChannelUri.ipc(), 10, stop_position=64), int)
    assert_type(client.list_recording(1), RecordingDescriptor | None)
    assert_type(client.truncate_recording(1, 64), int)
    assert_type(client.stats.round_trip_min_ns, int)
    client.reconnect()
    assert_type(client.recording_position_counter(1), RecordingPosition | None)


async def archive_async(client: AsyncAeronArchive) -> None:
    """The same, awaited."""
    assert_type(await client.start_recording("aeron:ipc", 7), int)
    assert_type(client.recordings(), AsyncIterator[RecordingDescriptor])
    assert_type(await client.stop_position(1), int | None)
    assert_type(await client.replay(1, follow=False), Subscription)
    assert_type(client.signals(kinds=RecordingSignal.STOP), AsyncIterator[RecordingSignalEvent])
    assert_type(client.poll_signals(recording_id=1), list[RecordingSignalEvent])
    await client.reconnect()
    async for message in client.read(1):
        assert_type(message, Message)
