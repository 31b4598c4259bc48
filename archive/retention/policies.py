"""Policies: which recordings they choose, and how much of them is kept.

A policy chooses recordings by patterns of channel and stream and by labels, and limits them. Any
limit may delete data, but ``keep`` and ``min_age`` of another policy take precedence. A policy that
chooses every recording must say so with ``everything``, so that none does by mistake.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from aerolog.archive.retention.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from aerolog.archive.retention.facts import RecordingFacts


def checked(policies: Sequence[Policy]) -> Policies:
    """Return the policies after checking that they are consistent.

    Raises:
        PolicyError: a policy contradicts itself or another one, chooses everything without saying
            so, or does nothing; or two policies have the same name.
    """
    names: dict[str, Policy] = {}
    for policy in policies:
        if policy.name in names:
            raise _wrong(policy, f"a second policy {policy.name!r}: give it another name")
        names[policy.name] = policy
        _check_one(policy)
    for at, one in enumerate(policies):
        if one.keep and one.everything and len(policies) > 1:
            raise _wrong(one, "it keeps everything, which contradicts every other policy")
        for other in policies[:at]:
            if one.selector == other.selector:
                _check_pair(other, one)
    return Policies(tuple(policies))


def _check_one(policy: Policy) -> None:
    if policy.keep:
        if policy.limits:
            raise _wrong(
                policy,
                f"keep contradicts {_shown(policy.limits[0])}: a policy keeps all of its recordings"
                " or limits them",
            )
    elif not policy.limits and policy.min_age_ns is None:
        raise _wrong(
            policy,
            "it limits nothing: add max_age, max_size, max_stream_size, max_total_size, max_count,"
            " free_low or keep",
        )
    if (policy.limits or policy.keep) and not policy.chooses and not policy.everything:
        raise _wrong(
            policy,
            "it chooses every recording: add channel, stream or label, or everything = true when"
            " that is meant",
        )
    if policy.everything and policy.chooses:
        raise _wrong(policy, "everything = true contradicts channel, stream or label: leave one")
    if policy.max_count is not None and not policy.whole_recordings:
        raise _wrong(policy, "max_count contradicts whole_recordings = false: it counts them")
    if policy.max_age_ns is not None and policy.min_age_ns is not None:
        _check_ages(policy, policy)
    if (policy.free_low is None) != (policy.free_high is None):
        raise _wrong(policy, "free_low and free_high belong together")
    low, high = policy.free_low, policy.free_high
    if low is not None and high is not None:
        same_kind = (low.part is None) == (high.part is None)
        if not same_kind:
            raise _wrong(policy, "free_low and free_high are both bytes, or both parts (10%)")
        if (low.part or low.bytes) > (high.part or high.bytes):
            raise _wrong(policy, f"free_low {low} is above free_high {high}: exchange them")


def _check_pair(first: Policy, second: Policy) -> None:
    """Check two policies that choose the same recordings by the same selector."""
    if first.keep != second.keep and (first.limits or second.limits):
        raise _wrong(
            second, f"it contradicts {first.name!r}, which chooses the same: one of them keeps all"
        )
    for one, other in ((first, second), (second, first)):
        if one.max_age_ns is not None and other.min_age_ns is not None:
            _check_ages(one, other, at=second)


def _check_ages(limit: Policy, floor: Policy, at: Policy | None = None) -> None:
    assert limit.max_age_ns is not None
    assert floor.min_age_ns is not None
    if limit.max_age_ns < floor.min_age_ns:
        whose = "" if limit is floor else f" ({limit.name!r} and {floor.name!r})"
        raise _wrong(
            at or limit,
            f"max_age is below min_age{whose}: nothing can be older than the one and younger"
            " than the other",
        )


def _shown(name: str) -> str:
    return name.removesuffix("_ns")


def _wrong(policy: Policy, text: str) -> PolicyError:
    return PolicyError(f"policy {policy.name!r}: {text}", source=policy.source, line=policy.line)


#: Limits that delete data.
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
    """A range of stream ids, both ends included."""

    first: int
    last: int

    def __contains__(self, stream_id: int) -> bool:
        return self.first <= stream_id <= self.last


@dataclass(frozen=True, slots=True)
class Space:
    """An amount of space, in bytes or as a part of the file system."""

    bytes: int = 0
    part: float | None = None

    def of(self, total_bytes: int) -> int:
        """Return the amount in bytes on a file system of a size."""
        return self.bytes if self.part is None else int(self.part * total_bytes)

    def __str__(self) -> str:
        return f"{self.bytes} bytes" if self.part is None else f"{self.part * 100:g}%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy. A field that is None or empty has no effect.

    Attributes:
        name: name for people, different for each policy.
        source: file or other origin of the policy.
        line: line in the file, None where there is none.
        channels: shell patterns (``*``, ``?``, ``[...]``) for the channel that the recording was
            started with or its stripped channel; one of the patterns must match.
        streams: ranges of stream ids; one of them must contain the stream's id.
        labels: values of labels in the SQL catalog by key, None for any value; all must match.
        everything: whether the policy means every recording.
        max_age_ns: older data is deleted.
        min_age_ns: younger data is kept, whatever another policy says.
        max_size: most bytes in the segment files of a recording.
        max_stream_size: most bytes in all recordings of a stream.
        max_total_size: most bytes in all recordings that the policy chooses.
        max_count: most recordings of a stream.
        free_low: with less usable space on the file system, the oldest data is deleted...
        free_high: ... until there is this much.
        keep: whether nothing of these recordings is deleted.
        whole_recordings: whether a recording may be deleted with its last segment and its id.
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
        """Names of the limits of this policy that delete data."""
        return tuple(name for name in LIMITS if getattr(self, name) is not None)

    @property
    def chooses(self) -> bool:
        """Whether the policy leaves out any recording."""
        some_channels = bool(self.channels) and not _ANY_CHANNEL.intersection(self.channels)
        return some_channels or bool(self.streams) or bool(self.labels)

    @property
    def selector(self) -> tuple[object, ...]:
        """The fields that are equal when two policies choose recordings in the same words."""
        labels = tuple(sorted(self.labels.items(), key=str))
        return (self.channels, self.streams, labels)

    def matches(self, recording: RecordingFacts) -> bool:
        """Return whether the policy applies to a recording."""
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
    """Consistent policies in the order in which they were given."""

    policies: tuple[Policy, ...]

    def __iter__(self) -> Iterator[Policy]:
        return iter(self.policies)

    def __len__(self) -> int:
        return len(self.policies)

    @property
    def asks_for_labels(self) -> bool:
        """Whether a policy chooses by label, so that the SQL catalog is needed."""
        return any(policy.labels for policy in self)
