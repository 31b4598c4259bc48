"""Plans for the repair of a recording that is not sound, made from the findings alone.

Nothing is changed here. A plan prefers steps that destroy nothing: it gives a file its name back,
or accepts a changed file as it is. Data that cannot be read is cut off at the start or end of the
recording. In the middle it cannot be cut off; then the recording is marked INVALID, which can be
undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.verification.closed_spans import closed_spans
from aerolog.archive.verification.findings import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.verification.closed_spans import Span
    from aerolog.archive.verification.findings import Finding

DELETED_SUFFIX: Final = ".del"


class StepKind(StrEnum):
    """The kinds of steps in a repair."""

    RESTORE = "restore"  #: a segment that is about to be deleted gets its name back
    ACCEPT = "accept"  #: a segment that has changed is taken as it is
    TRUNCATE = "truncate"  #: the recording ends behind its last sound frame
    CUT_HEAD = "cut-head"  #: the recording begins with its first sound segment
    INVALIDATE = "invalidate"  #: nobody replays the recording any more


#: The steps that a running archive has a request for.
BY_REQUEST: Final = frozenset({StepKind.TRUNCATE, StepKind.CUT_HEAD})


@dataclass(frozen=True, slots=True)
class RepairStep:
    """One step of a repair.

    Attributes:
        recording_id: the id of the recording.
        kind: the kind of step.
        position: the new end or start, or the segment's base; -1 for a step without one.
        lost: recorded bytes that cannot be replayed after the step.
        text: a line that describes the step.
    """

    recording_id: int
    kind: StepKind
    position: int
    lost: int
    text: str

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
    """

    recording_id: int
    readable: tuple[tuple[int, int], ...]
    steps: tuple[RepairStep, ...]
    unhelped: tuple[str, ...] = ()


def plan_repair(
    descriptor: RecordingDescriptor,
    end_position: int,
    findings: Iterable[Finding],
    names: Iterable[str],
) -> RepairPlan:
    """Plan the repair of a recording.

    Args:
        descriptor: the descriptor of the recording.
        end_position: the position up to which is recorded.
        findings: all findings of a verification.
        names: the names of the files in the archive's folder.
    """
    recording_id = descriptor.recording_id
    by_base = {f.base: f for f in findings if f.is_damage or f.kind == Kind.UNREADABLE}
    by_base.pop(-1, None)
    present = set(names)
    steps: list[RepairStep] = []
    unhelped = [f.text for f in by_base.values() if f.kind == Kind.UNREADABLE]
    bad: dict[int, Finding] = {}
    for base, finding in sorted(by_base.items()):
        name = segment_file_name(recording_id, base)
        if finding.kind == Kind.CHANGED:
            text = f"take {name} as it is: its frames are sound"
            steps.append(RepairStep(recording_id, StepKind.ACCEPT, base, 0, text))
        elif finding.kind == Kind.MISSING and name + DELETED_SUFFIX in present:
            text = f"give {name}{DELETED_SUFFIX} its name back, {name}"
            steps.append(RepairStep(recording_id, StepKind.RESTORE, base, 0, text))
        elif finding.kind != Kind.UNREADABLE:
            bad[base] = finding
    spans = list(closed_spans(descriptor, end_position))
    if bad and not unhelped:
        steps.append(_cut(descriptor, end_position, spans, bad))
    broken = {base: f for base, f in by_base.items() if f.kind != Kind.CHANGED}
    return RepairPlan(
        recording_id, readable(spans, broken, end_position), tuple(steps), tuple(unhelped)
    )


def readable(
    spans: Sequence[Span], bad: dict[int, Finding], end_position: int
) -> tuple[tuple[int, int], ...]:
    """Return the ranges of sound positions; of a damaged segment those before the damage.

    Args:
        spans: the closed segments.
        bad: the findings by base position.
        end_position: the position up to which the open segment can be read.
    """
    found: list[tuple[int, int]] = []

    def add(start: int, end: int) -> None:
        if start >= end:
            return
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))

    for span in spans:
        finding = bad.get(span.base)
        add(span.base + span.start, span.end if finding is None else finding.position)
    if spans:
        add(spans[-1].end, end_position)
    return tuple(found)


def _cut(
    descriptor: RecordingDescriptor,
    end_position: int,
    spans: Sequence[Span],
    bad: dict[int, Finding],
) -> RepairStep:
    """Return the cut that leaves the recording sound, None when no cut does."""
    recording_id = descriptor.recording_id
    bases = [span.base for span in spans]
    first, last = min(bad), max(bad)
    start = descriptor.start_position
    behind = [base for base in bases if base > last]
    has_open = descriptor.is_active and bool(bases) and end_position > spans[-1].end
    if all(base in bad for base in bases if base >= first) and not has_open:
        position = bad[first].position
        return RepairStep(
            recording_id,
            StepKind.TRUNCATE,
            position,
            end_position - position,
            f"end recording {recording_id} behind its last sound frame, at position {position}"
            f" (now {end_position}): {end_position - position} bytes are lost",
        )
    new_start = behind[0] if behind else spans[-1].end
    if all(base in bad for base in bases if base <= last):
        return RepairStep(
            recording_id,
            StepKind.CUT_HEAD,
            new_start,
            new_start - start,
            f"begin recording {recording_id} with its first sound segment, at position {new_start}"
            f" (now {start}): {new_start - start} bytes are lost",
        )
    lost = end_position - start - sum(b - a for a, b in readable(spans, bad, end_position))
    return RepairStep(
        recording_id,
        StepKind.INVALIDATE,
        -1,
        lost,
        f"mark recording {recording_id} INVALID: it is damaged in its middle, and nothing sound is"
        " cut off (aerolog export --skip-damage copies what is readable; archive-tool mark-valid"
        " takes it back)",
    )
