"""Policies: which recordings, and how much of them is kept.

A policy chooses recordings by patterns of channel and stream and by label, and limits them. What
any limit lets go goes, but for what another policy keeps: ``keep`` and ``min_age`` win. A policy
that chooses every recording has to say so (``everything``), so that none does by a slip.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aerolog.archive.retention.facts import RecordingFacts

#: Limits by which something goes.
LIMITS: Final = (
    "max_age_ns",
    "max_size",
    "max_stream_size",
    "max_total_size",
    "max_count",
    "free_low",
)
_ANY_CHANNEL: Final = frozenset({"*", "**"})


@dataclass(frozen=True, slots=True)
class StreamRange:
    """Stream ids from the first to the last, both among them."""

    first: int
    last: int

    def __contains__(self, stream_id: int) -> bool:
        return self.first <= stream_id <= self.last


@dataclass(frozen=True, slots=True)
class Space:
    """An amount of room: bytes, or a part of the file system."""

    bytes: int = 0
    part: float | None = None

    def of(self, total_bytes: int) -> int:
        """Bytes of it on a file system of that size."""
        return self.bytes if self.part is None else int(self.part * total_bytes)

    def __str__(self) -> str:
        return f"{self.bytes} bytes" if self.part is None else f"{self.part * 100:g}%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy. What is None, or empty, is not asked for.

    Attributes:
        name: for people; each policy has its own.
        source: the file, or what else it came from.
        line: of the file, None where there is none.
        channels: patterns as a shell has them (``*``, ``?``, ``[...]``), of the channel that the
            recording was made with or of its stripped one; one of them has to match.
        streams: one of them has to hold the stream's id.
        labels: key -> value of the SQL catalog, None for any value; all of them have to match.
        everything: the policy means every recording.
        max_age_ns: what is older goes.
        min_age_ns: what is younger stays, whatever another policy says.
        max_size: of a recording, bytes of segment files.
        max_stream_size: of all recordings of a stream.
        max_total_size: of all recordings that the policy chooses.
        max_count: of recordings of a stream.
        free_low: with less room on the file system, the oldest goes...
        free_high: ... until there is that much.
        keep: nothing of these recordings goes.
        whole_recordings: whether a recording may go with its last segment and its id.
    """

    name: str
    source: str = "options"
    line: int | None = None
    channels: tuple[str, ...] = ()
    streams: tuple[StreamRange, ...] = ()
    labels: Mapping[str, str | None] = field(default_factory=dict)
    everything: bool = False
    max_age_ns: int | None = None
    min_age_ns: int | None = None
    max_size: int | None = None
    max_stream_size: int | None = None
    max_total_size: int | None = None
    max_count: int | None = None
    free_low: Space | None = None
    free_high: Space | None = None
    keep: bool = False
    whole_recordings: bool = True

    @property
    def limits(self) -> tuple[str, ...]:
        """Names of the limits by which something goes."""
        return tuple(name for name in LIMITS if getattr(self, name) is not None)

    @property
    def chooses(self) -> bool:
        """Whether it leaves out any recording."""
        some_channels = bool(self.channels) and not _ANY_CHANNEL.intersection(self.channels)
        return some_channels or bool(self.streams) or bool(self.labels)

    @property
    def selector(self) -> tuple[object, ...]:
        """What two policies have in common that choose the same in the same words."""
        labels = tuple(sorted(self.labels.items(), key=str))
        return (self.channels, self.streams, labels)

    def matches(self, recording: RecordingFacts) -> bool:
        """Whether it is about a recording."""
        if self.channels and not any(
            fnmatchcase(channel, pattern)
            for channel in (recording.channel, recording.stripped_channel)
            for pattern in self.channels
        ):
            return False
        if self.streams and not any(recording.stream_id in streams for streams in self.streams):
            return False
        return all(
            key in recording.labels and value in (None, recording.labels[key])
            for key, value in self.labels.items()
        )


@dataclass(frozen=True, slots=True)
class Policies:
    """Policies that hold together, in the order in which they were given."""

    policies: tuple[Policy, ...]

    def __iter__(self) -> Iterator[Policy]:
        return iter(self.policies)

    def __len__(self) -> int:
        return len(self.policies)

    @property
    def asks_for_labels(self) -> bool:
        """Whether one chooses by label, so that the SQL catalog is needed."""
        return any(policy.labels for policy in self)


POLICY_FIELDS: Final = frozenset(one.name for one in fields(Policy))
