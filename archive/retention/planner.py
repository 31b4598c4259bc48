"""The planner, a function from facts and policies to a plan.

Each recording has a ceiling, the highest start position that those who need it permit. Policies
move the recording's cut from its start towards the ceiling. Limits of single recordings (age, size)
come first. Limits that choose among several recordings (count, size of a stream, total size, free
space) follow, and delete the oldest data first.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.archive.retention.clock import PLAUSIBLE_MS, TOLERANCE_MS
from aerolog.archive.retention.plan import RECORDING, SEGMENTS, Kept, Plan, Step
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from aerolog.archive.retention.facts import Facts, Need, RecordingFacts
    from aerolog.archive.retention.policies import Policy


@dataclass(slots=True)
class Ceiling:
    """The limit for the start of a recording, and what sets it.

    Attributes:
        position: highest permitted start position, the start of a segment.
        whole: whether the whole recording may be deleted.
        kind: kind of the obstacle, as in ``Kept``.
        reason: the obstacle in words.
        odd_times: why the recording's times are implausible, None when they are plausible.
    """

    position: int
    whole: bool
    kind: str = ""
    reason: str = ""
    odd_times: str | None = None

    @classmethod
    def of(cls, recording: RecordingFacts) -> Ceiling:
        """Return the ceiling without any need: only the segment being written is kept."""
        if recording.is_active:
            reason = "it has no end: it is being recorded, or a crash has left it so"
            return cls(recording.last_base, False, "active", reason)
        return cls(recording.last_base, True)

    def lower(self, position: int, kind: str, reason: str) -> None:
        """Lower the ceiling to the segment of a position, and keep the recording."""
        if position < self.position or (position == self.position and self.whole):
            self.position, self.kind, self.reason = position, kind, reason
        self.whole = False


@dataclass(slots=True)
class Cut:
    """The start of a recording after the plan.

    Attributes:
        recording: the recording's facts.
        ceiling: the limit up to which its start may move.
        position: its new start, the start of a segment.
        whole: whether the whole recording is deleted.
        policy: name of the policy that deletes most.
        reason: reason of that policy.
        refused: position, kind and reason of the obstacle to a further move.
        untimed: why it counts as the youngest where the oldest goes first; None when it does not.
    """

    recording: RecordingFacts
    ceiling: Ceiling
    position: int = -1
    whole: bool = False
    policy: str = ""
    reason: str = ""
    refused: tuple[int, str, str] | None = None
    untimed: str | None = None

    def __post_init__(self) -> None:
        self.position = self.recording.first_base

    @property
    def is_moved(self) -> bool:
        """Whether anything is deleted."""
        return self.whole or self.position > self.recording.first_base

    @property
    def files_gone(self) -> int:
        """Number of existing files that are deleted."""
        segments = self.recording.segments
        return len(segments) if self.whole else self.recording.files_below(self.position)

    @property
    def bytes_left(self) -> int:
        """Length of the files that remain."""
        recording = self.recording
        return (len(recording.segments) - self.files_gone) * recording.segment_length

    def move(self, position: int, policy: str, reason: str, *, whole: bool = False) -> bool:
        """Move the cut as far as a policy wants and the ceiling permits.

        Args:
            position: the start of a segment.
            policy: name of the policy.
            reason: reason of the policy.
            whole: whether the policy deletes the whole recording.

        Returns:
            Whether the cut moved as far as the policy wants.
        """
        if whole and self.ceiling.whole:
            if not self.whole:
                self.whole, self.policy, self.reason = True, policy, reason
            return True
        reached = min(position, self.ceiling.position)
        if reached > self.position and not self.whole:
            self.position, self.policy, self.reason = reached, policy, reason
        if whole or position > self.ceiling.position:
            self.refuse(self.ceiling.position, self.ceiling.kind, self.ceiling.reason)
            return False
        return True

    def refuse(self, position: int, kind: str, reason: str) -> None:
        """Note what prevents a further move; only the first obstacle is kept."""
        if self.refused is None and kind:
            self.refused = (position, kind, reason)


def apply_shared(
    facts: Facts,
    cuts: Sequence[Cut],
    cuts_of: Mapping[str, list[Cut]],
    policies: Iterable[Policy],
) -> None:
    """Move cuts until every limit on several recordings is met, as far as ceilings permit.

    Args:
        facts: all facts, for the usable space.
        cuts: cuts of the recordings that any policy matches; they are moved.
        cuts_of: cuts of a policy's recordings, by the policy's name.
        policies: all policies in their order.
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
    """Delete recordings that have enough newer ones."""
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
    """Delete segments, the oldest of all recordings first, until ``excess`` bytes are deleted."""
    waiting: list[tuple[int, int, int]] = []

    def wait(index: int) -> None:
        cut = cuts[index]
        if not cut.whole:
            timeline, end = cut.recording.timeline, min(_next_end(cut), cut.recording.end_position)
            at = timeline.time_at(end)
            cut.untimed = cut.untimed or timeline.why_unknown(end)
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
    """Return the end of the next existing segment that could be deleted."""
    recording = cut.recording
    at = recording.files_below(cut.position)
    base = recording.segments[at] if at < len(recording.segments) else recording.last_base
    return min(base, recording.last_base) + recording.segment_length


