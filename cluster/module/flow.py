"""What a module has under way: steps, of which each duty cycle carries out some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aerolog.transport.client.steps.caller import Steps

NOTHING: Final = 0
ALL_OF_THE_LOG: Final = 2**63 - 1
_STEPS_LIMIT: Final = 10


class Flow:
    """The start, an election, a snapshot or the end: a module has one of them under way at a time.

    Attributes:
        awaited_position: how much of the log must be recorded for what is under way, bytes. If the
            recording ends before, it is given up, and its toggle asks for it again.
    """

    def __init__(self) -> None:
        self.awaited_position = NOTHING
        self._steps: Steps[None] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether there are steps to carry out."""
        return self._steps is not None

    def begin(self, steps: Steps[None]) -> None:
        """Carry out steps from the next turn on, in place of those under way."""
        self._steps = steps

    def interrupt(self) -> Steps[None] | None:
        """Return the steps under way, which the module carries out no further by itself."""
        steps, self._steps = self._steps, None
        return steps

    def turn(self) -> int:
        """Carry out steps until one has nothing to do; returns how much was done."""
        work = 0
        for _ in range(_STEPS_LIMIT):
            if self._steps is None:
                break
            try:
                done = next(self._steps)
            except StopIteration:
                self._steps = None
                return work + 1
            work += done
            if done == 0:
                break
        return work

    def close(self) -> None:
        """Give up what is under way."""
        if self._steps is not None:
            self._steps.close()
            self._steps = None
