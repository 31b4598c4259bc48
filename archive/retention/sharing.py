"""Limits that several recordings share: the oldest of them goes first."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from aerolog.archive.retention.cuts import Cut
    from aerolog.archive.retention.facts import Facts
    from aerolog.archive.retention.policies import Policy


def apply_shared(
    facts: Facts,
    cuts: Sequence[Cut],
    cuts_of: Mapping[str, list[Cut]],
    policies: Iterable[Policy],
) -> None:
    """Move cuts on until every shared limit is kept, as far as ceilings allow.

    Args:
        facts: for the room there is.
        cuts: of the recordings that any policy is about; moved.
        cuts_of: name of a policy -> cuts of its recordings.
        policies: all, in their order.
    """
    for policy in policies:
        its = cuts_of[policy.name]
        if policy.max_count is not None:
            for group in _by_stream(its):
                _keep_newest(group, policy, policy.max_count)
        if policy.max_stream_size is not None:
            for group in _by_stream(its):
                _keep_size(group, policy, policy.max_stream_size, "of the stream")
        if policy.max_total_size is not None:
            _keep_size(its, policy, policy.max_total_size, "of all recordings of the policy")
        if policy.free_low is not None and policy.free_high is not None:
            _make_room(facts, cuts, its, policy)


def _by_stream(cuts: Iterable[Cut]) -> list[list[Cut]]:
    groups: dict[tuple[str, int], list[Cut]] = {}
    for cut in cuts:
        groups.setdefault(cut.recording.stream, []).append(cut)
    return list(groups.values())


def _keep_newest(cuts: list[Cut], policy: Policy, count: int) -> None:
    """Let recordings go that have enough newer ones."""
    there = sorted(
        (cut for cut in cuts if not cut.whole),
        key=lambda cut: (cut.recording.start_ms, cut.recording.recording_id),
        reverse=True,
    )
    for cut in there[count:]:
        recording = cut.recording
        if cut.ceiling.odd_times is not None:
            cut.refuse(recording.first_base, "clock", cut.ceiling.odd_times)
        else:
            reason = f"{count} newer recordings of the stream"
            cut.move(recording.last_base, policy.name, reason, whole=True)


def _keep_size(cuts: list[Cut], policy: Policy, size: int, what: str) -> None:
    left = sum(cut.bytes_left for cut in cuts)
    reason = f"more than {size} bytes {what}"
    _let_oldest_go(cuts, policy, reason, left - size)


def _make_room(facts: Facts, cuts: Iterable[Cut], its: list[Cut], policy: Policy) -> None:
    assert policy.free_low is not None
    assert policy.free_high is not None
    if facts.usable_bytes is None or facts.total_bytes is None:
        return
    going = sum(cut.files_gone * cut.recording.segment_length for cut in cuts)
    room = facts.usable_bytes + going
    if room >= policy.free_low.of(facts.total_bytes):
        return
    missing = policy.free_high.of(facts.total_bytes) - room
    reason = f"less than {policy.free_low} of room on the file system"
    _let_oldest_go(its, policy, reason, missing)


def _let_oldest_go(cuts: list[Cut], policy: Policy, reason: str, excess: int) -> None:
    """Let segments go, the oldest of all recordings first, until so many bytes are gone."""
    waiting: list[tuple[int, int, int]] = []

    def wait(index: int) -> None:
        cut = cuts[index]
        if not cut.whole:
            end = _next_end(cut)
            at = cut.recording.timeline.time_at(min(end, cut.recording.end_position))
            heapq.heappush(waiting, (at, cut.recording.recording_id, index))

    if excess <= 0:
        return
    for index, cut in enumerate(cuts):
        if cut.ceiling.odd_times is None:
            wait(index)
        else:
            cut.refuse(cut.recording.first_base, "clock", cut.ceiling.odd_times)
    while excess > 0 and waiting:
        _, _, index = heapq.heappop(waiting)
        cut = cuts[index]
        before = cut.bytes_left
        if _go_on(cut, policy, reason):
            wait(index)
        excess -= before - cut.bytes_left


def _next_end(cut: Cut) -> int:
    """Behind the next segment that is there and could go."""
    recording = cut.recording
    at = recording.files_below(cut.position)
    base = recording.segments[at] if at < len(recording.segments) else recording.last_base
    return min(base, recording.last_base) + recording.segment_length


def _go_on(cut: Cut, policy: Policy, reason: str) -> bool:
    """Let the next segment of a recording go, or its rest; False when nothing more can."""
    recording, end = cut.recording, _next_end(cut)
    last = recording.last_base
    # With its last byte a recording that has ended goes altogether.
    rest = end > last or (end >= recording.end_position and not recording.is_active)
    if not rest:
        return cut.move(end, policy.name, reason)
    cut.move(last, policy.name, reason, whole=policy.whole_recordings)
    return False
