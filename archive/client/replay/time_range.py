"""The part of a recording that is replayed by time: as it was asked for, and as positions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aerolog.archive.time_index import SOURCE_DESCRIPTOR, epoch_ns
from aerolog.transport.config.times import format_time
from aerolog.transport.config.values import INT64_MIN
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from datetime import datetime

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.time_index import TimeIndex

#: A message has at most an eighth of a term (spec log-buffers 6); headers may double its size.
_LONGEST: Final = 4
#: How far an archive's clock and its replay may be behind this process.
_CLOCKS_DIFFER_NS: Final = NS_PER_S


def instant_ns(instant: int | datetime | None) -> int | None:
    """A point in time as nanoseconds since the epoch; a datetime without a zone is UTC."""
    return None if instant is None else epoch_ns(instant)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for of a recording, or of several.

    Attributes:
        start_ns: time of the first message, None for no bound.
        end_ns: time behind the last message, None for no bound.
        position: the position of the first message, in place of a time.
        length: how many bytes to replay from there.
        follow: go on with a live recording.
        last_ns: the nanoseconds before the end at which to start, in place of a start.
    """

    start_ns: int | None = None
    end_ns: int | None = None
    position: int | None = None
    length: int | None = None
    follow: bool = False
    last_ns: int | None = None

    def __post_init__(self) -> None:
        if self.position is not None and self.start_ns is not None:
            raise ConfigurationError(
                f"a replay begins at a position or at a time: position {self.position}, "
                f"time {format_time(self.start_ns)}"
            )
        if self.last_ns is not None and (self.position, self.start_ns) != (None, None):
            raise ConfigurationError(
                "a replay of the last part of a recording has no other start: no time, no position"
            )
        if self.last_ns is not None and self.last_ns <= 0:
            raise ConfigurationError(f"the last part must be more than 0: {self.last_ns} ns")
        if self.length is not None and self.end_ns is not None:
            raise ConfigurationError(
                f"a replay ends after a length or at a time: length {self.length}, "
                f"time {format_time(self.end_ns)}"
            )
        if self.length is not None and self.length <= 0:
            raise ConfigurationError(f"length must be more than 0: {self.length}")
        if self.start_ns is not None and self.end_ns is not None and self.start_ns >= self.end_ns:
            raise ConfigurationError(
                f"nothing lies between {format_time(self.start_ns)} and {format_time(self.end_ns)}"
            )

    def before(self, end_ns: int) -> Wanted:
        """The same range with a start time computed from ``last_ns``.

        Args:
            end_ns: time of the end of what is recorded.
        """
        if self.last_ns is None:
            return self
        end = end_ns if self.end_ns is None else self.end_ns
        return replace(self, start_ns=max(end - self.last_ns, INT64_MIN), last_ns=None)

    def clipped(self, first: int, recorded: int) -> tuple[int, int | None]:
        """First position, and the end that the length gives.

        Raises:
            ConfigurationError: the position lies outside the recording.
        """
        start = first if self.position is None else self.position
        if not first <= start <= recorded:
            raise ConfigurationError(
                f"position {start} is outside the recording, which has {first} to {recorded}"
            )
        return start, None if self.length is None else start + self.length


