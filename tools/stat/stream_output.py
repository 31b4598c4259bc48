"""Runs ``streams`` and ``backlog`` in each of their forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.tools.stat import classic_stream_lines
from aerolog.tools.stat.reference_conventions import file_path, open_view
from aerolog.tools.stat.stream_forms import Backlogs, Streams
from aerolog.tools.stat.watched_driver import WatchedDriver
from aerolog.tools.terminal.terminal_text import write_fit
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.errors import Trouble, ViewError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.tools.stat.counter_filters import Filters
    from aerolog.tools.terminal.schedule import Schedule
    from aerolog.tools.views.counters_snapshot import CountersSnapshot


def show_streams(
    aeron_dir: str | None, filters: Filters, schedule: Schedule, *, sample_s: float, as_json: bool
) -> None:
    """Prints streams; one look is two, a little apart, so that there are rates."""
    found = Streams(WatchedDriver(aeron_dir), filters)

    def look() -> Streams:
        if schedule.watch:
            found.look()
        else:
            found.sample(sample_s)
        return found

    if as_json:
        schedule.show_json(lambda: look().document())
    else:
        schedule.show(lambda: look().people())


def show_backlogs(
    aeron_dir: str | None, filters: Filters, schedule: Schedule, *, at_least: int, as_json: bool
) -> None:
    """Prints the streams in which data waits."""
    found = Backlogs(WatchedDriver(aeron_dir), filters, at_least)
    if as_json:
        schedule.show_json(found.document)
    else:
        schedule.show(found.people)


def classic(aeron_dir: str | None, lines: Callable[[CountersSnapshot], Iterator[str]]) -> None:
    """Prints what StreamStat or BacklogStat prints."""
    write_fit([classic_stream_lines.first_line(file_path(aeron_dir))])
    try:
        view = DriverView.open(aeron_dir)
    except ViewError as error:
        if error.trouble is Trouble.STARTING:
            return  # the reference does not ask whether the driver has finished starting
        view = open_view(aeron_dir)
    write_fit(lines(view.counters()))
