"""The position counters of active recordings (spec client 25, spec archive-protocol 19.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol.counter_types import (
    ARCHIVE_KEY,
    POSITION_KEY,
    ArchiveCounterType,
)
from aerolog.transport.client.steps.backoff import waiting_backoff
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import AeronTimeoutError, ResourceClosedError
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.archive.client.conversation import Conversation
    from aerolog.transport.client import CounterInfo, Counters, CounterView
    from aerolog.transport.client.steps.caller import Steps

ANY_ARCHIVE: Final = -1
_HEAD = POSITION_KEY.numbers
_ARCHIVE_ID = ARCHIVE_KEY.numbers


@dataclass(frozen=True, slots=True)
class RecordingPositionKey:
    """Key of a recording's position counter."""

    recording_id: int
    session_id: int
    source_identity: str
    archive_id: int

    @classmethod
    def decode(cls, key: bytes) -> RecordingPositionKey | None:
        """The parts of a key, None when the lengths that it states do not fit."""
        if len(key) < _HEAD.size + _ARCHIVE_ID.size:
            return None
        recording_id, session_id, length = _HEAD.unpack_from(key)
        end = _HEAD.size + length
        if length < 0 or end + _ARCHIVE_ID.size > len(key):
            return None
        (archive_id,) = _ARCHIVE_ID.unpack_from(key, end)
        source = key[_HEAD.size : end].decode("ascii", "replace")
        return cls(recording_id, session_id, source, archive_id)


def _positions(counters: Counters) -> Iterator[tuple[CounterInfo, RecordingPositionKey]]:
    for counter in counters.infos():
        if counter.type_id == ArchiveCounterType.RECORDING_POSITION:
            key = RecordingPositionKey.decode(counter.key)
            if key is not None:
                yield counter, key


def find_by_recording(
    counters: Counters, recording_id: int, archive_id: int = ANY_ARCHIVE
) -> int | None:
    """The id of an active recording's position counter, None when there is none.

    Args:
        counters: the counters of the archive's driver.
        recording_id: the recording to look for.
        archive_id: the archive to look for, where several share a driver; -1 matches any.
    """
    for counter, key in _positions(counters):
        if key.recording_id == recording_id and archive_id in {ANY_ARCHIVE, key.archive_id}:
            return counter.counter_id
    return None


def find_by_session(
    counters: Counters, session_id: int, archive_id: int = ANY_ARCHIVE
) -> int | None:
    """As find_by_recording, but finds the recording by the session that it records."""
    for counter, key in _positions(counters):
        if key.session_id == session_id and archive_id in {ANY_ARCHIVE, key.archive_id}:
            return counter.counter_id
    return None


def recording_begun(conversation: Conversation, session_id: int) -> Steps[RecordingPosition]:
    """Wait until the archive records a session, as the last request asked it to.

    Args:
        conversation: the session with an archive of this client's driver.
        session_id: the session of the publication that is recorded.

    Raises:
        ArchiveError: the archive could not begin the recording.
        AeronTimeoutError: no recording has begun within the message timeout.
    """
    session, counters = conversation.usable(), conversation.aeron.counters
    request_id = session.last_correlation_id
    deadline_ns = conversation.deadline_ns(conversation.options.message_timeout)
    while True:
        for info, key in _positions(counters):
            view = counters.get(info.counter_id)
            if view is None or view.registration_id != info.registration_id:
                continue  # freed since
            is_archives = session.archive_id in {ANY_ARCHIVE, key.archive_id}
            if is_archives and key.session_id == session_id:
                return RecordingPosition(view, key.recording_id, conversation.clock)
        error = conversation.take_error(request_id)
        if error is not None:
            raise error
        if conversation.is_late(deadline_ns):
            raise AeronTimeoutError(
                f"session {session_id} is not recorded {conversation.options.message_timeout:g} s"
                " after the archive has agreed to it"
            )
        yield conversation.pump()


class RecordingPosition:
    """The position of one active recording, read from its counter.

    Attributes:
        counter: the counter, which the archive frees when the recording ends.
        recording_id: the id that the counter's key must name while the recording is active.
    """

    def __init__(
        self,
        counter: CounterView,
        recording_id: int,
        clock: Clock | None = None,
        idle: Callable[[int], object] | None = None,
    ) -> None:
        """Make the position.

        Args:
            counter: the recording's position counter.
            recording_id: the recording.
            clock: measures timeouts, the system's by default.
            idle: called with a work count of 0 while waiting; a back-off by default.
        """
        self.counter = counter
        self.recording_id = recording_id
        self._clock = SystemClock() if clock is None else clock
        self._idle = waiting_backoff() if idle is None else idle

    @property
    def key(self) -> RecordingPositionKey | None:
        """The counter's key, None once the counter is used for something else."""
        if (
            not self.counter.is_active
            or self.counter.type_id != ArchiveCounterType.RECORDING_POSITION
        ):
            return None
        return RecordingPositionKey.decode(self.counter.key)

    @property
    def is_active(self) -> bool:
        """Whether the recording goes on."""
        key = self.key
        return key is not None and key.recording_id == self.recording_id

    @property
    def value(self) -> int:
        """Bytes of the stream that are recorded.

        Raises:
            ResourceClosedError: the recording has ended.
        """
        position = self.counter.value
        if not self.is_active:  # checked after the value was read, since counters are reused
            raise ResourceClosedError(f"recording {self.recording_id} is not active any more")
        return position

    def wait(self, position: int, timeout: float | None = None) -> int:
        """Wait until everything up to a position is recorded; the position reached.

        Raises:
            AeronTimeoutError: the position was not recorded within ``timeout`` seconds.
            ResourceClosedError: the recording has ended.
        """
        deadline_ns = None if timeout is None else self._clock.now_ns() + round(timeout * NS_PER_S)
        while (reached := self.value) < position:
            if deadline_ns is not None and self._clock.now_ns() > deadline_ns:
                raise AeronTimeoutError(
                    f"recording {self.recording_id} is at {reached}, not at {position}, "
                    f"after {timeout:g} s"
                )
            self._idle(0)
        return reached

    def __repr__(self) -> str:
        return f"<RecordingPosition recording_id={self.recording_id} counter={self.counter!r}>"
