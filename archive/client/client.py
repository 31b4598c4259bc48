"""The blocking archive client (spec client 22, archive-protocol 21).

Positions are bytes in the stream. An operation that has no answer in ``message_timeout`` raises
AeronTimeoutError, one that the archive refuses ArchiveError with its code.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from aerolog.archive.client import calls
from aerolog.archive.client.base import PAGE, ArchiveClientBase, replay_length
from aerolog.archive.client.options import REPLAY_STREAM_ID
from aerolog.archive.client.replaying import ReplayChannel, ReplayOverResponse
from aerolog.archive.protocol import SourceLocation
from aerolog.transport.concurrent.idle import BackoffIdleStrategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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


class AeronArchive(ArchiveClientBase):
    """A session with an archive. Any thread may call it, one at a time gets through.

    Example:
        with AeronArchive(aeron) as archive:
            archive.start_recording("aeron:ipc", 7)
            for recording in archive.recordings(stream_id=7): ...
    """

    def __init__(
        self,
        aeron: Aeron | None = None,
        *,
        aeron_dir: str | None = None,
        idle: Callable[[int], object] | None = None,
        **options: Any,
    ) -> None:
        """Connect.

        Args:
            aeron: the client to use; without one an own client is made and closed with this.
            aeron_dir: the driver's directory, for an own client.
            idle: called with the work done while waiting.
            options: see ArchiveClientOptions: request_channel, response_channel and their stream
                ids, message_timeout (seconds), name, credentials, on_challenge, on_signal,
                on_error.

        Raises:
            AeronTimeoutError: no archive answered.
            ArchiveError: the archive refused the session.
        """
        super().__init__(aeron, aeron_dir, options)
        self._idle = BackoffIdleStrategy() if idle is None else idle
        self._lock = threading.RLock()
        connection = self._connection()
        try:
            while (session := connection.poll()) is None:
                self._wait(0)
        except BaseException:
            connection.close()
            self._release()
            raise
        self._session = session

    def _wait(self, work_count: int) -> None:
        self._turn()
        self._idle(work_count)

    def _call(self, call: Call[T]) -> T:
        with self._lock:
            session = self._usable()
            pending = session.begin(call, self.aeron.next_correlation_id())
            try:
                while not pending.done:
                    work = session.pump()
                    if not pending.done:
                        self._wait(work)
            finally:
                session.forget(pending)
            return pending.result()

    # -- recording -------------------------------------------------------------------------------

    def start_recording(
        self,
        channel: Channel,
        stream_id: int,
        location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool | None = None,
    ) -> int:
        """Record every publication of a channel and stream from now on.

        Args:
            channel: to record.
            stream_id: to record.
            location: LOCAL spies on publications of the archive's driver, REMOTE subscribes; over
                IPC they are the same.
            auto_stop: end with the first image that ends.

        Returns:
            The subscription id, for `stop_recording_subscription`.
        """
        return self._call(calls.start_recording(channel, stream_id, location, auto_stop=auto_stop))

    def extend_recording(
        self,
        recording_id: int,
        channel: Channel,
        stream_id: int,
        location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool | None = None,
    ) -> int:
        """Continue a stopped recording with a publication that starts where it stopped.

        Returns:
            The subscription id.
        """
        return self._call(
            calls.extend_recording(recording_id, channel, stream_id, location, auto_stop=auto_stop)
        )

    def stop_recording(self, channel: Channel, stream_id: int) -> None:
        """Stop what start_recording began with the same arguments."""
        self._call(calls.strictly(calls.try_stop_recording(channel, stream_id)))

    def try_stop_recording(self, channel: Channel, stream_id: int) -> bool:
        """As stop_recording; False when there is no such recording subscription."""
        return self._call(calls.try_stop_recording(channel, stream_id))

    def stop_recording_subscription(self, subscription_id: int) -> None:
        """Stop by the id that start_recording returned."""
        self._call(calls.strictly(calls.try_stop_recording_subscription(subscription_id)))

    def try_stop_recording_subscription(self, subscription_id: int) -> bool:
        """As stop_recording_subscription; False when there is none."""
        return self._call(calls.try_stop_recording_subscription(subscription_id))

    def stop_recording_of(self, publication: Publication | ExclusivePublication) -> None:
        """Stop what `add_recorded_publication` began."""
        self.stop_recording(self._recorded_channel(publication), publication.stream_id)

    def stop_recording_by_identity(self, recording_id: int) -> bool:
        """Stop one recording; False when it was not active."""
        return self._call(calls.try_stop_recording_by_identity(recording_id))

    def add_recorded_publication(self, channel: Channel, stream_id: int) -> Publication:
        """A publication whose session, and no other, is recorded.

        Raises:
            AerologError: this client has such a publication already.
        """
        publication = self.aeron.add_publication(str(channel), stream_id)
        self._record(publication, self._check_original(publication))
        return publication

    def add_recorded_exclusive_publication(
        self, channel: Channel, stream_id: int
    ) -> ExclusivePublication:
        """As add_recorded_publication, exclusive."""
        publication = self.aeron.add_exclusive_publication(str(channel), stream_id)
        self._record(publication, self._recorded_channel(publication))
        return publication

    def _record(self, publication: Publication | ExclusivePublication, channel: str) -> None:
        try:
            self.start_recording(channel, publication.stream_id)
        except BaseException:
            publication.close()
            raise

    # -- replay ----------------------------------------------------------------------------------

    def start_replay(
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
        """Replay onto a channel of your own.

        Args:
            recording_id: what to replay.
            channel: where the archive shall publish.
            stream_id: where the archive shall publish.
            position: where to begin; None is the start of the recording.
            length: bytes; None is all there is.
            follow: without a length: go on with a live recording until it stops; else end at what
                is recorded now.
            limit_counter_id: a counter whose value the replay does not pass.
            file_io_max_length: bytes that the archive reads at once.

        Returns:
            The replay session id; its low 32 bits are the session id of the image.
        """
        call = calls.start_replay(
            recording_id,
            channel,
            stream_id,
            position,
            replay_length(length, follow=follow),
            limit_counter_id=limit_counter_id,
            file_io_max_length=file_io_max_length,
        )
        return self._call(call)

    def replay(
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
        """Replay and subscribe to it; arguments as `start_replay` and `Aeron.add_subscription`.

        Close the subscription to end the replay. Without a channel the replay comes where the
        responses come, to a port of its own. With ``control-mode=response`` it comes over a
        response channel; of an endpoint with port 0 the system chooses the port.
        """
        subscribe = partial(
            self.aeron.add_subscription, on_image=on_image, on_image_gone=on_image_gone
        )
        replay = ReplayChannel(self.options.default_replay_channel if channel is None else channel)
        wanted_length = replay_length(length, follow=follow)
        if replay.is_response_mode:
            subscription = subscribe(str(replay), stream_id)
            try:
                self._replay_to(subscription, recording_id, position, wanted_length, more)
            except BaseException:
                subscription.close()
                raise
            return subscription
        if replay.has_wildcard_port:
            subscription = subscribe(
                replay.with_session(self.aeron.next_session_id(stream_id)), stream_id
            )
            try:
                channel = self._wait_resolved(subscription)
                self.start_replay(
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
        replay_session_id = self.start_replay(
            recording_id,
            str(replay),
            stream_id,
            position=position,
            length=length,
            follow=follow,
            **more,
        )
        return subscribe(replay.for_session(replay_session_id), stream_id)

    def _wait_resolved(self, subscription: Subscription) -> str:
        """The channel of a subscription with the port that the system chose."""
        deadline = self._deadline_ns(self.options.message_timeout)
        while (channel := subscription.resolved_channel) is None:
            self._check_resolving(subscription, deadline)
            self._wait(0)
        return channel

    def _replay_to(
        self,
        subscription: Subscription,
        recording_id: int,
        position: int | None,
        length: int,
        more: dict[str, Any],
    ) -> None:
        """Ask for a replay over the response channel that a subscription has opened."""
        token = self._call(calls.replay_token(recording_id))
        with self._lock:
            request = ReplayOverResponse(
                self.aeron,
                self._usable(),
                subscription,
                calls.start_replay(
                    recording_id,
                    subscription.channel,
                    subscription.stream_id,
                    position,
                    length,
                    replay_token=token,
                    **more,
                ),
            )
            with request:
                while not request.poll():
                    self._wait(0)

    def read(
        self,
        recording_id: int,
        start: int | None = None,
        stop: int | None = None,
        *,
        timeout: float | None = 10.0,
    ) -> Iterator[Message]:
        """Messages of a recording from one position to another, as it stands now.

        Args:
            recording_id: what to read.
            start: a position at which a message begins; None is the start of the recording.
            stop: where to end; None is what is recorded now.
            timeout: seconds without a message after which the iteration ends in an error.

        Raises:
            ArchiveError: the archive could not go on, for example for damage on its disk.
            AeronTimeoutError: the replay stalled or was ended by somebody.
        """
        begin = self.start_position(recording_id) if start is None else start
        end = self.max_recorded_position(recording_id) if stop is None else stop
        if begin is None or end is None or begin >= end:
            return
        images: list[Image] = []
        with self.replay(recording_id, begin, end - begin, on_image=images.append) as subscription:
            correlation_id = self.last_correlation_id
            for message in subscription.messages(timeout, until_eos=True):
                yield message
                if message.position >= end:
                    return
            self.poll()
            reached = images[0].position if images else begin
            self._check_complete(recording_id, correlation_id, reached, end)

    def stop_replay(self, replay_session_id: int) -> None:
        """End a replay; an unknown one is no error."""
        self._call(calls.stop_replay(replay_session_id))

    def stop_all_replays(self, recording_id: int | None = None) -> None:
        """End the replays of a recording, or all."""
        self._call(calls.stop_all_replays(recording_id))

    # -- what is recorded ------------------------------------------------------------------------

    def list_recording(self, recording_id: int) -> RecordingDescriptor | None:
        """One recording, None when unknown."""
        return self._call(calls.list_recording(recording_id))

    def list_recordings(
        self, from_recording_id: int = 0, count: int = PAGE
    ) -> list[RecordingDescriptor]:
        """Up to ``count`` recordings from an id on, in the order of ids."""
        return self._call(calls.list_recordings(from_recording_id, count))

    def list_recordings_for_uri(
        self, from_recording_id: int, count: int, channel_fragment: str, stream_id: int
    ) -> list[RecordingDescriptor]:
        """As list_recordings, of one stream whose original channel contains a text."""
        return self._call(
            calls.list_recordings_for_uri(from_recording_id, count, channel_fragment, stream_id)
        )

    def recordings(
        self,
        *,
        from_recording_id: int = 0,
        channel: str = "",
        stream_id: int | None = None,
        page: int = PAGE,
    ) -> Iterator[RecordingDescriptor]:
        """All recordings, fetched a page at a time.

        Args:
            from_recording_id: the first id wanted.
            channel: a text that the original channel contains.
            stream_id: only this stream.
            page: recordings to ask for at once.
        """
        begin = from_recording_id
        while True:
            found = (
                self.list_recordings(begin, page)
                if stream_id is None
                else self.list_recordings_for_uri(begin, page, channel, stream_id)
            )
            yield from (one for one in found if channel in one.original_channel)
            if len(found) < page:
                return
            begin = found[-1].recording_id + 1

    def list_recording_subscriptions(
        self,
        *,
        from_index: int = 0,
        count: int = PAGE,
        channel_fragment: str = "",
        stream_id: int | None = None,
    ) -> list[RecordingSubscription]:
        """The subscriptions through which the archive records now."""
        return self._call(
            calls.list_recording_subscriptions(from_index, count, channel_fragment, stream_id)
        )

    def find_last_matching_recording(
        self, min_recording_id: int, channel_fragment: str, stream_id: int, session_id: int
    ) -> int | None:
        """The newest recording of a session, None when there is none."""
        return self._call(
            calls.find_last_matching(min_recording_id, channel_fragment, stream_id, session_id)
        )

    def start_position(self, recording_id: int) -> int | None:
        """Where a recording begins."""
        return self._call(calls.ask_position("start position", recording_id))

    def stop_position(self, recording_id: int) -> int | None:
        """Where a recording ended, None while it is active."""
        return self._call(calls.ask_position("stop position", recording_id))

    def recording_position(self, recording_id: int) -> int | None:
        """How far an active recording is, None when it is not active."""
        return self._call(calls.ask_position("recording position", recording_id))

    def max_recorded_position(self, recording_id: int) -> int | None:
        """How far a recording is or was."""
        return self._call(calls.ask_position("max recorded position", recording_id))

    def query_archive_id(self) -> int:
        """Ask for the archive's id, which connecting has asked for already (`archive_id`)."""
        return self._call(calls.archive_id())

    # -- what happens ----------------------------------------------------------------------------

    def poll(self) -> int:
        """Take in what has come: signals for the handler and `signals`; the work done."""
        with self._lock:
            self._turn()
            return self._usable().pump()

    def poll_signals(self) -> list[RecordingSignalEvent]:
        """The recording signals of this session that came since the last call."""
        self.poll()
        return self._usable().take_signals()

    def signals(self, timeout: float | None = None) -> Iterator[RecordingSignalEvent]:
        """Recording signals of this session as they come.

        Args:
            timeout: seconds without one after which the iteration ends.
        """
        while (signal := self._next_signal(timeout)) is not None:
            yield signal

    def _next_signal(self, timeout: float | None) -> RecordingSignalEvent | None:
        deadline = self._deadline_ns(timeout)
        while (signal := self._usable().next_signal()) is None:
            work = self.poll()
            if not work and (self.is_disconnected or self._is_late(deadline)):
                return None
            if not work:
                self._wait(0)
        return signal

    def poll_for_error(self) -> str | None:
        """The text of an error response that belonged to no request, None without one."""
        self.poll()
        return self._stray_error_text()

    def check_for_error(self) -> None:
        """Raise the oldest error response that belonged to no request."""
        self.poll()
        self._raise_stray_error()

    # -- keeping house ---------------------------------------------------------------------------

    def truncate_recording(self, recording_id: int, position: int) -> int:
        """Cut a stopped recording; the number of segment files to be deleted."""
        return self._call(calls.truncate_recording(recording_id, position))

    def purge_recording(self, recording_id: int) -> int:
        """Remove a stopped recording; the number of segment files to be deleted."""
        return self._call(calls.purge_recording(recording_id))

    def detach_segments(self, recording_id: int, new_start_position: int) -> None:
        """Move the start forward to a segment's base, keeping the files."""
        self._call(calls.detach_segments(recording_id, new_start_position))

    def delete_detached_segments(self, recording_id: int) -> int:
        """Delete the files before the start; their number."""
        return self._call(calls.delete_detached_segments(recording_id))

    def purge_segments(self, recording_id: int, new_start_position: int) -> int:
        """Detach and delete; the number of files."""
        return self._call(calls.purge_segments(recording_id, new_start_position))

    def attach_segments(self, recording_id: int) -> int:
        """Move the start back over files that are there; their number."""
        return self._call(calls.attach_segments(recording_id))

    def migrate_segments(self, src_recording_id: int, dst_recording_id: int) -> int:
        """Move segment files from one recording to another; their number."""
        return self._call(calls.migrate_segments(src_recording_id, dst_recording_id))

    def update_channel(self, recording_id: int, channel: Channel) -> None:
        """Change the channel in a recording's descriptor."""
        self._call(calls.update_channel(recording_id, channel))

    def stop_replication(self, replication_id: int) -> None:
        """End a replication."""
        self._call(calls.strictly(calls.try_stop_replication(replication_id)))

    def try_stop_replication(self, replication_id: int) -> bool:
        """As stop_replication; False when there is no such replication."""
        return self._call(calls.try_stop_replication(replication_id))

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """End the session, and the client when it is an own one; recordings go on."""
        with self._lock:
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