def _go_on(cut: Cut, policy: Policy, reason: str) -> bool:
    """Delete the next segment or the rest of a recording; False when no more can be deleted."""
    recording, end = cut.recording, _next_end(cut)
    last = recording.last_base
    # With the last byte of a stopped recording the whole recording is deleted.
    rest = end > last or (end >= recording.end_position and not recording.is_active)
    if not rest:
        return cut.move(end, policy.name, reason)
    cut.move(last, policy.name, reason, whole=policy.whole_recordings)
    return False


_MISSING_SHOWN: Final = 3
_DAY_NS: Final = 86_400_000_000_000


def plan(
    facts: Facts, policies: Iterable[Policy], now_ms: int, *, held_back: str | None = None
) -> Plan:
    """Return what policies would delete now.

    Args:
        facts: all facts about the folder.
        policies: policies that ``checked`` accepted.
        now_ms: the time by which ages are computed, epoch milliseconds.
        held_back: why nothing may be deleted at all, None when something may be.
    """
    chosen = list(policies)
    warnings = list(facts.problems)
    if held_back is not None:
        return Plan(now_ms=now_ms, warnings=tuple(warnings), held_back=held_back)
    needs: dict[int, list[Need]] = {}
    for need in facts.needs:
        needs.setdefault(need.recording_id, []).append(need)
    cuts: list[Cut] = []
    cuts_of: dict[str, list[Cut]] = {policy.name: [] for policy in chosen}
    for recording in facts.recordings:
        its = [policy for policy in chosen if policy.matches(recording)]
        if not its:
            continue
        conflict = _contradiction(its)
        if conflict is not None:
            warnings.append(f"recording {recording.recording_id}: {conflict}")
        found = needs.get(recording.recording_id, ())
        cut = Cut(recording, _ceiling(recording, its, found, now_ms, conflict))
        if conflict is None:
            _apply_own(cut, its, now_ms)
        else:
            cut.refuse(recording.first_base, "contradiction", conflict)
        cuts.append(cut)
        for policy in its:
            cuts_of[policy.name].append(cut)
        warnings += _missing(recording)
    apply_shared(facts, cuts, cuts_of, chosen)
    warnings += [
        f"recording {cut.recording.recording_id} counts as the youngest: {cut.untimed}"
        for cut in cuts
        if cut.untimed is not None
    ]
    steps = tuple(step for step in map(_step, cuts) if step is not None)
    return Plan(
        now_ms=now_ms,
        steps=steps,
        kept=tuple(_kept(cuts)),
        warnings=tuple(warnings),
        takes_everything=_takes_everything(facts, steps, chosen),
    )


def implausible(recording: RecordingFacts, now_ms: int) -> str | None:
    """Return why the times of a recording are implausible, None when they are plausible."""
    start, stop = recording.start_ms, recording.stop_ms
    if start < PLAUSIBLE_MS:
        return f"its start time {start} is before 2017"
    if stop is not None and stop < start:
        return f"its stop time {stop} is before its start time {start}: the clock was set back"
    if max(start, stop or 0) > now_ms + TOLERANCE_MS:
        return f"its times are after now ({max(start, stop or 0)}): the clock was or is wrong"
    return None


def _contradiction(policies: Sequence[Policy]) -> str | None:
    """Return how two policies contradict each other for one recording, None when they do not."""
    if any(policy.keep for policy in policies):
        return None
    for limit in policies:
        for floor in policies:
            if (
                limit.max_age_ns is not None
                and floor.min_age_ns is not None
                and limit.max_age_ns < floor.min_age_ns
            ):
                return (
                    f"policies {limit.name!r} (max_age) and {floor.name!r} (min_age) contradict"
                    " each other about it, and nothing of it goes"
                )
    return None


def _ceiling(
    recording: RecordingFacts,
    policies: Sequence[Policy],
    needs: Iterable[Need],
    now_ms: int,
    conflict: str | None,
) -> Ceiling:
    ceiling = Ceiling.of(recording)
    odd = implausible(recording, now_ms)
    ceiling.odd_times = odd
    if conflict is not None:
        ceiling.lower(recording.first_base, "contradiction", conflict)
    for policy in policies:
        if policy.keep:
            text = f"policy {policy.name!r} keeps it"
            ceiling.lower(recording.first_base, "policy", text)
        if policy.min_age_ns is not None:
            _lower_to_age(ceiling, recording, policy, now_ms, odd)
    stop_position = None if recording.is_active else recording.end_position
    for need in needs:
        if not need.is_over(stop_position):
            ceiling.lower(recording.base_of(need.position), need.kind, need.text)
    return ceiling


