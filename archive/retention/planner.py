"""Planning: facts and policies in, a plan out, and nothing else looked at.

Each recording has a ceiling: how far its start may go, for whoever still needs it. Policies move a
cut from its start towards that. Limits of one recording come first (age, size), then those that
choose among several (count, size of a stream, total size, room), which let the oldest go first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.retention.clock import PLAUSIBLE_MS, TOLERANCE_MS
from aerolog.archive.retention.cuts import Ceiling, Cut
from aerolog.archive.retention.facts import NS_PER_MS
from aerolog.archive.retention.plan import RECORDING, SEGMENTS, Kept, Plan, Step
from aerolog.archive.retention.sharing import apply_shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aerolog.archive.retention.facts import Facts, Need, RecordingFacts
    from aerolog.archive.retention.policies import Policy

_MISSING_SHOWN: Final = 3
_DAY_NS: Final = 86_400_000_000_000


def plan(
    facts: Facts, policies: Iterable[Policy], now_ms: int, *, held_back: str | None = None
) -> Plan:
    """What policies would let go now.

    Args:
        facts: what there is.
        policies: checked ones.
        now_ms: the time by which ages are counted.
        held_back: why nothing may go at all, None when something may.
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
    steps = tuple(step for step in map(_step, cuts) if step is not None)
    return Plan(
        now_ms=now_ms,
        steps=steps,
        kept=tuple(_kept(cuts)),
        warnings=tuple(warnings),
        takes_everything=_takes_everything(facts, steps, chosen),
    )


def implausible(recording: RecordingFacts, now_ms: int) -> str | None:
    """Why the times of a recording mean nothing, None when they may be right."""
    start, stop = recording.start_ms, recording.stop_ms
    if start < PLAUSIBLE_MS:
        return f"its start time {start} is before 2017"
    if stop is not None and stop < start:
        return f"its stop time {stop} is before its start time {start}: the clock was set back"
    if max(start, stop or 0) > now_ms + TOLERANCE_MS:
        return f"its times are after now ({max(start, stop or 0)}): the clock was or is wrong"
    return None


def _contradiction(policies: Sequence[Policy]) -> str | None:
    """Two policies that cannot both be right about one recording."""
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
    for need in needs:
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
    """Up to which segment all is older than a time, and whether the whole recording is."""
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
    """Limits that need no other recording."""
    recording = cut.recording
    for policy in policies:
        if policy.max_age_ns is not None:
            reason = f"older than {_age(policy.max_age_ns)}"
            if cut.ceiling.odd_times is not None:
                cut.refuse(recording.first_base, "clock", cut.ceiling.odd_times)
            else:
                position, over = _older_than(recording, now_ms * NS_PER_MS - policy.max_age_ns)
                cut.move(position, policy.name, reason, whole=over and policy.whole_recordings)
        if policy.max_size is not None:
            over_by = recording.size_bytes - policy.max_size
            files = min(-(-over_by // recording.segment_length), len(recording.segments))
            if files > 0:
                position = recording.segments[files - 1] + recording.segment_length
                reason = f"more than {policy.max_size} bytes of the recording"
                cut.move(min(position, recording.last_base), policy.name, reason)


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
    """A duration as a policy has it."""
    for unit, length in (
        ("d", _DAY_NS),
        ("h", _DAY_NS // 24),
        ("min", _DAY_NS // 1440),
        ("s", 1_000_000_000),
    ):
        if duration_ns % length == 0:
            return f"{duration_ns // length}{unit}"
    return f"{duration_ns / 1_000_000_000:g}s"
