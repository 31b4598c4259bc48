"""An archive client in memory, which answers what a test tells it to."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.protocol import RecordingSignalEvent
from aerolog.transport.errors import ArchiveError

if TYPE_CHECKING:
    from aerolog.archive.client import RecordingSignal

TERM = 64 * 1024
SEGMENT = 128 * 1024


def descriptor(recording_id: int, **fields: Any) -> RecordingDescriptor:
    """A recording from 0 to 4096 of aeron:ipc, stream 1001."""
    known = {
        "start_timestamp": 0,
        "start_position": 0,
        "stop_position": 4096,
        "initial_term_id": 7,
        "segment_file_length": SEGMENT,
        "term_buffer_length": TERM,
        "mtu_length": 1408,
        "session_id": 99,
        "stream_id": 1001,
        "stripped_channel": "aeron:ipc",
        "original_channel": "aeron:ipc",
        "source_identity": "aeron:ipc",
    }
    return RecordingDescriptor(recording_id=recording_id, **(known | fields))


def signal(
    kind: RecordingSignal, correlation_id: int, recording_id: int = 3, position: int = -1
) -> RecordingSignalEvent:
    """A signal as an archive sends it."""
    return RecordingSignalEvent(
        control_session_id=1,
        correlation_id=correlation_id,
        recording_id=recording_id,
        subscription_id=-1,
        position=position,
        signal=kind,
    )


@dataclass
class FakeAeron:
    """A transport client that is there."""

    closed: bool = False
    close_reason: BaseException | None = None


@dataclass
class FakeOptions:
    """Of the archive client."""

    message_timeout: float = 0.05


@dataclass
class FakeArchive:
    """Signals come one batch a poll; an exception among them is an error that nobody waits for.

    Attributes:
        script: what the next polls bring: lists of signals and errors.
        positions: recording positions by recording id, None when not active.
        stops: stop positions by recording id.
        calls: what was asked for.
    """

    script: deque[list[Any]] = field(default_factory=deque)
    positions: dict[int, int | None] = field(default_factory=dict)
    stops: dict[int, int | None] = field(default_factory=dict)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    answers: deque[Any] = field(default_factory=deque)
    is_disconnected: bool = False
    aeron: FakeAeron = field(default_factory=FakeAeron)
    options: FakeOptions = field(default_factory=FakeOptions)
    last_correlation_id: int = 42
    known: list[RecordingDescriptor] = field(default_factory=list)
    _errors: deque[BaseException] = field(default_factory=deque)

    def poll_signals(self) -> list[Any]:
        """What the script has next."""
        batch = self.script.popleft() if self.script else []
        self._errors.extend(one for one in batch if isinstance(one, BaseException))
        return [one for one in batch if not isinstance(one, BaseException)]

    def check_for_error(self) -> None:
        """Raises the oldest error."""
        if self._errors:
            raise self._errors.popleft()

    def recording_position(self, recording_id: int) -> int | None:
        """As told."""
        return self.positions.get(recording_id)

    def max_recorded_position(self, recording_id: int) -> int | None:
        """As told."""
        position = self.positions.get(recording_id)
        return self.stops.get(recording_id) if position is None else position

    def stop_position(self, recording_id: int) -> int | None:
        """As told."""
        return self.stops.get(recording_id)

    def recordings(self, *, stream_id: int | None = None) -> list[RecordingDescriptor]:
        """Those known."""
        return [one for one in self.known if stream_id in {None, one.stream_id}]

    def try_stop_replication(self, replication_id: int) -> bool:
        """Noted."""
        self.calls.append(("try_stop_replication", replication_id))
        return True

    def start_replay(self, recording_id: int, *where: Any, position: int) -> int:
        """Noted; raises when the answer is an error."""
        self.calls.append(("start_replay", recording_id, position))
        answer = self.answers.popleft() if self.answers else 17
        if isinstance(answer, ArchiveError):
            raise answer
        return int(answer)

    def stop_replay(self, replay_session_id: int) -> None:
        """Noted."""
        self.calls.append(("stop_replay", replay_session_id))
