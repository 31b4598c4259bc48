"""A plan: what would be deleted, what is kept, and why; plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SEGMENTS: Final = "segments"
RECORDING: Final = "recording"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request to the archive.

    Attributes:
        recording_id: the recording that the step changes.
        kind: ``segments`` for segments at the start, or ``recording`` for all of it.
        start_position: the recording's start position before the step.
        new_start_position: its start position afterwards; its end for a whole recording.
        files: number of existing segment files that are deleted.
        bytes: length of these files.
        policy: name of the policy, of several the one that deletes most.
        reason: reason in words.
    """

    recording_id: int
    kind: str
    start_position: int
    new_start_position: int
    files: int
    bytes: int
    policy: str
    reason: str

    def row(self) -> dict[str, Any]:
        """Return the step as JSON values."""
        return {name: getattr(self, name) for name in _STEP_FIELDS}


_STEP_FIELDS: Final = (
    "recording_id",
    "kind",
    "start_position",
    "new_start_position",
    "files",
    "bytes",
    "policy",
    "reason",
)


@dataclass(frozen=True, slots=True)
class Kept:
    """A recording of which a policy would delete more than is allowed.

    Attributes:
        recording_id: the recording that is kept.
        position: position from which it is kept.
        kind: ``hold``, ``replay``, ``active``, ``clock``, ``times``, ``policy``, ...
        reason: reason in words.
    """

    recording_id: int
    position: int
    kind: str
    reason: str

    def row(self) -> dict[str, Any]:
        """Return these fields as JSON values."""
        return {
            "recording_id": self.recording_id,
            "position": self.position,
            "kind": self.kind,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of a retention run: its steps, and the recordings that it keeps.

    Attributes:
        now_ms: the time by which ages are computed, epoch milliseconds.
        steps: steps in the order in which they are carried out.
        kept: recordings that are kept although a policy would delete more.
        warnings: findings to consider before the plan is applied.
        takes_everything: whether no recording would keep a byte, and no policy permits that.
        held_back: why nothing is deleted at all, None when something may be.
    """

    now_ms: int
    steps: tuple[Step, ...] = ()
    kept: tuple[Kept, ...] = ()
    warnings: tuple[str, ...] = ()
    takes_everything: bool = False
    held_back: str | None = None

    @property
    def files(self) -> int:
        """Number of segment files that would be deleted."""
        return sum(step.files for step in self.steps)

    @property
    def bytes(self) -> int:
        """Length of these files together."""
        return sum(step.bytes for step in self.steps)

    def row(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {
            "now_ms": self.now_ms,
            "files": self.files,
            "bytes": self.bytes,
            "steps": _rows(self.steps),
            "kept": _rows(self.kept),
            "warnings": list(self.warnings),
            "takes_everything": self.takes_everything,
            "held_back": self.held_back,
        }


def _rows(values: Sequence[Step | Kept]) -> list[dict[str, Any]]:
    return [value.row() for value in values]
