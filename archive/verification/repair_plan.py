"""Plans for the repair of a recording that is not sound.

Nothing is changed here. A plan drops nothing that can be read: it gives a file its name back, or
accepts a changed file as it is. What cannot be read becomes padding, in place or in a copy, or is
cut off where nothing readable lies on that side of it. Or the recording is marked INVALID, which
can be undone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.retention.needs import Removal
from aerolog.archive.verification.damage_survey import Survey, survey
from aerolog.archive.verification.findings import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.checksum import Checksum
    from aerolog.archive.format.recording_read import Gap
    from aerolog.archive.verification.findings import Finding

DELETED_SUFFIX: Final = ".del"


class RepairWay(StrEnum):
    """What becomes of damage that is not at an end of the recording."""

    PAD = "pad"  #: it becomes padding in its place; what was there is kept in files beside it
    COPY = "copy"  #: a new recording gets all that can be read; the damaged one becomes INVALID
    MARK = "mark"  #: the recording becomes INVALID, and its files stay as they are


class StepKind(StrEnum):
    """The kinds of steps in a repair."""

    RESTORE = "restore"  #: a segment that is about to be deleted gets its name back
    ACCEPT = "accept"  #: a segment that has changed is taken as it is
    PAD = "pad"  #: damage becomes padding, over which every reader goes on
    COPY = "copy"  #: a new recording gets what can be read of this one
    TRUNCATE = "truncate"  #: the recording ends behind its last sound frame
    CUT_HEAD = "cut-head"  #: the recording begins with its first sound segment
    INVALIDATE = "invalidate"  #: nobody replays the recording any more


#: The steps that a running archive has a request for.
BY_REQUEST: Final = frozenset({StepKind.TRUNCATE, StepKind.CUT_HEAD})
#: The steps after which a recording needs no stop position, or has one.
_ENDS: Final = frozenset({StepKind.TRUNCATE, StepKind.COPY, StepKind.INVALIDATE})


@dataclass(frozen=True, slots=True)
class RepairStep:
    """One step of a repair.

    Attributes:
        recording_id: the id of the recording.
        kind: the kind of step.
        position: the new end or start, or the segment's base; -1 for a step without one.
        lost: recorded bytes that cannot be replayed after the step.
        text: a line that describes the step.
        until: where the damage ends that becomes padding; -1 for other steps.
    """

    recording_id: int
    kind: StepKind
    position: int
    lost: int
    text: str
    until: int = -1

    @property
    def removal(self) -> Removal | None:
        """What the step puts out of reach of readers of the recording, None for nothing."""
        if self.kind in {StepKind.COPY, StepKind.INVALIDATE}:
            return Removal(recording_id=self.recording_id)
        if self.kind in {StepKind.TRUNCATE, StepKind.CUT_HEAD}:
            return Removal(recording_id=self.recording_id, is_readable=False)
        return None

    def row(self) -> dict[str, Any]:
        """The step as JSON."""
        return {
            "recording_id": self.recording_id,
            "step": str(self.kind),
            "position": self.position,
            "lost_bytes": self.lost,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """The plan for the repair of one recording.

    Attributes:
        recording_id: the id of the recording.
        readable: ranges of positions whose frames are sound before the repair.
        steps: the steps of the repair, in order.
        unhelped: findings that no step remedies, a line each.
        choices: what each way of repair loses, a line each; empty where there is no choice.
    """

    recording_id: int
    readable: tuple[tuple[int, int], ...]
    steps: tuple[RepairStep, ...]
    unhelped: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


def plan_repair(
    recording: Recording,
    findings: Iterable[Finding],
    names: Iterable[str],
    *,
    way: RepairWay = RepairWay.PAD,
    checksum: Checksum | None = None,
) -> RepairPlan:
    """Plan the repair of a recording.

    Args:
        recording: the recording.
        findings: all findings of a verification.
        names: the names of the files in the archive's folder.
        way: what becomes of damage that is not at an end.
        checksum: the checksum that all frames have; None detects whether they have one.
    """
    recording_id = recording.recording_id
    by_base = {f.base: f for f in findings if f.is_damage or f.kind == Kind.UNREADABLE}
    by_base.pop(-1, None)
    present = set(names)
    steps: list[RepairStep] = []
    unhelped = [f.text for f in by_base.values() if f.kind == Kind.UNREADABLE]
    restored: set[int] = set()
    bad = False
    for base, finding in sorted(by_base.items()):
        name = segment_file_name(recording_id, base)
        if finding.kind == Kind.CHANGED:
            text = f"take {name} as it is: its frames are sound"
            steps.append(RepairStep(recording_id, StepKind.ACCEPT, base, 0, text))
        elif finding.kind == Kind.MISSING and name + DELETED_SUFFIX in present:
            text = f"give {name}{DELETED_SUFFIX} its name back, {name}"
            steps.append(RepairStep(recording_id, StepKind.RESTORE, base, 0, text))
            restored.add(base)
        elif finding.kind != Kind.UNREADABLE:
            bad = True
    start, end = recording.start_position, recording.end_position
    if unhelped:
        return RepairPlan(recording_id, (), tuple(steps), tuple(unhelped))
    found = survey(recording, list(by_base.values()), checksum)
    choices: tuple[str, ...] = ()
    if bad:
        gaps = [gap for gap in found.gaps if _base(recording, gap) not in restored]
        steps += _steps(recording, gaps, found, way)
        choices = _choices(recording, found)
    return RepairPlan(recording_id, found.readable(start, end), tuple(steps), (), choices)


def with_end(plan: RepairPlan | None, recording: Recording) -> RepairPlan:
    """Return a plan that also gives a recording without a stop position its end.

    Args:
        plan: the plan for what is wrong with the recording; None where nothing is.
        recording: a recording without a stop position, of an archive that does not run.
    """
    start, end = recording.start_position, recording.end_position
    if plan is None:
        plan = RepairPlan(recording.recording_id, ((start, end),), ())
    if plan.unhelped or any(step.kind in _ENDS for step in plan.steps):
        return plan
    text = f"end recording {recording.recording_id} at position {end}, behind its last whole frame"
    step = RepairStep(recording.recording_id, StepKind.TRUNCATE, end, 0, text)
    return replace(plan, steps=(*plan.steps, step))


def _base(recording: Recording, gap: Gap) -> int:
    return recording.descriptor.segment_base(gap.from_position)


def _steps(
    recording: Recording, gaps: Sequence[Gap], found: Survey, way: RepairWay
) -> list[RepairStep]:
    """The steps that leave the recording sound, without loss of anything that can be read."""
    recording_id, start = recording.recording_id, recording.start_position
    end, lost = recording.end_position, sum(g.until_position - g.from_position for g in gaps)
    if not gaps:
        return []
    if way == RepairWay.MARK:
        return [
            RepairStep(
                recording_id,
                StepKind.INVALIDATE,
                -1,
                lost,
                f"mark recording {recording_id} INVALID, with all its files"
                " (aerolog recordings mark-valid takes it back)",
            )
        ]
    if way == RepairWay.COPY:
        return [
            RepairStep(
                recording_id,
                StepKind.COPY,
                start,
                lost,
                f"copy the {found.messages} messages that can be read of recording {recording_id}"
                " to a new recording, and mark this one INVALID, with all its files",
            )
        ]
    steps, tail = [], gaps[-1]
    head_base = recording.descriptor.segment_base(min(gaps[0].until_position, end))
    if gaps[0].from_position == start and start < head_base and gaps[0].until_position < end:
        steps.append(_cut_head(recording, head_base))
        if head_base < gaps[0].until_position:
            steps.append(_pad(recording_id, head_base, gaps[0].until_position))
        gaps = gaps[1:]
    for gap in gaps:
        if gap is tail and gap.until_position >= end:
            steps.append(_truncate(recording, gap.from_position))
        else:
            steps.append(_pad(recording_id, gap.from_position, gap.until_position))
    return steps


def _pad(recording_id: int, position: int, until: int) -> RepairStep:
    return RepairStep(
        recording_id,
        StepKind.PAD,
        position,
        until - position,
        f"make padding of positions {position} to {until}, {until - position} bytes that are"
        " damaged; what is there now is kept in files that end in .damaged",
        until,
    )


def _truncate(recording: Recording, position: int) -> RepairStep:
    recording_id, end = recording.recording_id, recording.end_position
    return RepairStep(
        recording_id,
        StepKind.TRUNCATE,
        position,
        end - position,
        f"end recording {recording_id} behind its last sound frame, at position {position}"
        f" (now {end}): nothing of the {end - position} bytes behind it can be read",
    )


def _cut_head(recording: Recording, position: int) -> RepairStep:
    recording_id, start = recording.recording_id, recording.start_position
    return RepairStep(
        recording_id,
        StepKind.CUT_HEAD,
        position,
        position - start,
        f"begin recording {recording_id} at position {position} (now {start}): nothing of the"
        f" {position - start} bytes before it can be read",
    )


def _choices(recording: Recording, found: Survey) -> tuple[str, ...]:
    """What each way loses, in messages and bytes."""
    size = recording.end_position - recording.start_position
    gone = sum(gap.until_position - gap.from_position for gap in found.gaps)
    doubt = (
        f" but for {found.doubtful} frames with a wrong checksum, which become padding"
        if found.doubtful
        else ""
    )
    return (
        (
            f"--by pad: {found.messages} messages can be read now and afterwards{doubt};"
            f" {gone} bytes become padding or are cut off"
        ),
        (
            f"--by copy: {found.messages} messages can be read now and in the new recording{doubt};"
            f" it takes {size} bytes, and the damaged recording stays INVALID"
        ),
        (
            f"--by mark: no byte changes, and none of the {found.messages} messages can be read"
            " until recordings mark-valid takes it back"
        ),
    )
