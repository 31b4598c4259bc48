"""What `aerolog replay` does with a recording: to messages, or onto a channel for others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aerolog.tools.connection.idle import sleeping_idle
from aerolog.tools.connection.liveness import Watch
from aerolog.tools.messages.subscription_output import follow, recorded_payload_of
from aerolog.tools.recordings.recording_rows import known_recording
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.counters.counter_types import STREAM_KEY, CounterType
from aerolog.transport.errors import AeronTimeoutError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.tools.messages.message_output import MessageWriter
    from aerolog.transport.client import Aeron

#: What tells of a replay on this driver, the best first.
_POSITION_TYPES: Final = (CounterType.PUBLISHER_POSITION, CounterType.RECEIVER_POSITION)
_APPEAR_TIMEOUT_S: Final = 5.0
_FOLDER_BATCH: Final = 256


@dataclass(frozen=True, slots=True)
class Range:
    """The part of a recording to replay.

    Attributes:
        start: position of the first frame.
        end: position after the last one, None to follow a live recording.
        ends_with_recording: whether that is the end of what is recorded.
    """

    descriptor: RecordingDescriptor
    start: int
    end: int | None
    ends_with_recording: bool = False

    @property
    def length(self) -> int | None:
        """Bytes from start to end."""
        return None if self.end is None else self.end - self.start


def range_of(
    descriptor: RecordingDescriptor,
    recorded_position: int,
    position: int | None,
    length: int | None,
    *,
    follow_live: bool = False,
) -> Range:
    """The range that was asked for, within what is recorded.

    Raises:
        ConfigurationError: the position lies outside the recording.
    """
    first = descriptor.start_position
    start = first if position is None else position
    if not first <= start <= recorded_position:
        raise ConfigurationError(
            f"position {start} is outside the recording, which has {first} to {recorded_position}"
        )
    wanted = None if length is None else start + length
    if follow_live:
        return Range(descriptor, start, wanted)
    if wanted is None or wanted >= recorded_position:
        return Range(descriptor, start, recorded_position, ends_with_recording=True)
    return Range(descriptor, start, wanted)


def range_in_archive(
    archive: AeronArchive,
    recording_id: int,
    position: int | None,
    length: int | None,
    *,
    follow_live: bool,
) -> Range:
    """The range to replay of a recording in a running archive.

    Raises:
        ArchiveError: there is no such recording.
        ConfigurationError: the position lies outside the recording.
    """
    descriptor = known_recording(archive, recording_id)
    recorded = archive.max_recorded_position(recording_id)
    active = archive.recording_position(recording_id) is not None
    return range_of(
        descriptor,
        descriptor.start_position if recorded is None else recorded,
        position,
        length,
        follow_live=follow_live and active,
    )


def print_replay(
    archive: AeronArchive,
    part: Range,
    writer: MessageWriter,
    on_position: Callable[[int], object],
    *,
    count: int | None = None,
) -> None:
    """Prints a range of a recording that the archive replays, or as many messages as asked for.

    Raises:
        AerologError: the replay ended before the range did, or the driver or archive is gone.
    """
    if part.length == 0:
        return
    watch = Watch(archive.aeron, archive)
    with archive.replay(
        part.descriptor.recording_id, part.start, part.length, follow=part.end is None
    ) as subscription:
        reached = follow(
            subscription,
            writer,
            count=count,
            until_position=part.end,
            until_end=True,
            on_batch=lambda: on_position(writer.written.position or part.start),
            watch=watch,
        )
    watch()
    if count is not None and writer.written.messages >= count:
        return
    if part.end is None:
        _check_followed(archive, part.descriptor.recording_id, reached)
    check_complete(part, reached)


def _check_followed(archive: AeronArchive, recording_id: int, reached: int) -> None:
    """Raises when a live recording goes on without the replay that followed it."""
    stopped_at = archive.stop_position(recording_id)
    if stopped_at is None or reached < stopped_at:
        raise AeronTimeoutError(f"the replay ended at position {reached}, before its recording")


def check_complete(part: Range, reached: int) -> None:
    """Raises when a replay ended early.

    A length of one's own may end within a frame: then the last whole frame before it is the end.

    Raises:
        AeronTimeoutError: the replay ended too early.
    """
    if part.end is not None and reached < part.end and part.ends_with_recording:
        raise AeronTimeoutError(f"the replay ended at position {reached}, before {part.end}")


def print_folder(
    recording: Recording,
    part: Range,
    writer: MessageWriter,
    on_position: Callable[[int], object],
) -> None:
    """Prints a range of a recording of a folder.

    Raises:
        ConfigurationError: no message begins at the position.
    """
    try:
        for batch in _batched(
            recording.messages(from_position=part.start, until_position=part.end)
        ):
            writer.write(batch, recorded_payload_of)
            on_position(batch[-1].position)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


class ReplayPosition:
    """What this driver shows of a replay that goes onto a channel."""

    def __init__(self, aeron: Aeron, session_id: int, stream_id: int) -> None:
        """Look for one.

        Args:
            aeron: client of the driver.
            session_id: the session id of the replay's publication.
            stream_id: the stream to which the replay goes.
        """
        self._aeron = aeron
        self._session_id = session_id
        self._stream_id = stream_id
        self.position: int | None = None
        self.appeared = False

    def look(self) -> bool:
        """Look again; True when the replay has come and gone.

        It sets ``position``, of the publication or of its image here, None while nothing is seen.
        """
        self.position = _position_here(self._aeron, self._session_id, self._stream_id)
        self.appeared = self.appeared or self.position is not None
        return self.appeared and self.position is None


def wait_replayed(
    archive: AeronArchive,
    session_id: int,
    stream_id: int,
    on_position: Callable[[int], object],
    *,
    on_unseen: Callable[[], float],
) -> bool:
    """Waits for a replay to come and to go, as far as this driver sees it.

    The archive ends a replay with the session that asked for it: to return too early cuts it.

    Args:
        archive: the archive that replays.
        session_id: the session id of the replay's publication.
        stream_id: the stream to which the replay goes.
        on_position: called with the position of its publication, or of its image here.
        on_unseen: called once when neither has shown in a few seconds; says for how many seconds
            more to wait.

    Returns:
        False when it never showed.

    Raises:
        AerologError: the driver or the archive is gone.
    """
    watch = Watch(archive.aeron, archive)
    idle = sleeping_idle()
    shown = ReplayPosition(archive.aeron, session_id, stream_id)
    told = False
    deadline = Deadline(_APPEAR_TIMEOUT_S)
    while True:
        watch()
        late = deadline.is_over
        if shown.look():
            return True
        if shown.position is not None:
            on_position(shown.position)
        elif late and told:
            return False
        elif late:
            told = True
            deadline = Deadline(on_unseen())
        idle(0)


def _position_here(aeron: Aeron, session_id: int, stream_id: int) -> int | None:
    """Position of a session's publication on this driver, or else of its image."""
    found: dict[int, int] = {}
    for counter in aeron.counters.infos():
        if counter.type_id in _POSITION_TYPES and len(counter.key) >= STREAM_KEY.numbers.size:
            _, session, stream, _ = STREAM_KEY.numbers.unpack_from(counter.key)
            if (session, stream) == (session_id, stream_id):
                found[counter.type_id] = int(counter.value)
    return next((found[kind] for kind in _POSITION_TYPES if kind in found), None)


def _batched(messages: Iterator[Any]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for message in messages:
        batch.append(message)
        if len(batch) == _FOLDER_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