@dataclass(frozen=True, slots=True)
class TimedRange:
    """The part of a recording that is replayed.

    Attributes:
        descriptor: the descriptor of the recording.
        start_position: the position of the first frame.
        end_position: messages that begin at or behind it are left out; None to follow a live
            recording.
        recorded_position: the position up to which is recorded.
        start_ns: messages before it are left out, None for no bound.
        end_ns: messages at or after it are left out, None for no bound.
        has_length: whether the end is that of a length, which may lie within a frame.
    """

    descriptor: RecordingDescriptor
    start_position: int
    end_position: int | None
    recorded_position: int
    start_ns: int | None = None
    end_ns: int | None = None
    has_length: bool = False

    @property
    def recording_id(self) -> int:
        """Id of the recording."""
        return self.descriptor.recording_id

    @property
    def length(self) -> int | None:
        """Bytes from start to end, None to follow a live recording."""
        return None if self.end_position is None else self.end_position - self.start_position

    @property
    def is_bounded(self) -> bool:
        """Whether the range has a bound in time."""
        return (self.start_ns, self.end_ns) != (None, None)

    @property
    def emptiness(self) -> str:
        """A sentence for a range without messages: what it is, and when something was recorded."""
        bounds = [
            f"{word} {format_time(bound)}"
            for word, bound in (("from", self.start_ns), ("until", self.end_ns))
            if bound is not None
        ]
        return (
            f"recording {self.recording_id} has no message {' '.join(bounds) or 'there'}; "
            f"it was recorded {_recorded(self.descriptor)}"
        )

    def is_past(self, now_ns: int) -> bool:
        """Whether nothing that is recorded from now on lies within the range.

        Args:
            now_ns: the time now, by a clock that may differ a little from the archive's.
        """
        return self.end_ns is not None and now_ns > self.end_ns + _CLOCKS_DIFFER_NS

    @property
    def read_until(self) -> int | None:
        """The position up to which to read: a message may begin in the range and end behind it."""
        if self.end_position is None or self.end_ns is None:
            return self.end_position
        more = self.descriptor.term_buffer_length // _LONGEST
        return min(self.end_position + more, max(self.end_position, self.recorded_position))

    @classmethod
    def of(
        cls,
        descriptor: RecordingDescriptor,
        wanted: Wanted,
        recorded: int,
        bounds: tuple[int | None, int | None],
        *,
        follow: bool = False,
    ) -> TimedRange:
        """Compute which part of a recording is wanted.

        Args:
            descriptor: the descriptor of the recording.
            wanted: what was asked for.
            recorded: the position up to which is recorded.
            bounds: the positions of the wanted times.
            follow: whether to go on with the live recording.

        Raises:
            ConfigurationError: a position outside the recording.
        """
        first = descriptor.start_position
        start, end = wanted.clipped(first, recorded)
        if bounds[0] is not None:
            start = min(max(first, bounds[0]), recorded)
            end = None if wanted.length is None else start + wanted.length
        if bounds[1] is not None and not follow:
            end = max(start, bounds[1])
        if not follow:
            end = recorded if end is None else min(end, recorded)
        has_length = wanted.length is not None
        return cls(descriptor, start, end, recorded, wanted.start_ns, wanted.end_ns, has_length)


def bounds_of(index: TimeIndex, wanted: Wanted) -> tuple[int | None, int | None]:
    """Where the wanted times lie."""
    return (
        None if wanted.start_ns is None else index.position_at(wanted.start_ns),
        None if wanted.end_ns is None else index.end_position_at(wanted.end_ns),
    )


def is_exact(index: TimeIndex) -> bool:
    """Whether an index was written while recording: its times leave nothing to guess."""
    return index.source != SOURCE_DESCRIPTOR and not index.is_rebuilt and not index.problems


def notes_of(index: TimeIndex, descriptor: RecordingDescriptor) -> tuple[str, ...]:
    """Notes on how exact the times of a recording are, a line each."""
    recording_id = descriptor.recording_id
    notes = []
    if index.source == SOURCE_DESCRIPTOR:
        notes.append(
            f"recording {recording_id} has no time index, only the times at which it began and "
            f"ended ({_span(descriptor)}): whatever may lie in the range is replayed, "
            "and the times of its messages are spread evenly"
        )
    elif index.is_rebuilt:
        notes.append(
            f"the time index of recording {recording_id} was made after it was recorded: whatever "
            "may lie in the range is replayed, and the times of its messages are estimates"
        )
    notes += [f"time index of recording {recording_id}: {problem}" for problem in index.problems]
    if index.clock_steps_back:
        notes.append(
            f"the clock of recording {recording_id} went back {index.clock_steps_back} times: "
            "messages keep their order, and a step back takes no time"
        )
    return tuple(notes)


def _recorded(descriptor: RecordingDescriptor) -> str:
    start = format_time(descriptor.start_timestamp * NS_PER_MS)
    if descriptor.stop_timestamp < 0:
        return f"from {start} on"
    return f"from {start} to {format_time(descriptor.stop_timestamp * NS_PER_MS)}"


def _span(descriptor: RecordingDescriptor) -> str:
    start = format_time(descriptor.start_timestamp * NS_PER_MS)
    if descriptor.stop_timestamp < 0:
        return f"{start}, no end"
    return f"{start} to {format_time(descriptor.stop_timestamp * NS_PER_MS)}"
