"""Keys that change the pace of a replay."""

from __future__ import annotations

import contextlib
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.archive.client.replay.paced_replay import PaceControl

HINT: Final = (
    "keys: space pauses and goes on, + faster, - slower, 1 as recorded, m as fast as can be, "
    "q quits"
)
_FACTOR: Final = 2.0


class PaceKeys:
    """Does what a key says with the pace of a replay."""

    def __init__(self, control: PaceControl, tell: Callable[[str], object]) -> None:
        """Make one.

        Args:
            control: the replay.
            tell: called with a line about each change.
        """
        self._control = control
        self._tell = tell
        self._finite = control.speed or 1.0

    def __call__(self, key: str) -> None:
        """Do what a key says; others are passed over."""
        control = self._control
        if key == " ":
            if control.paused:
                control.resume()
                self._tell(f"goes on at {shown(control.speed)}")
            else:
                control.pause()
                self._tell("paused: space goes on")
        elif key in {"+", "=", "up", "right"}:
            self._set(None if control.speed is None else control.speed * _FACTOR)
        elif key in {"-", "_", "down", "left"}:
            self._set(self._finite if control.speed is None else control.speed / _FACTOR)
        elif key == "1":
            self._set(1.0)
        elif key in {"m", "M"}:
            self._set(None)
        elif key in {"q", "Q"}:
            control.stop()
        elif key in {"?", "h", "H"}:
            self._tell(HINT)

    def _set(self, speed: float | None) -> None:
        from aerolog.archive.client.replay.pacer import SPEED_MAX, SPEED_MIN

        if speed is not None:
            self._finite = speed = min(max(speed, SPEED_MIN), SPEED_MAX)
        self._control.speed = speed
        self._tell(f"speed {shown(speed)}")


def shown(speed: float | None) -> str:
    """A speed as the option takes it."""
    return "max" if speed is None else f"{speed:g}x"


@contextmanager
def pace_keys(control: PaceControl) -> Iterator[None]:
    """Keys of the terminal change a replay's pace meanwhile, where there is a terminal."""
    from aerolog.tools.terminal.keyboard import Keyboard, keys_can_be_read

    if not keys_can_be_read():
        yield
        return

    def tell(text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # said to nobody, on a thread of its own
            sys.stderr.write(f"-- {text}\n")
            sys.stderr.flush()

    if sys.stderr.isatty():
        tell(HINT)
    with Keyboard(PaceKeys(control, tell)):
        yield
