"""The conductor's part of replays: check, creation and end (spec archive-protocol 11, 12)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.protocol import REPLAY_ALL_AND_FOLLOW, REPLAY_ALL_AND_STOP
from aerolog.archive.protocol.enums import NULL_POSITION
from aerolog.archive.protocol.extension_query import REPLAY, RecordingReader
from aerolog.archive.service import properties as p
from aerolog.archive.service.conductor.refusals import exception_text
from aerolog.archive.service.replayer import replay_reader
from aerolog.archive.service.replayer.replay_reader import ReplayReader
from aerolog.archive.service.replayer.replayer import (
    ReplayRequestDetails,
    frame_position,
)
from aerolog.transport.client.registration import is_settled
from aerolog.transport.config.values import INT64_MAX, INT64_MIN, format_duration
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode, ChannelUriError
from aerolog.transport.memory.counters import VALUE_LENGTH
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.session_table import SessionTable
    from aerolog.transport.client.publication import ExclusivePublication
    from aerolog.transport.client.registration import RegistrationFuture as Future

NO_COUNTER: Final = -1

# Reasons for which a replay ends, in the words of the reference.
_LIMIT_REACHED: Final = "position ({}) past limit ({})"
_ABORTED: Final = "replay aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOrder:
    """A replay request whose form was checked."""

    correlation_id: int
    recording_id: int
    position: int
    length: int
    file_io_max_length: int
    replay_channel: str
    replay_stream_id: int
    limit_counter_id: int | None = None


@dataclass(slots=True, eq=False)
class PendingReplay:
    """A replay whose publication the driver is creating."""

    control: ControlSession
    order: ReplayOrder
    descriptor: RecordingDescriptor
    start_position: int
    stop_position: int
    replay_limit: int
    limit_counter_id: int
    limit_registration_id: int
    publication: Future[ExclusivePublication]
    recording_end: int = NULL_POSITION


@dataclass(slots=True, eq=False)
class ReplaySession:
    """A replay that the replayer runs.

    Attributes:
        has_ended: whether the replayer has ended it.
        gone: settled when the driver has removed its publication after that.
    """

    replay_session_id: int
    control: ControlSession
    correlation_id: int
    reader: ReplayReader
    details: ReplayRequestDetails
    publication: ExclusivePublication
    is_started: bool = False
    has_ended: bool = False
    gone: Future[None] | None = None


@dataclass(slots=True, eq=False)
class ReplayStop:
    """A stop of replays, which is answered when the driver has removed their publications."""

    sessions: list[ReplaySession]
    pending: list[PendingReplay]
    answer: Callable[[], object]

    @property
    def is_over(self) -> bool:
        """Whether all these replays have ended."""
        ended = all(one.has_ended and is_settled(one.gone) for one in self.sessions)
        return ended and not self.pending


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningReplay:
    """The state of a replay, for requests that change the files that it reads.

    Attributes:
        replay_session_id: the replay's id, which its client knows.
        segment_base: start position of the segment that it reads, or reads next.
        state: the state's name in the reference: INIT, REPLAY or INACTIVE.
        session_id: session id of the replay publication, as are stream_id and channel.
    """

    replay_session_id: int
    recording_id: int
    segment_base: int
    state: str
    session_id: int
    stream_id: int
    channel: str


class Replays:
    """All replays, including those whose publications are being created.

    Args:
        context: the objects that all parts of the archive use.
        table: where the replayer finds readers.
        recording_counter: returns the position counter id of an active recording, -1 for others.
    """

    def __init__(
        self,
        context: ArchiveContext,
        table: SessionTable,
        recording_counter: Callable[[int], int],
    ) -> None:
        self._context = context
        self._table = table
        self._recording_counter = recording_counter
        self._pending: list[PendingReplay] = []
        self._waiting: list[ReplaySession] = []
        self._stops: list[ReplayStop] = []
        self._next_id = 1
        self.sessions: dict[int, ReplaySession] = {}
        self._by_reader: dict[int, ReplaySession] = {}

    @property
    def is_busy(self) -> bool:
        """Whether there is work that only ``do_work`` advances."""
        return bool(self._pending) or bool(self._waiting)

    # -- requests ---------------------------------------------------------------------------------

    def start(self, control: ControlSession, order: ReplayOrder) -> None:
        """Check a request and create its publication; the replayer answers later.

        Raises:
            ArchiveError: the request is refused.
        """
        limit = self._context.config[p.MAX_REPLAYS]
        if len(self.sessions) + len(self._pending) >= limit:
            raise ArchiveError(
                ArchiveErrorCode.MAX_REPLAYS, f"max concurrent replays reached {limit}"
            )
        recording_id = order.recording_id
        descriptor = self._context.catalog.descriptor(recording_id)
        counter_id = self._limit_counter(order)
        limit_position, registration_id = descriptor.stop_position, 0
        if counter_id != NO_COUNTER:
            limit_position, registration_id = self._limit_of(counter_id)
        position = self._checked_position(order, descriptor)
        self._check_io_length(order, descriptor)
        if counter_id != NO_COUNTER and position > limit_position:
            raise _beyond(position, limit_position, recording_id)
        length = self._checked_length(control, order, counter_id, position, limit_position)
        channel = self._replay_channel(order, descriptor, position)
        self._pending.append(
            PendingReplay(
                control=control,
                order=order,
                descriptor=descriptor,
                start_position=position,
                stop_position=limit_position,
                replay_limit=position + length,
                limit_counter_id=counter_id,
                limit_registration_id=registration_id,
                publication=self._context.aeron.add_exclusive_publication_async(
                    channel, order.replay_stream_id
                ),
            )
        )

    def _limit_counter(self, order: ReplayOrder) -> int:
        counter_id = order.limit_counter_id
        if counter_id is None:
            return self._recording_counter(order.recording_id)
        reader = self._context.aeron.conductor.counters
        if not 0 <= counter_id <= reader.max_counter_id:
            offset = counter_id * VALUE_LENGTH
            length = (reader.max_counter_id + 1) * VALUE_LENGTH
            why = f"Range [{offset}, {offset} + 8) out of bounds for length {length}"
            raise _no_limit_counter(counter_id, why)
        if reader.counter_state(counter_id) != 1:
            raise _no_limit_counter(counter_id, f"Counter not allocated: counterId={counter_id}")
        return counter_id

    def _limit_of(self, counter_id: int) -> tuple[int, int]:
        """Return the value of a limit's counter and the registration that it has now."""
        reader = self._context.aeron.conductor.counters
        registration_id = reader.counter_registration_id(counter_id)
        value = reader.counter_value(counter_id)
        if reader.counter_registration_id(counter_id) != registration_id:
            raise _no_limit_counter(counter_id, f"Counter not allocated: counterId={counter_id}")
        return value, registration_id

    def recording_ended(self, recording_id: int, position: int) -> None:
        """Say to a recording's replays where it has ended, before its position counter is freed."""
        for pending in self._pending:
            if pending.order.recording_id == recording_id:
                pending.recording_end = position
        for session in self.sessions.values():
            if session.reader.recording_id == recording_id:
                session.reader.recording_ended(position)

    def _checked_position(self, order: ReplayOrder, descriptor: RecordingDescriptor) -> int:
        position, recording_id = order.position, order.recording_id
        if position == NULL_POSITION:
            return descriptor.start_position
        if position % FRAME_ALIGNMENT:
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"requested replay start position={position} is not a multiple of"
                f" FRAME_ALIGNMENT ({FRAME_ALIGNMENT}) for recording {recording_id}",
            )
        if position < descriptor.start_position:
            raise ArchiveError(
                ArchiveErrorCode.INVALID_POSITION,
                f"requested replay start position={position} is less than recording start"
                f" position={descriptor.start_position} for recording {recording_id}",
            )
        if not descriptor.is_active and position >= descriptor.stop_position:
            raise _beyond(position, descriptor.stop_position, recording_id)
        return position

    def _check_io_length(self, order: ReplayOrder, descriptor: RecordingDescriptor) -> None:
        capacity = self._context.config[p.FILE_IO_LENGTH]
        mtu = descriptor.mtu_length
        if 0 < order.file_io_max_length < mtu:
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"fileIoMaxLength={order.file_io_max_length} < mtuLength={mtu}",
            )
        if capacity < mtu:
            raise ArchiveError(
                ArchiveErrorCode.GENERIC, f"replayBufferCapacity={capacity} < mtuLength={mtu}"
            )

    def _checked_length(
        self,
        control: ControlSession,
        order: ReplayOrder,
        counter_id: int,
        position: int,
        stop: int,
    ) -> int:
        maximum = stop - position if counter_id == NO_COUNTER else INT64_MAX - position
        if order.length == REPLAY_ALL_AND_FOLLOW:
            length = maximum
        elif order.length == REPLAY_ALL_AND_STOP:
            length = stop - position
            if length == 0:
                # The reference sends this answer and then continues (spec archive-protocol 23.1).
                control.send_error(
                    order.correlation_id,
                    ArchiveErrorCode.EMPTY_RECORDING,
                    "When replaying and stopping the replay length must be non-zero,"
                    f" recordingId={order.recording_id}",
                )
        else:
            length = min(order.length, maximum)
        if length < 0:
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"replay length must be positive: replayLength={length}, length={order.length},"
                f" stopPosition={stop}, replayPosition={position}"
                f" for recording {order.recording_id}",
            )
        return length

    def _replay_channel(
        self, order: ReplayOrder, descriptor: RecordingDescriptor, position: int
    ) -> str:
        """Return the channel of the replay publication (spec archive-protocol 11.3)."""
        try:
            requested = ChannelUri.parse(order.replay_channel)
            linger = requested.get("linger")
            linger_ns = (
                self._context.config[p.REPLAY_LINGER] if linger is None else _java_long(linger)
            )
            built = (
                requested.strip()
                .replace(mtu=descriptor.mtu_length, linger=format_duration(linger_ns))
                .with_position(position, descriptor.initial_term_id, descriptor.term_buffer_length)
            )
            for key in ("eos", "sparse"):
                if key in requested:
                    built = built.put(key, requested[key])
            return str(built.build())
        except (ChannelUriError, ValueError) as error:
            self._context.reporter.error(error)
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"failed to process replayChannel - {exception_text(error)}",
            ) from error

    def stop(self, replay_session_id: int, answer: Callable[[], object]) -> None:
        """End one replay; an unknown id is not an error.

        Args:
            replay_session_id: the replay's id.
            answer: called when its publication is gone.
        """
        session = self.sessions.get(replay_session_id)
        self._stop([] if session is None else [session], [], answer)

    def stop_all(self, recording_id: int, answer: Callable[[], object]) -> None:
        """End all replays of a recording, or of all recordings with -1.

        Args:
            recording_id: id of the recording, or -1.
            answer: called when their publications are gone.
        """
        self._stop(
            [s for s in self.sessions.values() if recording_id in (-1, s.reader.recording_id)],
            [one for one in self._pending if recording_id in (-1, one.order.recording_id)],
            answer,
        )

    def _stop(
        self,
        sessions: list[ReplaySession],
        pending: list[PendingReplay],
        answer: Callable[[], object],
    ) -> None:
        for session in sessions:
            session.reader.abort()
        self._stops.append(ReplayStop(sessions, pending, answer))

    def has_replay_of(self, recording_id: int) -> bool:
        """Return whether a replay of a recording runs or is being created."""
        return any(reader.recording_id == recording_id for reader in self.readers())

    def readers(self) -> list[RecordingReader]:
        """Return what all replays need, including those whose publications are being created."""
        found = [
            RecordingReader(s.reader.recording_id, REPLAY, s.reader.segment_base)
            for s in self.sessions.values()
        ]
        found += [
            RecordingReader(one.order.recording_id, REPLAY, one.start_position)
            for one in self._pending
        ]
        return found

    def replays_of(self, recording_id: int) -> list[RunningReplay]:
        """Return the running replays of a recording, in the order in which they began.

        A replay whose publication the driver is still creating is not among them.
        """
        return [
            RunningReplay(
                replay_session_id=session.replay_session_id,
                recording_id=recording_id,
                segment_base=session.reader.segment_base,
                state=_state_name(session.reader.state),
                session_id=session.publication.session_id,
                stream_id=session.publication.stream_id,
                channel=session.publication.channel,
            )
            for session in self.sessions.values()
            if session.reader.recording_id == recording_id
        ]

    # -- turns ------------------------------------------------------------------------------------

    def do_work(self) -> int:
        """Start replays whose publications exist now, and end what the replayer has ended."""
        work = 0
        for pending in list(self._pending):
            if pending.publication.done():
                self._pending.remove(pending)
                self._create(pending)
                work += 1
        while self._waiting and self._table.add(self._waiting[0].reader):
            self._waiting.pop(0)
        for session in self.sessions.values():
            if not session.is_started and session.reader.state > replay_reader.CONNECTING:
                self._log_start(session)
        for session in [
            s for s in self.sessions.values() if s.reader.state == replay_reader.RELEASED
        ]:
            self._context.reporter.run(partial(self._ended, session))
            work += 1
        for stop in [stop for stop in self._stops if stop.is_over]:
            self._stops.remove(stop)
            self._context.reporter.run(stop.answer)
            work += 1
        return work

    def _create(self, pending: PendingReplay) -> None:
        order, control = pending.order, pending.control
        try:
            publication = pending.publication.result()
            session = self._session(pending, publication)
        except Exception as error:  # noqa: BLE001 - reported to the client
            control.send_error(
                order.correlation_id,
                ArchiveErrorCode.GENERIC,
                f"failed to create replay publication: {exception_text(error)}",
            )
            error.__traceback__ = None  # in a cycle it would keep the control session and its log
            self._stop_created(pending, None)
            return
        self.sessions[session.replay_session_id] = session
        self._by_reader[id(session.reader)] = session
        self._waiting.append(session)
        self._context.counters.replay_sessions.add(1)
        self._stop_created(pending, session)

    def _stop_created(self, pending: PendingReplay, session: ReplaySession | None) -> None:
        """End a replay that was stopped before its publication existed."""
        for stop in self._stops:
            if pending in stop.pending:
                stop.pending.remove(pending)
                if session is not None:
                    stop.sessions.append(session)
                    session.reader.abort()

    def _session(self, pending: PendingReplay, publication: ExclusivePublication) -> ReplaySession:
        context, order, descriptor = self._context, pending.order, pending.descriptor
        replay_session_id = self._next_id << 32 | publication.session_id & 0xFFFFFFFF
        self._next_id += 1
        read_length = context.config[p.FILE_IO_LENGTH]
        if 0 < order.file_io_max_length < read_length:
            read_length = order.file_io_max_length
        reader = ReplayReader(
            order.recording_id,
            publication,
            start_position=pending.start_position,
            replay_limit=pending.replay_limit,
            stop_position=pending.stop_position,
            segment_base=descriptor.segment_base(pending.start_position),
            segment_length=descriptor.segment_file_length,
            term_length=descriptor.term_buffer_length,
            read_length=read_length,
            deadline_ns=context.now_ns() + context.config[p.CONNECT_TIMEOUT],
            checksum=context.config.replay_checksum,
            counters=context.aeron.conductor.counters,
            limit_counter_id=pending.limit_counter_id,
            limit_registration_id=pending.limit_registration_id,
            is_bounded=order.limit_counter_id is not None,
            stream_id=descriptor.stream_id,
            frame_length_max=descriptor.mtu_length,
        )
        if pending.recording_end != NULL_POSITION:
            reader.recording_ended(pending.recording_end)
        details = ReplayRequestDetails(
            replay_session_id,
            descriptor.start_position,
            descriptor.initial_term_id,
            descriptor.stream_id,
            partial(pending.control.send_later, order.correlation_id, replay_session_id),
        )
        return ReplaySession(
            replay_session_id, pending.control, order.correlation_id, reader, details, publication
        )

    def details(self, reader: ReplayReader) -> ReplayRequestDetails:
        """Return the details of a reader's request; called on the replayer's thread."""
        return self._by_reader[id(reader)].details

    def _ended(self, session: ReplaySession) -> None:
        del self.sessions[session.replay_session_id]
        del self._by_reader[id(session.reader)]
        reader = session.reader
        failure = self._failure_of(session) if reader.ending == replay_reader.FAILED else None
        self._log_end(session, None if failure is None else failure[1])
        if failure is not None:
            session.control.send_error(session.correlation_id, *failure)
        is_complete = reader.ending == replay_reader.COMPLETE
        session.gone = self._context.aeron.conductor.close_publication(
            session.publication, revoke=not is_complete
        )
        session.has_ended = True
        self._context.counters.replay_sessions.add(-1)

    def _log_start(self, session: ReplaySession) -> None:
        reader = session.reader
        session.is_started = (
            reader.state in {replay_reader.REPLAYING, replay_reader.SEGMENT_END}
            or reader.ending == replay_reader.COMPLETE
            or reader.replay_position > reader.start_position
        )
        if session.is_started:
            self._context.reporter.events.replay(
                session.replay_session_id,
                session.reader.recording_id,
                session.reader.start_position,
                "INIT",
                "REPLAY",
            )

    def _log_end(self, session: ReplaySession, failure: str | None) -> None:
        events, reader = self._context.reporter.events, session.reader
        reason = _ABORTED
        if failure is not None:
            reason = failure.partition(", recordingId=")[0]
        elif reader.ending == replay_reader.COMPLETE:
            reason = _LIMIT_REACHED.format(reader.replay_position, reader.replay_limit)
        changed = partial(
            events.replay, session.replay_session_id, reader.recording_id, reader.replay_position
        )
        changed("REPLAY" if session.is_started else "INIT", "INACTIVE", reason)
        changed("INACTIVE", "DONE")
        if failure is not None:
            events.replay_failed(session.replay_session_id, reader.recording_id, failure)

    def _failure_of(self, session: ReplaySession) -> tuple[int, str]:
        """Return code and text of a failed replay's error (spec archive-protocol 12.1, 12.2)."""
        reader, publication = session.reader, session.publication
        code = int(ArchiveErrorCode.GENERIC)
        where = frame_position(reader, reader.fault_position)
        if reader.fault == replay_reader.FAULT_NO_CONNECTION:
            text = (
                f"no connection established for replayChannel={publication.channel},"
                f" replayStreamId={publication.stream_id}"
            )
        elif reader.fault == replay_reader.FAULT_UNEXPECTED_END:
            text = f"unexpected end of recording at position={where}"
        elif reader.fault == replay_reader.FAULT_HEADER:
            text = f"wrong frame header at position={where}"
        elif reader.fault == replay_reader.FAULT_TYPE:
            text = f"unknown frame type {reader.fault_detail} at position={where}"
        elif reader.fault == replay_reader.FAULT_CHECKSUM:
            text = (
                f"CRC checksum mismatch at position={where}: recorded"
                f" checksum={reader.fault_detail}, computed checksum={reader.fault_computed}"
            )
        elif reader.fault == replay_reader.FAULT_READ:
            text = f"java.io.IOException - {os.strerror(reader.fault_detail)}"
        elif reader.fault == replay_reader.FAULT_REFUSED:
            text = f"replay publication refused frames at position={where}"
        else:
            code = reader.failure_code
            failure = reader.failure
            text = failure.message if isinstance(failure, ArchiveError) else str(failure)
        segment = segment_file_name(reader.recording_id, reader.segment_base)
        return code, (
            f"{text}, recordingId={reader.recording_id},"
            f" replaySessionId={session.replay_session_id}, segmentFile={segment}"
        )

    def close(self) -> None:
        """End what the replayer has ended; publications are closed with the client."""
        for pending in self._pending:
            pending.publication.cancel()
        self._pending.clear()
        self.do_work()
        for stop in self._stops:
            self._context.reporter.run(stop.answer)
        self._stops.clear()


def _state_name(state: int) -> str:
    if state in {replay_reader.INIT, replay_reader.CONNECTING}:
        return "INIT"
    return "REPLAY" if state in {replay_reader.REPLAYING, replay_reader.SEGMENT_END} else "INACTIVE"


def _beyond(position: int, limit: int, recording_id: int) -> ArchiveError:
    return ArchiveError(
        ArchiveErrorCode.INVALID_POSITION,
        f"requested replay start position={position} must be less than the limit"
        f" position={limit} for recording {recording_id}",
    )


def _no_limit_counter(counter_id: int, why: str) -> ArchiveError:
    return ArchiveError(
        ArchiveErrorCode.GENERIC,
        f"unable to create replay limit counter id= {counter_id} because of: {why}",
    )


def _java_long(text: str) -> int:
    """Parse a plain 64-bit number, as the reference parses a replay's linger in nanoseconds."""
    try:
        value = int(text) if text.strip() == text and "_" not in text else None
    except ValueError:
        value = None
    if value is None or not INT64_MIN <= value <= INT64_MAX:
        raise ValueError(f'For input string: "{text}"')
    return value
