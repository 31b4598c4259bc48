"""The conductor's part of recordings: start, extension and stop (spec archive-protocol 9, 10).

A recording subscription may record many images, at the same time and one after another; each image
has a recording of its own. The recorder writes the data.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.protocol import RecordingSignal, SourceLocation
from aerolog.archive.protocol.enums import NULL_POSITION
from aerolog.archive.service import properties as p
from aerolog.archive.service.conductor.refusals import java_text
from aerolog.archive.service.recorder import recording_writer
from aerolog.archive.service.recorder.recording_session import (
    RecordingEnd,
    RecordingSession,
    RecordingSubscription,
    Stop,
    check_continues,
    end_of,
    failure_of,
    is_out_of_space,
)
from aerolog.archive.service.recorder.recording_writer import RecordingWriter
from aerolog.transport.client.registration import is_settled
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.session_table import SessionTable
    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.client.image import Image


class Recordings:
    """All active recordings and the subscriptions that they come from.

    Args:
        context: the objects that all parts of the archive use.
        table: where the recorder finds writers.
        outstanding_delete: returns whether segments of a recording, at or after a position, are
            being deleted.

    Attributes:
        on_end: called with id and position when a recording has ended, before its position
            counter is freed.
    """

    def __init__(
        self,
        context: ArchiveContext,
        table: SessionTable,
        outstanding_delete: Callable[[int, int], bool],
    ) -> None:
        self._context = context
        self._table = table
        self._outstanding_delete = outstanding_delete
        self._tasks: deque[Callable[[], None]] = deque()
        self._waiting: deque[RecordingWriter] = deque()
        self._found_ended: list[RecordingSession] = []
        self._ends: list[RecordingEnd] = []
        self._stops: list[Stop] = []
        self.by_key: dict[str, RecordingSubscription] = {}
        self.sessions: dict[int, RecordingSession] = {}
        self.on_end: Callable[[int, int], None] = lambda _recording_id, _position: None

    # -- requests ---------------------------------------------------------------------------------

    def start(
        self,
        control: ControlSession,
        correlation_id: int,
        stream_id: int,
        location: SourceLocation,
        channel: str,
        *,
        auto_stop: bool,
    ) -> int:
        """Record every image of a channel, each as a new recording.

        Returns:
            The id of the subscription.

        Raises:
            ArchiveError: the request is refused.
        """
        limit = self._context.config[p.MAX_RECORDINGS]
        if self._accepted() >= limit:
            raise ArchiveError(
                ArchiveErrorCode.MAX_RECORDINGS, f"max concurrent recordings reached {limit}"
            )
        self._check_space()
        uri = ChannelUri.parse(channel)
        spies = location == SourceLocation.LOCAL and uri.is_udp
        return self._subscribe(
            control, correlation_id, stream_id, channel, uri, spies, auto_stop, None
        ).subscription_id

    def extend(
        self,
        control: ControlSession,
        correlation_id: int,
        recording_id: int,
        stream_id: int,
        location: SourceLocation,
        channel: str,
        *,
        auto_stop: bool,
    ) -> RecordingSubscription:
        """Continue a stopped recording with the next image of a channel.

        Raises:
            ArchiveError: the request is refused.
        """
        limit = self._context.config[p.MAX_RECORDINGS]
        if self._accepted() >= limit:
            raise ArchiveError(
                ArchiveErrorCode.MAX_RECORDINGS, f"max concurrent recordings reached at {limit}"
            )
        descriptor = self._context.catalog.descriptor(recording_id)
        if descriptor.stream_id != stream_id:
            raise ArchiveError(
                ArchiveErrorCode.UNKNOWN_RECORDING,
                f"cannot extend recording {recording_id} with streamId={stream_id}"
                f" for existing streamId={descriptor.stream_id}",
            )
        if recording_id in self.sessions:
            raise ArchiveError(
                ArchiveErrorCode.ACTIVE_RECORDING,
                f"cannot extend active recording {recording_id}",
            )
        if self._outstanding_delete(recording_id, descriptor.stop_position):
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"cannot extend recording {recording_id} due to an outstanding delete operation",
            )
        self._check_space()
        uri = ChannelUri.parse(channel)
        spies = location == SourceLocation.LOCAL and "udp" in channel
        return self._subscribe(
            control, correlation_id, stream_id, channel, uri, spies, auto_stop, recording_id
        )

    def _accepted(self) -> int:
        """Return the number of recordings that run or wait for their first image."""
        waiting = sum(not source.has_recorded for source in self.by_key.values())
        return len(self.sessions) + waiting

    def _check_space(self) -> None:
        threshold = self._context.config[p.LOW_STORAGE_THRESHOLD]
        usable = self._context.files.usable_space(self._context.config.archive_dir)
        if usable <= threshold:
            raise ArchiveError(
                ArchiveErrorCode.STORAGE_SPACE,
                f"low storage threshold={threshold} <= usableSpace={usable}",
            )

    def _subscribe(
        self,
        control: ControlSession,
        correlation_id: int,
        stream_id: int,
        channel: str,
        uri: ChannelUri,
        spies: bool,
        auto_stop: bool,
        extends: int | None,
    ) -> RecordingSubscription:
        key = uri.recording_key(stream_id)
        if key in self.by_key:
            raise ArchiveError(
                ArchiveErrorCode.ACTIVE_SUBSCRIPTION,
                f"recording exists for streamId={stream_id} channel={channel}",
            )
        stripped = uri.strip()
        source = RecordingSubscription(
            key=key,
            stream_id=stream_id,
            original_channel=channel,
            stripped_channel=str(stripped),
            auto_stop=auto_stop,
            extends=extends,
            control=control,
            correlation_id=correlation_id,
        )
        source.subscription = self._context.aeron.add_subscription(
            str(stripped.spy() if spies else stripped),
            stream_id,
            on_image=lambda image: self._tasks.append(lambda: self._on_image(source, image)),
        )
        self.by_key[key] = source
        return source

    def stop_by_channel(
        self,
        control: ControlSession,
        stream_id: int,
        channel: str,
        answer: Callable[[], object],
    ) -> None:
        """Stop the subscription that was started with this channel and stream.

        Raises:
            ArchiveError: there is no such subscription.
        """
        source = self.by_key.get(ChannelUri.parse(channel).recording_key(stream_id))
        if source is None:
            raise ArchiveError(
                ArchiveErrorCode.UNKNOWN_SUBSCRIPTION,
                f"no recording found for streamId={stream_id} channel={channel}",
            )
        self.stop(source, control, answer)

    def stop_by_subscription(
        self, control: ControlSession, subscription_id: int, answer: Callable[[], object]
    ) -> None:
        """Stop a subscription and all its recordings.

        Raises:
            ArchiveError: no subscription has this id.
        """
        for source in self.by_key.values():
            if source.subscription_id == subscription_id:
                self.stop(source, control, answer)
                return
        raise ArchiveError(
            ArchiveErrorCode.UNKNOWN_SUBSCRIPTION,
            f"no recording subscription found for subscriptionId={subscription_id}",
        )

    def stop_by_identity(
        self, control: ControlSession, recording_id: int, answer: Callable[[int], object]
    ) -> None:
        """Stop one recording; its subscription is no longer listed.

        Args:
            control: the session that asks.
            recording_id: id of the recording.
            answer: called with 1 when a recording was stopped, else with 0. As in the reference, a
                recording whose subscription is no longer listed stops too, but the answer is 0.

        Raises:
            ArchiveError: there is no such recording.
        """
        self._context.catalog.descriptor(recording_id)
        session = self.sessions.get(recording_id)
        if session is None:
            answer(0)
            return
        session.stop("stop recording by identity")
        was_listed = self._forget_key(session.source)
        self._unlist(session.source)
        self._stops.append(
            Stop(control, session.source, session, partial(answer, int(was_listed)), None)
        )

    def stop(
        self,
        source: RecordingSubscription,
        control: ControlSession,
        answer: Callable[[], object],
    ) -> None:
        """Stop a subscription and all its recordings, after what was published so far.

        Args:
            source: the subscription; one that is stopped already only causes the calls.
            control: the session that asks.
            answer: called when the effect is visible, before the signals of these ends.
        """
        self._forget_key(source)
        seen = None
        if source.takes_images:
            # The driver answers after it has announced every image that it has by now.
            seen = self._context.aeron.next_session_id_async(source.stream_id)
        self._stops.append(Stop(control, source, None, answer, seen))

    def _forget_key(self, source: RecordingSubscription) -> bool:
        """Let the stream be recorded by others; returns whether it was listed."""
        if self.by_key.get(source.key) is not source:
            return False
        del self.by_key[source.key]
        return True

    def _unlist(self, source: RecordingSubscription) -> None:
        """Let a subscription be closed with its last recording.

        As with the reference, new images are recorded until then.
        """
        self._forget_key(source)
        if source.is_listed:
            source.is_listed = False
            self._release(source)

    def _release(self, source: RecordingSubscription) -> None:
        source.references -= 1
        if source.references <= 0:
            assert source.subscription is not None
            source.gone = self._context.aeron.conductor.close_subscription(source.subscription)

    # -- images -----------------------------------------------------------------------------------

    def find_ended(self) -> None:
        """Collect the recordings that the recorder has ended, for the next ``do_work`` to end.

        Parts that run in between therefore see each recording both before and after its end.
        """
        ended = [s for s in self.sessions.values() if s.writer.state == recording_writer.RELEASED]
        self._found_ended = sorted(ended, key=lambda s: s.recording_id, reverse=True)

    def do_work(self) -> int:
        """End the recordings found to have ended, and start recording new images."""
        work = 0
        ended, self._found_ended = self._found_ended, []
        for session in ended:
            self._context.reporter.run(partial(self._ended, session))
            work += 1
        while self._tasks:
            task = self._tasks.popleft()
            self._context.reporter.run(task)
            work += 1
        work += self._turn_stops()
        self._hand_over()
        return work

    def _hand_over(self) -> None:
        """Give writers to the recorder as far as it has room."""
        while self._waiting and self._table.add(self._waiting[0]):
            self._waiting.popleft()

    def _turn_stops(self) -> int:
        """Stop what is to be stopped, and report what has ended."""
        work = 0
        for stop in self._stops:
            if stop.seen is not None and stop.seen.is_settled():
                stop.seen = None
                self._end(stop.source, "stop recording")
                work += 1
        return work + self._report_ends()

    def _report_ends(self) -> int:
        """Answer the stops whose effect is visible, and announce ends.

        As with the reference, the session that asked for a stop gets the answer before the signals
        of recordings that ended without an error.
        """
        over = [stop for stop in self._stops if stop.is_over(self._ends)]
        for stop in over:
            self._stops.remove(stop)
            ends = self._take_ends(stop.covers)
            ends.sort(key=lambda end: end.session.recording_id, reverse=True)
            later = [
                end
                for end in ends
                if end.session.source.control is stop.control and end.error is None
            ]
            for end in ends:
                if end not in later:
                    end.announce()
            self._context.reporter.run(stop.answer)
            for end in later:
                end.announce()
        freed = self._take_ends(
            lambda session: not any(stop.covers(session) for stop in self._stops),
            lambda end: is_settled(end.freed),
        )
        for end in freed:
            end.announce()
        return len(over) + len(freed)

    def _take_ends(
        self,
        is_wanted: Callable[[RecordingSession], bool],
        is_ready: Callable[[RecordingEnd], bool] = lambda _: True,
    ) -> list[RecordingEnd]:
        taken = [end for end in self._ends if is_wanted(end.session) and is_ready(end)]
        self._ends = [end for end in self._ends if end not in taken]
        return taken

    def _on_image(self, source: RecordingSubscription, image: Image) -> None:
        assert source.subscription is not None
        if not source.takes_images or source.subscription.closed:
            return
        # An image that is closed already, because its stream had no more, is a recording too.
        try:
            if source.extends is None:
                self._begin(source, image, self._new_recording(source, image), extended=False)
            else:
                self._check_extension(source, image, source.extends)
                self._begin(source, image, source.extends, extended=True)
        except ArchiveError as error:
            source.control.send_error(source.correlation_id, error.code_value, error.message)
            self._give_up(source)
        except Exception as error:  # noqa: BLE001 - reported to client and operator
            self._context.reporter.error(error)
            code = ArchiveErrorCode.GENERIC
            if is_out_of_space(error):
                code = ArchiveErrorCode.STORAGE_SPACE
            source.control.send_error(source.correlation_id, code, java_text(error))
            self._give_up(source)

    def _give_up(self, source: RecordingSubscription) -> None:
        if source.auto_stop:
            # As with the reference, images that are known already are tried before.
            self._tasks.append(partial(self._end, source, "auto stop"))

    def _end(self, source: RecordingSubscription, reason: str) -> None:
        """Stop all recordings of a subscription, which takes no more images."""
        source.takes_images = False
        for session in source.sessions:
            session.stop(reason)
        self._unlist(source)

    def _new_recording(self, source: RecordingSubscription, image: Image) -> int:
        config = self._context.config
        return self._context.catalog.add_recording(
            RecordingDescriptor(
                recording_id=0,
                start_timestamp=self._context.now_ms(),
                start_position=image.join_position,
                initial_term_id=image.initial_term_id,
                segment_file_length=max(config[p.SEGMENT_LENGTH], image.term_length),
                term_buffer_length=image.term_length,
                mtu_length=image.mtu,
                session_id=image.session_id,
                stream_id=source.stream_id,
                stripped_channel=source.stripped_channel,
                original_channel=source.original_channel,
                source_identity=image.source_identity,
            )
        )

    def _check_extension(
        self, source: RecordingSubscription, image: Image, recording_id: int
    ) -> None:
        if recording_id in self.sessions:
            raise ArchiveError(
                ArchiveErrorCode.ACTIVE_RECORDING,
                f"cannot extend active recording {recording_id} streamId={source.stream_id}"
                f" channel={source.original_channel}",
            )
        descriptor = self._context.catalog.descriptor(recording_id)
        if self._outstanding_delete(recording_id, descriptor.stop_position):
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"cannot extend recording {recording_id} due to an outstanding delete operation:"
                f" streamId={source.stream_id} channel={source.original_channel}",
            )
        check_continues(descriptor, image)

    def _begin(
        self, source: RecordingSubscription, image: Image, recording_id: int, *, extended: bool
    ) -> None:
        context = self._context
        before = context.catalog.descriptor(recording_id)
        try:
            counter, writer = self._make_writer(source, image, recording_id)
        except BaseException:
            if not extended:
                # The catalog entry stays, as that of an empty recording.
                context.catalog.recording_stopped(
                    recording_id, image.join_position, context.now_ms()
                )
            raise
        if extended:
            context.catalog.extend_recording(
                recording_id, source.control.session_id, source.correlation_id, image.session_id
            )
        after = context.catalog.descriptor(recording_id)
        channel = source.original_channel
        if extended:
            writer.notes = context.times.resume(before, after, image.join_position, channel)
        else:
            writer.notes = context.times.begin(after, channel)
        session = RecordingSession(recording_id, source, counter, writer)
        # The end of an earlier part of this recording is announced before.
        self._report_ends()
        source.control.send_signal(
            source.correlation_id,
            recording_id,
            source.subscription_id,
            image.join_position,
            RecordingSignal.EXTEND if extended else RecordingSignal.START,
        )
        source.has_recorded = True
        source.references += 1
        source.sessions.append(session)
        self.sessions[recording_id] = session
        self._waiting.append(writer)
        context.counters.recording_sessions.add(1)
        self._hand_over()

    def _make_writer(
        self, source: RecordingSubscription, image: Image, recording_id: int
    ) -> tuple[Counter, RecordingWriter]:
        """Return position counter and writer for a recording that starts or is extended."""
        context = self._context
        descriptor = context.catalog.descriptor(recording_id)
        counter = context.counters.recording_position(
            recording_id,
            image.session_id,
            source.stream_id,
            source.stripped_channel,
            image.source_identity,
        )
        counter.value = image.join_position
        try:
            writer = RecordingWriter(
                recording_id,
                image,
                segment_base=descriptor.segment_base(image.join_position),
                segment_length=descriptor.segment_file_length,
                block_limit=min(descriptor.term_buffer_length, context.config[p.FILE_IO_LENGTH]),
                sync_level=context.config[p.FILE_SYNC_LEVEL],
                checksum=context.config.record_checksum,
                counters=context.aeron.conductor.counters,
                counter_id=counter.counter_id,
                registration_id=counter.registration_id,
            )
        except BaseException:
            counter.close()
            raise
        return counter, writer

    # -- the end ----------------------------------------------------------------------------------

    def _ended(self, session: RecordingSession) -> None:
        """Store the end in the catalog, to be announced later (spec archive-protocol 10)."""
        context, source, writer = self._context, session.source, session.writer
        position = writer.recorded_position
        del self.sessions[session.recording_id]
        changed = partial(context.reporter.events.recording, session.recording_id, position)
        changed("RECORDING", "INACTIVE", session.stop_reason or end_of(session.image))
        changed("INACTIVE", "STOPPED")
        context.reporter.run(
            partial(
                context.catalog.recording_stopped,
                session.recording_id,
                position,
                context.now_ms(),
            )
        )
        source.sessions.remove(session)
        error = failure_of(self._context, writer)
        self.on_end(session.recording_id, position)
        freed = context.aeron.conductor.close_counter(session.counter)
        self._ends.append(RecordingEnd(session, position, error, freed))
        self._release(source)
        if source.auto_stop:
            self._end(source, "auto stop")
        context.counters.recording_sessions.add(-1)

    def position(self, recording_id: int) -> int:
        """Return the written position of an active recording, -1 when it is not active."""
        session = self.sessions.get(recording_id)
        return NULL_POSITION if session is None else session.writer.recorded_position

    def describe(self, recording_id: int) -> tuple[str, str]:
        """Return original channel and source identity of a recording, for its started event."""
        session = self.sessions[recording_id]
        return session.source.original_channel, session.writer.image.source_identity

    def close(self) -> None:
        """End what the recorder has ended; no answer of the driver is awaited any more."""
        run = self._context.reporter.run
        self.find_ended()
        self.do_work()
        stops, self._stops = self._stops, []
        for stop in stops:
            run(stop.answer)
        for end in self._take_ends(lambda _: True):
            run(end.announce)
        for source in list(self.by_key.values()):
            run(partial(self._unlist, source))
