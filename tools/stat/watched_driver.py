"""A driver that is looked at again and again, and what is said of it each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.tools.terminal.schedule import StyledLine
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.errors import ViewError

if TYPE_CHECKING:
    from aerolog.tools.views.counters_snapshot import CountersSnapshot


class WatchedDriver:
    """A driver's directory, looked at again and again: a new driver there is found.

    Attributes:
        view: the files of the driver that was there last.
        gone: whether its files are not there any more.
    """

    def __init__(self, aeron_dir: str | None) -> None:
        self._aeron_dir = aeron_dir
        self.view = DriverView.open(aeron_dir)
        self.gone = False

    def refresh(self) -> DriverView:
        """The view of the driver that is there now, or of the last one."""
        self.gone = False
        if self.view.is_replaced():
            try:
                self.view = DriverView.open(self._aeron_dir)
            except ViewError:
                self.gone = True
        return self.view

    def state(self, snapshot: CountersSnapshot) -> str:
        """The state of the driver in words."""
        view = self.view
        if self.gone:
            return "its files are removed"
        if view.is_closed():
            return "stopped"
        age = view.heartbeat_age_ms(snapshot.taken_ms)
        if not view.is_alive(snapshot.taken_ms):
            return f"DEAD: last heartbeat {age / 1000:,.1f} s ago"
        return f"alive: heartbeat {age:,} ms ago"

    def heading(self, snapshot: CountersSnapshot) -> str:
        """A line about the driver."""
        view = self.view
        return StyledLine(
            f"driver pid {view.pid} in {view.aeron_dir}, {self.state(snapshot)}, "
            f"{len(snapshot):,} counters"
        )

    def facts(self, snapshot: CountersSnapshot) -> dict[str, object]:
        """The same for JSON."""
        view = self.view
        return {
            "aeron_dir": view.aeron_dir,
            "pid": view.pid,
            "cnc_version": view.version_text,
            "start_ms": view.start_ms,
            "taken_ms": snapshot.taken_ms,
            "heartbeat_ms": view.heartbeat_ms(),
            "alive": not self.gone and view.is_alive(snapshot.taken_ms),
        }
