"""The asyncio archive client: the operations of `AeronArchive`, awaited.

Nothing here blocks the event loop but the driver's answer to adding a stream (milliseconds).
Several requests may be under way at once; listings go one by one, as the archive wants them.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from aerolog.archive.client import calls
from aerolog.archive.client.base import PAGE, ArchiveClientBase, replay_length
from aerolog.archive.client.options import REPLAY_STREAM_ID
from aerolog.archive.client.replaying import ReplayChannel, ReplayOverResponse
from aerolog.archive.protocol import SourceLocation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import TracebackType

    from aerolog.archive.client.calls import Call, Channel, RecordingSubscription
    from aerolog.archive.files.descriptor import RecordingDescriptor
    from aerolog.archive.protocol import RecordingSignalEvent
    from aerolog.transport.client import Aeron, Image
    from aerolog.transport.client.message import Message
    from aerolog.transport.client.options import ImageHandler
    from aerolog.transport.client.publication import ExclusivePublication, Publication
    from aerolog.transport.client.subscription import Subscription

T = TypeVar("T")
FIRST_SLEEP: Final = 50e-6
LONGEST_SLEEP: Final = 1e-3
READ_LIMIT: Final = 64


class AsyncAeronArchive(ArchiveClientBase):
    """A session with an archive, for one event loop; see `AeronArchive` for the operations.

    Example:
        async with await AsyncAeronArchive.connect(aeron) as archive:
            async for recording in archive.recordings(): ...
    """

    def __init__(self, aeron: Aeron | None, aeron_dir: str | None, options: dict[str, Any]) -> None:
        """Use `connect`, which makes the session."""
        super().__init__(aeron, aeron_dir, options)
        self._listing = asyncio.Lock()

    @classmethod
    async def connect(
        cls, aeron: Aeron | None = None, *, aeron_dir: str | None = None, **options: Any
    ) -> Self:
        """Connect; arguments as `AeronArchive`, without ``idle``."""
        archive = cls(aeron, aeron_dir, options)
        connection = archive._connection()
        try:
            while (session := connection.poll()) is None:
                archive._turn()
                await asyncio.sleep(LONGEST_SLEEP)
        except BaseException:
            connection.close()
            archive._release()
            raise
        archive._session = session
        return archive

    async def _call(self, call: Call[T]) -> T:
        if call.listing is None:
            return await self._ask(call)
        async with self._listing:
            return await self._ask(call)

    async def _ask(self, call: Call[T]) -> T:
        session = self._usable()
        pending = session.begin(call, self.aeron.next_correlation_id())
        try:
            await self._until(lambda: pending.done)
        finally:
            session.forget(pending)
        return pending.result()

    async def _until(self, ready: Callable[[], bool]) -> None:
        delay = 0.0
        while not ready():
            self._turn()
            work = self._usable().pump()
            if ready():
                return
            await asyncio.sleep(delay)
            delay = 0.0 if work else min(max(2 * delay, FIRST_SLEEP), LONGEST_SLEEP)

    # -- recording -------------------------------------------------------------------------------

    async def start_recording(
        self,
        channel: Channel,
        stream_id: int,
        location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool | None = None,
    ) -> int:
        """Record every publication of a channel and stream; the subscription id."""
        return await self._call(
            calls.start_recording(channel, stream_id, location, auto_stop=auto_stop)
        )

    async def extend_recording(
        self,
        recording_id: int,
        channel: Channel,
        stream_id: int,
        location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool | None = None,
    ) -> int:
        """Continue a stopped recording; the subscription id."""
        return await self._call(
            calls.extend_recording(recording_id, channel, stream_id, location, auto_stop=auto_stop)
        )

    async def stop_recording(self, channel: Channel, stream_id: int) -> None:
        """Stop what start_recording began with the same arguments."""
        await self._call(calls.strictly(calls.try_stop_recording(channel, stream_id)))

    async def try_stop_recording(self, channel: Channel, stream_id: int) -> bool:
        """As stop_recording; False when there is no such recording subscription."""
        return await self._call(calls.try_stop_recording(channel, stream_id))

    async def stop_recording_subscription(self, subscription_id: int) -> None:
        """Stop by the id that start_recording returned."""
        await self._call(calls.strictly(calls.try_stop_recording_subscription(subscription_id)))

    async def try_stop_recording_subscription(self, subscription_id: int) -> bool:
        """As stop_recording_subscription; False when there is none."""
        return await self._call(calls.try_stop_recording_subscription(subscription_id))

    async def stop_recording_of(self, publication: Publication | ExclusivePublication) -> None:
        """Stop what `add_recorded_publication` began."""
        await self.stop_recording(self._recorded_channel(publication), publication.stream_id)

    async def stop_recording_by_identity(self, recording_id: int) -> bool:
        """Stop one recording; False when it was not active."""
        return await self._call(calls.try_stop_recording_by_identity(recording_id))

    async def add_recorded_publication(self, channel: Channel, stream_id: int) -> Publication:
        """A publication whose session, and no other, is recorded."""
        publication = self.aeron.add_publication(str(channel), stream_id)
        await self._record(publication, self._check_original(publication))
        return publication

    async def add_recorded_exclusive_publication(
        self, channel: Channel, stream_id: int
    ) -> ExclusivePublication:
        """As add_recorded_publication, exclusive."""
        publication = self.aeron.add_exclusive_publication(str(channel), stream_id)
        await self._record(publication, self._recorded_channel(publication))
        return publication

    async def _record(self, publication: Publication | ExclusivePublication, channel: str) -> None:
        try:
            await self.start_recording(channel, publication.stream_id)
        except BaseException:
            publication.close()
            raise

    # -- replay ----------------------------------------------------------------------------------

    async def start_replay(
        self,
        recording_id: int,
        channel: Channel = "aeron:ipc",
        stream_id: int = REPLAY_STREAM_ID,
        *,
        position: int | None = None,
        length: int | None = None,
        follow: bool = True,
        limit_counter_id: int | None = None,
        file_io_max_length: int | None = None,
    ) -> int:
        """Replay onto a channel of your own; the replay session id."""
        call = calls.start_replay(
            recording_id,
            channel,
            stream_id,
            position,
            replay_length(length, follow=follow),
            limit_counter_id=limit_counter_id,
            file_io_max_length=file_io_max_length,
        )
        return await self._call(call)

    async def replay(
        self,
        recording_id: int,
        position: int | None = None,
        length: int | None = None,
        *,
        follow: bool = True,
        channel: Channel | None = None,
        stream_id: int = REPLAY_STREAM_ID,
        on_image: ImageHandler | None = None,
        on_image_gone: ImageHandler | None = None,
        **more: Any,
    ) -> Subscription:
        """Replay and subscribe to it; channels as `AeronArchive.replay`."""
        subscribe = partial(
            self.aeron.add_subscription, on_image=on_image, on_image_gone=on_image_gone
        )
        replay = ReplayChannel(self.options.default_replay_channel if channel is None else channel)
        wanted_length = replay_length(length, follow=follow)
        if replay.is_response_mode:
            subscription = subscribe(str(replay), stream_id)
            try:
                await self._replay_to(subscription, recording_id, position, wanted_length, more)
            except BaseException:
                subscription.close()
                raise
            return subscription
        if replay.has_wildcard_port:
            subscription = subscribe(
                replay.with_session(self.aeron.next_session_id(stream_id)), stream_id
            )
            try:
                channel = await self._wait_resolved(subscription)
                await self.start_replay(
                    recording_id,
                    channel,
                    stream_id,
                    position=position,
                    length=wanted_length,
                    **more,
                )
            except BaseException:
                subscription.close()
                raise
            return subscription
        replay_session_id = await self.start_replay(
            recording_id,
            str(replay),
            stream_id,
            position=position,
            length=length,
            follow=follow,
            **more,
        )
        return subscribe(replay.for_session(replay_session_id), stream_id)

    async def _wait_resolved(self, subscription: Subscription) -> str:
        """The channel of a subscription with the port that the system chose."""
        deadline = self._deadline_ns(self.options.message_timeout)
        while (channel := subscription.resolved_channel) is None:
            self._check_resolving(subscription, deadline)
            self._turn()
            await asyncio.sleep(LONGEST_SLEEP)
        return channel

    async def _replay_to(
        self,
        subscription: Subscription,
        recording_id: int,
        position: int | None,
        length: int,
        more: dict[str, Any],
    ) -> None:
        """Ask for a replay over the response channel that a subscription has opened."""
        call = calls.start_replay(
            recording_id,
            subscription.channel,
            subscription.stream_id,
            position,
            length,
            replay_token=await self._call(calls.replay_token(recording_id)),
            **more,
        )
        with ReplayOverResponse(self.aeron, self._usable(), subscription, call) as request:
            while not request.poll():
                self._turn()
                await asyncio.sleep(LONGEST_SLEEP)

    async def read(
        self,
        recording_id: int,
        start: int | None = None,
        stop: int | None = None,
        *,
        timeout: float | None = 10.0,  # noqa: ASYNC109 - for silence, not for the whole
    ) -> AsyncIterator[Message]:
        """Messages of a recording from one position to another, as it stands now."""
        begin = await self.start_position(recording_id) if start is None else start
        end = await self.max_recorded_position(recording_id) if stop is None else stop
        if begin is None or end is None or begin >= end:
            return
        images: list[Image] = []
        with await self.replay(
            recording_id, begin, end - begin, on_image=images.append
        ) as subscription:
            correlation_id = self.last_correlation_id
            deadline = self._deadline_ns(timeout)
            while True:
                over = bool(images) and self._is_over(
                    images[0]
                )  # before the poll, so nothing is left
                messages = subscription.poll_messages(READ_LIMIT)
                for message in messages:
                    yield message
                    if message.position >= end:
                        return
                if messages:
                    deadline = self._deadline_ns(timeout)
                elif over or self._is_late(deadline):
                    break
                self._turn()
                await asyncio.sleep(0 if messages else LONGEST_SLEEP)
            self._usable().pump()
            reached = images[0].position if images else begin
            self._check_complete(recording_id, correlation_id, reached, end)

    @staticmethod
    def _is_over(image: Image) -> bool:
        return image.closed or image.is_end_of_stream

    async def stop_replay(self, replay_session_id: int) -> None:
        """End a replay; an unknown one is no error."""
        await self._call(calls.stop_replay(replay_session_id))

    async def stop_all_replays(self, recording_id: int | None = None) -> None:
        """End the replays of a recording, or all."""
        await self._call(calls.stop_all_replays(recording_id))

    # -- what is recorded ------------------------------------------------------------------------

    async def list_recording(self, recording_id: int) -> RecordingDescriptor | None:
        """One recording, None when unknown."""
        return await self._call(calls.list_recording(recording_id))

    async def list_recordings(
        self, from_recording_id: int = 0, count: int = PAGE
    ) -> list[RecordingDescriptor]:
        """Up to ``count`` recordings from an id on."""
        return await self._call(calls.list_recordings(from_recording_id, count))

    async def list_recordings_for_uri(
        self, from_recording_id: int, count: int, channel_fragment: str, stream_id: int
    ) -> list[RecordingDescriptor]:
        """As list_recordings, of one stream whose original channel contains a text."""
        return await self._call(
            calls.list_recordings_for_uri(from_recording_id, count, channel_fragment, stream_id)
        )

    async def recordings(
        self,
        *,
        from_recording_id: int = 0,
        channel: str = "",
        stream_id: int | None = None,
        page: int = PAGE,
    ) -> AsyncIterator[RecordingDescriptor]:
        """All recordings, fetched a page at a time."""
        begin = from_recording_id
        while True:
            if stream_id is None:
                found = await self.list_recordings(begin, page)
            else:
                found = await self.list_recordings_for_uri(begin, page, channel, stream_id)
            for one in found:
                if channel in one.original_channel:
                    yield one
            if len(found) < page:
                return
            begin = found[-1].recording_id + 1

    async def list_recording_subscriptions(
        self,
        *,
        from_index: int = 0,
        count: int = PAGE,
        channel_fragment: str = "",
        stream_id: int | None = None,
    ) -> list[RecordingSubscription]:
        """The subscriptions through which the archive records now."""
        return await self._call(
            calls.list_recording_subscriptions(from_index, count, channel_fragment, stream_id)
        )

    async def find_last_matching_recording(
        self, min_recording_id: int, channel_fragment: str, stream_id: int, session_id: int
    ) -> int | None:
        """The newest recording of a session, None when there is none."""
        return await self._call(
            calls.find_last_matching(min_recording_id, channel_fragment, stream_id, session_id)
        )

    async def start_position(self, recording_id: int) -> int | None:
        """Where a recording begins."""
        return await self._call(calls.ask_position("start position", recording_id))

    async def stop_position(self, recording_id: int) -> int | None:
        """Where a recording ended, None while it is active."""
        return await self._call(calls.ask_position("stop position", recording_id))

    async def recording_position(self, recording_id: int) -> int | None:
        """How far an active recording is, None when it is not active."""
        return await self._call(calls.ask_position("recording position", recording_id))

    async def max_recorded_position(self, recording_id: int) -> int | None:
        """How far a recording is or was."""
        return await self._call(calls.ask_position("max recorded position", recording_id))

    async def query_archive_id(self) -> int:
        """Ask for the archive's id, which connecting has asked for already (`archive_id`)."""
        return await self._call(calls.archive_id())

    async def signals(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - for silence, not for the whole
    ) -> AsyncIterator[RecordingSignalEvent]:
        """Recording signals of this session as they come, until none for ``timeout`` seconds."""
        while True:
            deadline = self._deadline_ns(timeout)
            while (signal := self._usable().next_signal()) is None:
                self._turn()
                work = self._usable().pump()
                if not work and (self._is_late(deadline) or self.is_disconnected):
                    return
                await asyncio.sleep(0 if work else LONGEST_SLEEP)
            yield signal

    async def check_for_error(self) -> None:
        """Raise the oldest error response that belonged to no request."""
        self._turn()
        self._usable().pump()
        self._raise_stray_error()

    # -- keeping house ---------------------------------------------------------------------------

    async def truncate_recording(self, recording_id: int, position: int) -> int:
        """Cut a stopped recording; the number of segment files to be deleted."""
        return await self._call(calls.truncate_recording(recording_id, position))

    async def purge_recording(self, recording_id: int) -> int:
        """Remove a stopped recording; the number of segment files to be deleted."""
        return await self._call(calls.purge_recording(recording_id))

    async def detach_segments(self, recording_id: int, new_start_position: int) -> None:
        """Move the start forward to a segment's base, keeping the files."""
        await self._call(calls.detach_segments(recording_id, new_start_position))

    async def delete_detached_segments(self, recording_id: int) -> int:
        """Delete the files before the start; their number."""
        return await self._call(calls.delete_detached_segments(recording_id))

    async def purge_segments(self, recording_id: int, new_start_position: int) -> int:
        """Detach and delete; the number of files."""
        return await self._call(calls.purge_segments(recording_id, new_start_position))

    async def attach_segments(self, recording_id: int) -> int:
        """Move the start back over files that are there; their number."""
        return await self._call(calls.attach_segments(recording_id))

    async def migrate_segments(self, src_recording_id: int, dst_recording_id: int) -> int:
        """Move segment files from one recording to another; their number."""
        return await self._call(calls.migrate_segments(src_recording_id, dst_recording_id))

    async def update_channel(self, recording_id: int, channel: Channel) -> None:
        """Change the channel in a recording's descriptor."""
        await self._call(calls.update_channel(recording_id, channel))

    async def stop_replication(self, replication_id: int) -> None:
        """End a replication."""
        await self._call(calls.strictly(calls.try_stop_replication(replication_id)))

    async def try_stop_replication(self, replication_id: int) -> bool:
        """As stop_replication; False when there is no such replication."""
        return await self._call(calls.try_stop_replication(replication_id))

    # -- the end ---------------------------------------------------------------------------------

    async def close(self) -> None:
        """End the session, and the client when it is an own one; recordings go on."""
        self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
