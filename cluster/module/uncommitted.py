"""What the leader has changed by events of its log that may not be recorded yet.

A leader changes its state when it appends an event. If the recording of the log ends before the
event, the event is in no log, and its change is taken back before the next term begins.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Uncommitted:
    """Changes in the order of the log, each with what takes it back."""

    def __init__(self) -> None:
        self._changes: deque[tuple[int, Callable[[], object]]] = deque()

    def __len__(self) -> int:
        return len(self._changes)

    def note(self, position: int, take_back: Callable[[], object]) -> None:
        """Note a change.

        Args:
            position: where the event that made it ends in the log, bytes.
            take_back: undoes the change, when those after it are undone already.
        """
        self._changes.append((position, take_back))

    def commit(self, position: int) -> None:
        """Forget changes by events up to a position, which are committed."""
        while self._changes and self._changes[0][0] <= position:
            self._changes.popleft()

    def roll_back(self, position: int) -> None:
        """Take back the changes by events after a position, the last one first."""
        while self._changes and self._changes[-1][0] > position:
            self._changes.pop()[1]()
        self._changes.clear()
