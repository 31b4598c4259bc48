from typing import Final

from aerolog.transport.concurrent.clock import Clock

SPEED_MIN: Final = 1e-6
SPEED_MAX: Final = 1e6

class Pacer:
    """Says when each message of a stream is due, and waits until then.

    The first message is due at once, and the others as long after it as they were recorded after
    it, divided by the speed. A message that comes too late is due at once and moves nothing: the
    stream catches up. Where times go back, as after a step of the clock, no time passes.

    One thread waits; any thread may pause, resume, change the speed and stop. Such a change ends a
    wait's sleep at once.
    """

    def __init__(
        self, speed: float | None = 1.0, *, clock: Clock | None = None, paused: bool = False
    ) -> None:
        """Make a pacer.

        Args:
            speed: how many recorded seconds pass in one; None: as fast as can be.
            clock: for the time that passes; the machine's by default.
            paused: begin paused.

        Raises:
            ConfigurationError: a speed outside 0.000001 to 1000000.
        """

    @property
    def speed(self) -> float | None: ...
    @speed.setter
    def speed(self, speed: float | None) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    @property
    def paused(self) -> bool: ...
    def stop(self) -> None:
        """End the wait that is under way and all that follow, which return False."""

    @property
    def stopped(self) -> bool: ...
    @property
    def steps_back(self) -> int:
        """How often a message's time lay before that of the message before."""

    @property
    def due_ns(self) -> int:
        """When the last message was due, in the clock's monotonic time."""

    @property
    def late_ns_max(self) -> int:
        """By how much the latest message was late."""

    def delay_ns(self, time_ns: int) -> int | None:
        """How long until a message of that time is due: 0 or less when it is, None while paused."""

    def wait(self, time_ns: int, at_most_ns: int = 50_000_000) -> bool:
        """Wait until a message of that time is due, without the GIL.

        Returns:
            Whether it is due. False: stopped, or ``at_most_ns`` have passed; ask again then.

        Raises:
            KeyboardInterrupt: or whatever else a signal's handler raises.
        """

    def nap(self, at_most_ns: int) -> None:
        """Sleep so long, or until something changes; for a source that has nothing to give now."""

    def fileno(self) -> int:
        """A descriptor that becomes readable with every change; for event loops."""

    def drain(self) -> None:
        """Take note of the changes, so that the descriptor is not readable any more."""