def _lower_to_age(
    ceiling: Ceiling, recording: RecordingFacts, policy: Policy, now_ms: int, odd: str | None
) -> None:
    assert policy.min_age_ns is not None
    if odd is not None:
        ceiling.lower(recording.first_base, "clock", odd)
        return
    position, over = _older_than(recording, now_ms * NS_PER_MS - policy.min_age_ns)
    if not over:
        text = f"policy {policy.name!r} keeps what is younger than {_age(policy.min_age_ns)}"
        ceiling.lower(position, "policy", text)


def _older_than(recording: RecordingFacts, time_ns: int) -> tuple[int, bool]:
    """Return the position before which all is older than a time, and whether all of it is."""
    position = min(recording.timeline.position_at(time_ns), recording.end_position)
    stop_ms = recording.stop_ms
    over = (
        not recording.is_active
        and stop_ms is not None
        and position >= recording.end_position
        and (stop_ms + 1) * NS_PER_MS <= time_ns
    )
    return recording.base_of(position), over


def _apply_own(cut: Cut, policies: Sequence[Policy], now_ms: int) -> None:
    """Apply the limits that concern a single recording."""
    recording = cut.recording
    for policy in policies:
        if policy.max_age_ns is not None:
            reason = f"older than {_age(policy.max_age_ns)}"
            if cut.ceiling.odd_times is not None:
                cut.refuse(recording.first_base, "clock", cut.ceiling.odd_times)
            else:
                time_ns = now_ms * NS_PER_MS - policy.max_age_ns
                position, over = _older_than(recording, time_ns)
                cut.move(position, policy.name, reason, whole=over and policy.whole_recordings)
                if not over:
                    _refuse_untimed(cut, time_ns)
        if policy.max_size is not None:
            over_by = recording.size_bytes - policy.max_size
            files = min(-(-over_by // recording.segment_length), len(recording.segments))
            if files > 0:
                position = recording.segments[files - 1] + recording.segment_length
                reason = f"more than {policy.max_size} bytes of the recording"
                cut.move(min(position, recording.last_base), policy.name, reason)


def _refuse_untimed(cut: Cut, time_ns: int) -> None:
    """Note when a recording is not cut further by its age because its times are not known."""
    recording = cut.recording
    known_end = min(recording.timeline.position_at(time_ns), recording.end_position)
    why = recording.timeline.why_unknown(known_end)
    if known_end == recording.end_position:
        # Segments may have come from an older recording, of which the catalog says nothing.
        why = None
        if recording.start_ms * NS_PER_MS >= time_ns and recording.start_position < known_end:
            why = (
                "its time index says that all of it is older, and the catalog that it began later:"
                f" let it go by its size, or by hand (aerolog recordings purge"
                f" {recording.recording_id})"
            )
    if why is not None:
        cut.refuse(recording.base_of(known_end), "times", f"its age is not known: {why}")


def _step(cut: Cut) -> Step | None:
    recording = cut.recording
    if not cut.is_moved:
        return None
    files = cut.files_gone
    return Step(
        recording_id=recording.recording_id,
        kind=RECORDING if cut.whole else SEGMENTS,
        start_position=recording.start_position,
        new_start_position=recording.end_position if cut.whole else cut.position,
        files=files,
        bytes=files * recording.segment_length,
        policy=cut.policy,
        reason=cut.reason,
    )


def _kept(cuts: Iterable[Cut]) -> Iterable[Kept]:
    for cut in cuts:
        if cut.refused is not None:
            position, kind, reason = cut.refused
            yield Kept(cut.recording.recording_id, position, kind, reason)


def _missing(recording: RecordingFacts) -> list[str]:
    bases = recording.missing()
    if not bases:
        return []
    shown = ", ".join(map(str, bases[:_MISSING_SHOWN])) + (
        ", ..." if len(bases) > _MISSING_SHOWN else ""
    )
    files = "file is" if len(bases) == 1 else "files are"
    whose = f"recording {recording.recording_id}"
    return [f"{whose}: {len(bases)} segment {files} missing, at {shown}: removed by hand?"]


def _takes_everything(facts: Facts, steps: Sequence[Step], policies: Sequence[Policy]) -> bool:
    whole = sum(step.kind == RECORDING for step in steps)
    return 0 < len(facts.recordings) == whole and not any(one.everything for one in policies)


def _age(duration_ns: int) -> str:
    """Format a duration as policies do."""
    for unit, length in (
        ("d", _DAY_NS),
        ("h", _DAY_NS // 24),
        ("min", _DAY_NS // 1440),
        ("s", NS_PER_S),
    ):
        if duration_ns % length == 0:
            return f"{duration_ns // length}{unit}"
    return f"{duration_ns / NS_PER_S:g}s"
