"""One replication, from connecting to its source to the last signal.

Spec archive-protocol 15.2 to 15.7.

The states are the methods that the generator ``_run`` calls. It yields whenever it has nothing to
do at the moment. The conductor resumes it in its duty cycle, and nothing here blocks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from aerolog.archive.client import request
from aerolog.archive.client.replay.archive_replay import image_session_id
from aerolog.archive.protocol import NULL_LENGTH, NULL_VALUE, RecordingSignal, SourceLocation
from aerolog.archive.protocol.enums import NULL_POSITION
from aerolog.archive.service.replication.source_archive import (
    NOT_ACTIVE,
    ReplicationFailedError,
    SourceArchive,
    failure_text,
)
from aerolog.transport.errors import AeronTimeoutError, ArchiveError, ArchiveErrorCode
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.recorder.recording_session import (
        RecordingSession,
        RecordingSubscription,
    )
    from aerolog.archive.service.recorder.recordings import Recordings
    from aerolog.archive.service.replication.replication_order import ReplicationOrder
    from aerolog.transport.client.destination import Destination
    from aerolog.transport.client.subscription import Subscription

T = TypeVar("T")
LIVE_WINDOW_MAX: Final = 32 * 1024 * 1024
MTU_MIN: Final = 64
MTU_MAX: Final = 65_504


class UnsubscribedError(Exception):
    """Another request closed the recording subscription, so the replication is over."""


def checked(descriptor: RecordingDescriptor, recording_id: int) -> RecordingDescriptor:
    """Return a source's descriptor unchanged after checking it for use in the catalog.

    Raises:
        FileFormatError: no recording can have one of its lengths or positions.
        ArchiveError: the descriptor is another recording's, or no stream can have its mtu.
    """
    descriptor.check()
    mtu = descriptor.mtu_length
    if descriptor.recording_id != recording_id:
        problem = f"describes recording {descriptor.recording_id} when asked for {recording_id}"
    elif not MTU_MIN <= mtu <= MTU_MAX or mtu % FRAME_ALIGNMENT:
        problem = f"has an invalid mtu: {mtu}"
    else:
        return descriptor
    raise ArchiveError(ArchiveErrorCode.GENERIC, f"the source {problem}")


class ReplicationSession:
    """A recording of another archive that is being copied.

    Args:
        context: the objects that all parts of the archive use.
        recordings: the active recordings.
        control: the session that sent the request and receives all signals.
        order: the parameters of the request.
        replication_id: correlation id of all signals.

    Attributes:
        is_done: whether the replication is over and has to be closed.
        is_following: whether it follows a stream that ends only when its source ends it.
    """

    def __init__(
        self,
        context: ArchiveContext,
        recordings: Recordings,
        control: ControlSession,
        order: ReplicationOrder,
        replication_id: int,
    ) -> None:
        self.is_done = False
        self.is_following = False
        self.replication_id = replication_id
        self._context = context
        self._recordings = recordings
        self._control = control
        self._order = order
        self._dst_recording_id = order.dst_recording_id
        self._source: SourceArchive | None = None
        self._recorded: RecordingSubscription | None = None
        self._is_recording = False
        self._answers: list[Callable[[], object]] = []
        self._position = NULL_POSITION
        self._state = "CONNECT"
        self._reason = ""
        self._steps = self._run()

    @property
    def dst_recording_id(self) -> int:
        """Id of the recording that is made, -1 while there is none."""
        return self._dst_recording_id

    def do_work(self) -> int:
        """Do what is possible now; any failure ends the replication and is reported."""
        if self.is_done:
            return 0
        try:
            if not self._is_recording:
                self._check_subscribed()
            next(self._steps)
        except (StopIteration, UnsubscribedError):
            self.is_done = True
        except ArchiveError as error:
            self.is_done = True
            self._reason = error.message
            self._control.send_error(self.replication_id, error.code_value, error.message)
        except Exception as error:  # noqa: BLE001 - reported to client and operator
            self.is_done = True
            self._reason = failure_text(error)
            self._context.reporter.error(error)
            self._control.send_error(
                self.replication_id, ArchiveErrorCode.GENERIC, failure_text(error)
            )
        return int(self.is_done)

    def abort(self, answer: Callable[[], object]) -> None:
        """End the replication in its next duty cycle.

        Args:
            answer: called when nothing more is recorded, before the signals.
        """
        self._reason = self._reason or "stop replication"
        self.is_done = True
        self._answers.append(answer)

    def close(self) -> None:
        """Release source and subscription; the end is signalled when nothing is recorded."""
        run = self._context.reporter.run
        self._enter("DONE", self._reason)
        self._steps.close()
        recorded, self._recorded = self._recorded, None
        if self._source is not None:
            run(self._source.close)
        if recorded is None:
            self._closed()
        else:
            run(lambda: self._recordings.stop(recorded, self._control, self._closed))

    def _closed(self) -> None:
        for answer in self._answers:
            self._context.reporter.run(answer)
        self._answers.clear()
        self._signal(RecordingSignal.REPLICATE_END, NULL_POSITION)

    # -- the states -------------------------------------------------------------------------------

    def _run(self) -> Generator[None, None, None]:
        order = self._order
        self._source = source = SourceArchive(self._context, order, self.replication_id)
        yield from source.connect()
        self._enter("REPLICATE_DESCRIPTOR", "connected to the Archive")
        descriptor = yield from self._describe(source)
        start = self._prepare(descriptor)
        if self._is_in_sync(descriptor):
            self._signal(RecordingSignal.SYNC, descriptor.stop_position)
            self._reason = "sync"
            return
        target = NULL_POSITION
        if order.is_live:
            target = yield from source.recording_position(order.src_recording_id)
        self._enter("EXTEND")
        subscription = self._extend(descriptor)
        destination = self._listen(subscription)
        self._enter("REPLAY_TOKEN", "replay destination added")
        session_id = yield from self._replay(source, descriptor, subscription, destination, start)
        copy = yield from self._await_image(subscription, session_id)
        image = copy.image
        self._position = image.join_position
        self._enter(
            "CATCHUP" if order.is_live else "REPLICATE",
            f"image.correlationId={image.correlation_id}, image.sessionId={image.session_id},"
            f" image.joinPosition={image.join_position}",
        )
        # From here on the recording signals its own end, whoever closes the subscription.
        self._is_recording = True
        if order.is_live:
            assert destination is not None
            yield from self._merge(source, target, subscription, copy, destination)
        else:
            yield from self._follow(source, descriptor, copy)

    def _describe(self, source: SourceArchive) -> Generator[None, None, RecordingDescriptor]:
        """Ask the source for its descriptor and check it (REPLICATE_DESCRIPTOR)."""
        order = self._order
        found = yield from source.ask(
            request.list_recording(order.src_recording_id),
            "failed to list remote recording descriptor",
            "failed to fetch remote recording descriptor",
        )
        if found is None:
            raise ArchiveError(
                ArchiveErrorCode.UNKNOWN_RECORDING,
                f"unknown src recording id {order.src_recording_id}",
            )
        descriptor = checked(found, order.src_recording_id)
        limit = order.file_io_max_length
        if limit != NULL_LENGTH and limit < descriptor.mtu_length:
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"Replication fileIoMaxLength ({limit}) is less than than the recording mtuLength"
                f" ({descriptor.mtu_length})",
            )
        return descriptor

    def _prepare(self, descriptor: RecordingDescriptor) -> int:
        """Prepare the destination; return where the copy starts (spec archive-protocol 15.3)."""
        catalog, order = self._context.catalog, self._order
        empty = replace(
            descriptor,
            stop_position=descriptor.start_position,
            stop_timestamp=descriptor.start_timestamp,
        )
        start = descriptor.start_position
        if order.dst_recording_id == NULL_VALUE:
            self._dst_recording_id = catalog.add_recording(empty)
            self._signal(RecordingSignal.REPLICATE, start)
        else:
            held = catalog.descriptor(order.dst_recording_id)
            if held.start_position == held.stop_position:
                catalog.replace_recording(replace(empty, recording_id=order.dst_recording_id))
            else:
                start = held.stop_position
        if order.is_live and descriptor.stop_position != NULL_POSITION:
            raise ArchiveError(ArchiveErrorCode.GENERIC, NOT_ACTIVE)
        return start

    def _is_in_sync(self, descriptor: RecordingDescriptor) -> bool:
        held = self._context.catalog.descriptor(self._dst_recording_id)
        return descriptor.stop_position != NULL_POSITION and descriptor.stop_position in (
            descriptor.start_position,
            held.stop_position,
        )

    def _extend(self, descriptor: RecordingDescriptor) -> Subscription:
        """Start recording into the destination (EXTEND)."""
        order = self._order
        session_id = order.session_id_of(descriptor.session_id)
        self._recorded = recorded = self._recordings.extend(
            self._control,
            self.replication_id,
            self._dst_recording_id,
            descriptor.stream_id,
            SourceLocation.REMOTE,
            order.recording_channel(session_id, self.replication_id),
            auto_stop=True,
        )
        self._control.send_ok(self.replication_id, recorded.subscription_id)
        assert recorded.subscription is not None
        return recorded.subscription

    def _listen(self, subscription: Subscription) -> Destination | None:
        """Add the destination for the replay to a subscription with destinations."""
        if not self._order.has_destinations:
            return None
        return subscription.add_destination(self._order.replay_destination(), wait=False)

    def _replay(
        self,
        source: SourceArchive,
        descriptor: RecordingDescriptor,
        subscription: Subscription,
        destination: Destination | None,
        start: int,
    ) -> Generator[None, None, int]:
        """Start the replay; returns the session id of its image (REPLAY_TOKEN to REPLAY)."""
        order = self._order
        token, endpoint = NULL_VALUE, ""
        if order.is_over_response:
            token = yield from source.ask(
                request.replay_token(order.src_recording_id),
                "failed to send replay token request",
                "failed to get a replay token",
            )
        else:
            endpoint = yield from self._until(
                lambda: _endpoint(subscription, destination),
                f"failed to resolve subscription endpoint: channel={subscription.channel}",
            )
        channel = order.replay_channel(
            order.session_id_of(descriptor.session_id), endpoint, subscription.registration_id
        )
        wanted = order.stop_position
        call = request.start_replay(
            order.src_recording_id,
            channel,
            descriptor.stream_id,
            start,
            NULL_LENGTH if wanted == NULL_POSITION else wanted - start,
            file_io_max_length=order.file_io_max_length,
            replay_token=token,
        )
        self._enter("GET_ARCHIVE_PROXY")
        self._enter("REPLAY")
        if order.is_over_response:
            replay_id = yield from source.replay_over_response(call, subscription)
        else:
            replay_id = yield from source.replay(call, channel)
        self._enter("AWAIT_IMAGE", f"srcReplaySessionId={replay_id}")
        return image_session_id(replay_id)

    def _await_image(
        self, subscription: Subscription, session_id: int
    ) -> Generator[None, None, RecordingSession]:
        """Wait until the replay's image is being recorded (AWAIT_IMAGE)."""
        return (
            yield from self._until(
                lambda: self._recording_of(session_id),
                f"failed get replay image for sessionId={session_id}"
                f" on channel={subscription.channel}",
            )
        )

    def _recording_of(self, session_id: int) -> RecordingSession | None:
        assert self._recorded is not None
        sessions = self._recorded.sessions
        return next((s for s in sessions if s.image.session_id == session_id), None)

    def _follow(
        self, source: SourceArchive, descriptor: RecordingDescriptor, copy: RecordingSession
    ) -> Generator[None, None, None]:
        """Wait for the end of the replay (REPLICATE)."""
        stop, wanted = descriptor.stop_position, self._order.stop_position
        self.is_following = stop == NULL_POSITION
        while True:
            # Check this first: a recording that ends in between holds all that it will ever hold.
            has_ended = copy.has_ended
            position = copy.position
            self._position = position
            if NULL_POSITION != stop <= position:
                source.replay_ended()
                self._log_done(descriptor, copy, synced=True)
                self._reason = "sync"
                self._signal(RecordingSignal.SYNC, position, copy.source.subscription_id)
                return
            if has_ended or NULL_POSITION != wanted <= position:
                source.replay_ended()
                self._log_done(descriptor, copy, synced=False)
                return
            yield from self._idle()

    # -- the live stream (CATCHUP, ATTEMPT_LIVE_JOIN) ---------------------------------------------

    def _merge(
        self,
        source: SourceArchive,
        target: int,
        subscription: Subscription,
        copy: RecordingSession,
        replay: Destination,
    ) -> Generator[None, None, None]:
        """Catch up with the source, then replace the replay by the live stream.

        Spec archive-protocol 15.6.
        """
        order = self._order
        window = min(copy.image.term_length // 4, LIVE_WINDOW_MAX)
        live: Destination | None = None
        while True:
            while self._position_of(copy) < target:
                yield from self._idle()
            target = yield from source.recording_position(order.src_recording_id)
            position = self._position_of(copy)
            if live is None:
                if target - position <= window:
                    live = subscription.add_destination(order.live_destination, wait=False)
            elif target <= position and copy.image.active_transport_count >= 2:
                replay.remove(wait=False)
                self._signal(RecordingSignal.MERGE, position)
                # The recording continues with the live stream and ends with it.
                self._recorded = None
                return
            elif live.future.done():
                live.future.result(0)
            yield

    def _position_of(self, copy: RecordingSession) -> int:
        """Return the position of a recording that must not have ended."""
        self._check_subscribed()
        if copy.image.closed or copy.has_ended:
            raise ReplicationFailedError("replication image closed unexpectedly")
        return copy.position

    # -- the event log ----------------------------------------------------------------------------

    def _enter(self, state: str, reason: str = "") -> None:
        """Log the change to another state, under the reference's names."""
        self._context.reporter.events.replication(
            self.replication_id,
            self._order.src_recording_id,
            self._dst_recording_id,
            self._position,
            self._state,
            state,
            reason,
        )
        self._state = state

    def _log_done(
        self, descriptor: RecordingDescriptor, copy: RecordingSession, *, synced: bool
    ) -> None:
        self._context.reporter.events.replication_done(
            self._control.session_id,
            self.replication_id,
            self._order.src_recording_id,
            copy.image.join_position,
            descriptor.stop_position,
            self._dst_recording_id,
            self._order.stop_position,
            self._position,
            closed=copy.image.closed,
            ended=copy.image.is_end_of_stream,
            synced=synced,
        )

    # -- waits and signals ------------------------------------------------------------------------

    def _until(self, find: Callable[[], T | None], late: str) -> Generator[None, None, T]:
        """Wait for a result within the action timeout; the source is asked nothing meanwhile."""
        assert self._source is not None
        deadline_ns = self._context.now_ns() + self._source.action_timeout_ns
        while (found := find()) is None:
            yield from self._idle()
            if self._context.now_ns() > deadline_ns:
                raise AeronTimeoutError(late)
        return found

    def _idle(self) -> Generator[None, None, None]:
        """Yield once after checking that the source has not failed."""
        assert self._source is not None
        self._source.check(self._context.now_ns())
        yield

    def _check_subscribed(self) -> None:
        recorded = self._recorded
        if recorded is not None and (recorded.subscription is None or recorded.subscription.closed):
            self._recorded = None
            raise UnsubscribedError

    def _signal(
        self, signal: RecordingSignal, position: int, subscription_id: int = NULL_VALUE
    ) -> None:
        self._control.send_signal(
            self.replication_id, self._dst_recording_id, subscription_id, position, signal
        )


def _endpoint(subscription: Subscription, destination: Destination | None) -> str | None:
    """Return the endpoint on which the replay is received, None while it is not known.

    Raises:
        RegistrationError: the driver could not open the endpoint.
    """
    if destination is not None and destination.future.done():
        destination.future.result(0)
    return subscription.resolved_endpoint
