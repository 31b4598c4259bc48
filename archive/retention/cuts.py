"""Cuts: how far the start of each recording is moved, and how far it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerolog.archive.retention.facts import RecordingFacts


@dataclass(slots=True)
class Ceiling:
    """How far the start of a recording may go, and for whose sake no further.

    Attributes:
        position: where a segment begins: the start may go there.
        whole: whether the recording may go altogether.
        kind: of what stands against more, as in ``Kept``.
        reason: in words.
        odd_times: why the recording's times mean nothing, None when they may be right.
    """

    position: int
    whole: bool
    kind: str = ""
    reason: str = ""
    odd_times: str | None = None

    @classmethod
    def of(cls, recording: RecordingFacts) -> Ceiling:
        """Of a recording that nobody needs: the segment being written stays all the same."""
        if recording.is_active:
            reason = "it has no end: it is being recorded, or a crash has left it so"
            return cls(recording.last_base, False, "active", reason)
        return cls(recording.last_base, True)

    def lower(self, position: int, kind: str, reason: str) -> None:
        """Let somebody keep what is from a segment on, and so the recording."""
        if position < self.position or (position == self.position and self.whole):
            self.position, self.kind, self.reason = position, kind, reason
        self.whole = False


@dataclass(slots=True)
class Cut:
    """Where a recording is to begin.

    Attributes:
        recording: which.
        ceiling: how far it may go.
        position: where a segment begins: its new start.
        whole: whether it goes altogether.
        policy: name of the policy that goes furthest.
        reason: in words.
        refused: position, kind and reason of what stood against more.
    """

    recording: RecordingFacts
    ceiling: Ceiling
    position: int = -1
    whole: bool = False
    policy: str = ""
    reason: str = ""
    refused: tuple[int, str, str] | None = None

    def __post_init__(self) -> None:
        self.position = self.recording.first_base

    @property
    def is_moved(self) -> bool:
        """Whether anything goes."""
        return self.whole or self.position > self.recording.first_base

    @property
    def files_gone(self) -> int:
        """How many of the files that are there go."""
        segments = self.recording.segments
        return len(segments) if self.whole else self.recording.files_below(self.position)

    @property
    def bytes_left(self) -> int:
        """Of the files that stay."""
        recording = self.recording
        return (len(recording.segments) - self.files_gone) * recording.segment_length

    def move(self, position: int, policy: str, reason: str, *, whole: bool = False) -> bool:
        """Go as far as a policy wants, or as far as the ceiling is.

        Args:
            position: where a segment begins.
            policy: that wants it.
            reason: of it.
            whole: the recording altogether.

        Returns:
            Whether it went all the way.
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
        """Note what stands against more; the first one that is noted stays."""
        if self.refused is None and kind:
            self.refused = (position, kind, reason)
