"""Policies that cannot be meant so, found before any recording is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.retention.errors import PolicyError
from aerolog.archive.retention.policies import Policies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.retention.policies import Policy


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
