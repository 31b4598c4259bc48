"""Times of rows: their form in options, their sources, and the rows that a range selects.

A row's time comes from the time index of its recording, which the archive keeps beside the
segments. Rows of a recording without an index have no times, and then a range of time selects whole
recordings by the start and stop times of their descriptors. In place of the index, timestamps can
be used that a channel writes into messages (``channel-rcv-ts-offset`` and the like).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from aerolog.archive.format.layout import NULL_TIMESTAMP
from aerolog.transport.config.times import datetime_ns
from aerolog.transport.config.values import INT64_MAX, INT64_MIN
from aerolog.transport.errors import AerologError, AerologWarning, ConfigurationError
from aerolog.transport.time_units import NS_PER_US
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from datetime import datetime

    from aerolog.archive.format.descriptor import RecordingDescriptor

    Time = int | datetime

_US_PER_MS: Final = 1000
_RESERVED: Final = "reserved"
_RESERVED_OFFSET: Final = -8
_OFFSET_MAX: Final = 1 << 30
_NUMBER: Final = re.compile(r"[0-9]{1,10}", re.ASCII)
#: The parameters of a channel that give an offset for timestamps, the most useful one first.
_PARAMETERS: Final = ("channel-rcv-ts-offset", "media-rcv-ts-offset", "channel-snd-ts-offset")


class MissingTimesWarning(AerologWarning):
    """Rows were asked for with their times, and their recording has no time index to read them in.

    The text names the recording, and says what to do.
    """


@dataclass(frozen=True, slots=True)
class TimeSource:
    """The source of rows' times.

    Attributes:
        kind: ``index``: the recording's time index. ``channel``: the offset at which the
            recording's channel writes timestamps, see `of`. ``reserved``: the reserved value of a
            message's first frame. ``payload``: an offset in the message. ``none``: rows have no
            times.
        offset: the offset of the timestamp in the message, for ``payload``.
    """

    kind: Literal["index", "channel", "reserved", "payload", "none"] = "index"
    offset: int = 0

    @classmethod
    def parse(cls, text: str | TimeSource) -> TimeSource:
        """Parse ``index``, ``channel``, ``reserved``, ``none``, or a byte offset in the message.

        Raises:
            ConfigurationError: the text is none of these.
        """
        if isinstance(text, TimeSource):
            return text
        word = text.strip().lower()
        if _NUMBER.fullmatch(word) and int(word) <= _OFFSET_MAX:
            return cls("payload", int(word))
        for kind in ("index", "channel", "reserved", "none"):
            if word == kind:
                return cls(kind)
        raise ConfigurationError(
            f"{text!r} is no source of times: index, channel, reserved, none, or the offset of a"
            " timestamp in the message"
        )

    def of(self, descriptor: RecordingDescriptor) -> TimeSource:
        """The source for one recording: ``channel`` becomes the channel's own source, or ``none``.

        When a channel gives several offsets, the receiver's comes before the sender's.
        """
        if self.kind != "channel":
            return self
        try:
            channel = ChannelUri.parse(descriptor.original_channel)
        except AerologError:
            return NO_TIMES
        for name in _PARAMETERS:
            text = channel.get(name)
            if text in {_RESERVED, str(_RESERVED_OFFSET)}:
                return TimeSource("reserved")
            if text is not None and _NUMBER.fullmatch(text):
                return TimeSource("payload", int(text))
        return NO_TIMES

    def __str__(self) -> str:
        return str(self.offset) if self.kind == "payload" else self.kind


FROM_INDEX: Final = TimeSource()
NO_TIMES: Final = TimeSource("none")


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range of the column ``record_time``.

    Attributes:
        since_us: inclusive lower bound, epoch microseconds; None for no bound.
        until_us: exclusive upper bound, epoch microseconds; None for no bound.
    """

    since_us: int | None = None
    until_us: int | None = None

    @classmethod
    def of(cls, since: Time | None, until: Time | None) -> TimeRange:
        """Make a range from epoch milliseconds or datetimes; one without a zone is UTC."""
        return cls(
            None if since is None else epoch_us(since), None if until is None else epoch_us(until)
        )

    @classmethod
    def of_ns(cls, since_ns: int | None, until_ns: int | None) -> TimeRange:
        """Make a range from epoch nanoseconds, which are rounded up to microseconds."""
        return cls(
            None if since_ns is None else -(-since_ns // NS_PER_US),
            None if until_ns is None else -(-until_ns // NS_PER_US),
        )

    def __bool__(self) -> bool:
        """Whether the range has a bound."""
        return self.since_us is not None or self.until_us is not None

    def __and__(self, other: TimeRange) -> TimeRange:
        """The intersection of both ranges."""
        since = [one for one in (self.since_us, other.since_us) if one is not None]
        until = [one for one in (self.until_us, other.until_us) if one is not None]
        return TimeRange(max(since, default=None), min(until, default=None))

    @property
    def since_ns(self) -> int | None:
        """The lower bound in epoch nanoseconds."""
        return None if self.since_us is None else self.since_us * NS_PER_US

    @property
    def until_ns(self) -> int | None:
        """The upper bound in epoch nanoseconds."""
        return None if self.until_us is None else self.until_us * NS_PER_US

    def overlaps(self, descriptor: RecordingDescriptor) -> bool:
        """Whether a recording was active in the range, by the times of its descriptor."""
        stopped = descriptor.stop_timestamp
        # The recording stopped somewhere in that millisecond.
        ended = None if stopped == NULL_TIMESTAMP else (stopped + 1) * _US_PER_MS
        if self.since_us is not None and ended is not None and ended <= self.since_us:
            return False
        return self.until_us is None or descriptor.start_timestamp * _US_PER_MS < self.until_us


ANY_TIME: Final = TimeRange()


def epoch_us(time: Time) -> int:
    """Convert a time to UTC epoch microseconds.

    Args:
        time: epoch milliseconds, or a datetime; one without a zone is UTC.
    """
    return time * _US_PER_MS if isinstance(time, int) else datetime_ns(time) // NS_PER_US


def epoch_ms(time: Time) -> int:
    """Convert a time to UTC epoch milliseconds, rounded down.

    Args:
        time: epoch milliseconds, or a datetime; one without a zone is UTC.
    """
    return time if isinstance(time, int) else epoch_us(time) // _US_PER_MS


def is_within(descriptor: RecordingDescriptor, since: Time | None, until: Time | None) -> bool:
    """Whether a recording was active at some time from ``since`` on and before ``until``.

    Args:
        descriptor: the recording's descriptor; an active recording has no end yet.
        since: the inclusive lower bound, epoch milliseconds or a datetime; one without a zone is
            UTC. None for no bound.
        until: the exclusive upper bound, in the same forms.
    """
    return TimeRange.of(since, until).overlaps(descriptor)


def bounded(time: int) -> int:
    """The time itself, or the int64 that is nearest to it."""
    return min(max(time, INT64_MIN), INT64_MAX)
