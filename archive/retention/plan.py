"""A plan: what would go and why, what is kept back and why. Plain values."""

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
        recording_id: of which.
        kind: ``segments`` from the start on, or the whole ``recording``.
        start_position: of the recording before.
        new_start_position: of the recording after; its end for a whole one.
        files: segment files that go, of those that are there.
        bytes: of these files.
        policy: whose wish it is; of several the one that goes furthest.
        reason: in words.
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
        """As JSON."""
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
    """A recording of which a policy wants more gone than may go.

    Attributes:
        recording_id: of which.
        position: from which on it is kept back.
        kind: ``hold``, ``replay``, ``active``, ``clock``, ``policy``, ...
        reason: in words.
    """

    recording_id: int
    position: int
    kind: str
    reason: str

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "recording_id": self.recording_id,
            "position": self.position,
            "kind": self.kind,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What retention would do now.

    Attributes:
        now_ms: the time that ages were counted by.
        steps: in the order in which they would be done.
        kept: what is kept back.
        warnings: what to look at before going on.
        takes_everything: whether no recording would keep a byte, and no policy says that it may.
        held_back: why nothing goes at all, None when something may.
    """

    now_ms: int
    steps: tuple[Step, ...] = ()
    kept: tuple[Kept, ...] = ()
    warnings: tuple[str, ...] = ()
    takes_everything: bool = False
    held_back: str | None = None

    @property
    def files(self) -> int:
        """Segment files that would go."""
        return sum(step.files for step in self.steps)

    @property
    def bytes(self) -> int:
        """Of these files."""
        return sum(step.bytes for step in self.steps)

    def row(self) -> dict[str, Any]:
        """As JSON."""
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
