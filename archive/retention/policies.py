"""Policies: which recordings, and how much of them is kept.

A policy chooses recordings by patterns of channel and stream and by label, and limits them. What
any limit lets go goes, but for what another policy keeps: ``keep`` and ``min_age`` win. A policy
that chooses every recording has to say so (``everything``), so that none does by a slip.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from aerolog.archive.retention.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from aerolog.archive.retention.facts import RecordingFacts


def checked(policies: Sequence[Policy]) -> Policies:
    """Policies that can hold together.

    Raises:
        PolicyError: one contradicts itself or another one, chooses everything without saying so,
            or does nothing; or two have one name.
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
    """Two policies that choose the same in the same words."""
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
