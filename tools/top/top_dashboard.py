"""The dashboard without a terminal: pages, what is opened, filter, pause, and the lines around."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aerolog.tools.top import number_text
from aerolog.tools.top.archive_page import ArchivePage
from aerolog.tools.top.clusters_page import ClustersPage
from aerolog.tools.top.cycles_page import CyclesPage
from aerolog.tools.top.errors_page import ErrorsPage
from aerolog.tools.top.glyphs import sparkline
from aerolog.tools.top.help_page import HelpPage
from aerolog.tools.top.key_bindings import KEYS
from aerolog.tools.top.measurement import DriverState, Reading
from aerolog.tools.top.page import TablePage
from aerolog.tools.top.pressure_page import PressurePage
from aerolog.tools.top.streams_page import StreamsPage
from aerolog.tools.top.text_lines import Line, Piece, Style, clean, line
from aerolog.tools.top.top_model import Model
from aerolog.transport.counters.system_counters import SystemCounter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.page import Page

#: Seconds between two looks that one may choose from.
INTERVALS: Final = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_NOTICE_MS: Final = 30_000
_NAME: Final = " aerolog top  "
_CURVE: Final = 8


class Dashboard:
    """What is shown, and what the keys change of it.

    Attributes:
        model: what has been seen.
        pages: those of the bar.
        paused: whether the picture stands still.
        interval_s: between two looks.
    """

    def __init__(self, glyphs: Glyphs, interval_s: float) -> None:
        self.model = Model()
        self.pages: Sequence[Page] = (
            StreamsPage(glyphs),
            PressurePage(glyphs),
            CyclesPage(glyphs),
            ErrorsPage(glyphs),
            ArchivePage(glyphs),
            ClustersPage(glyphs),
        )
        self.paused = False
        self.interval_s = interval_s
        self._glyphs = glyphs
        self._current = 0
        self._opened: list[Page] = []
        self._paused_ms = 0
        self._help = HelpPage()
        self._driver_meanwhile = ""

    @property
    def page(self) -> Page:
        """The one that is seen."""
        return self._opened[-1] if self._opened else self.pages[self._current]

    @property
    def table(self) -> TablePage[Any] | None:
        """The page that is seen, if it can be sorted and filtered."""
        page = self.page
        return page if isinstance(page, TablePage) else None

    def take(self, reading: Reading) -> None:
        """Takes in a look; while the picture stands still only how the driver is."""
        if self.paused:
            self._tell_meanwhile(reading)
            return
        self.model.update(reading)
        self.page.refresh(self.model)

    def _tell_meanwhile(self, reading: Reading) -> None:
        shown, now = self.model.driver, reading.driver
        if now.state is not DriverState.LIVE:
            self._driver_meanwhile = f"the driver is {now.state} by now"
        elif shown is not None and shown.pid and now.incarnation != shown.incarnation:
            self._driver_meanwhile = f"another driver runs by now, pid {now.pid}"
        else:
            self._driver_meanwhile = ""

    def select(self, index: int) -> None:
        """Shows a page of the bar."""
        self._current = index % len(self.pages)
        self._opened.clear()
        self.page.refresh(self.model)

    def turn(self, step: int) -> None:
        """Shows the page so many further."""
        self.select(self._current + step)

    def open(self) -> None:
        """Shows what is behind the chosen line."""
        page = self.page.opened(self.model)
        if page is not None:
            self._opened.append(page)

    def back(self) -> None:
        """Closes what was opened; on a page of the bar, clears its filter."""
        if self._opened:
            self._opened.pop()
            self.page.refresh(self.model)
        elif self.table is not None and self.table.filter:
            self.set_filter("")

    def show_help(self) -> None:
        """Shows the help, or closes it."""
        if self.page is self._help:
            self.back()
        else:
            self._opened.append(self._help)

    def set_filter(self, words: str) -> None:
        """Shows only lines that have all of these words."""
        if self.table is not None:
            self.table.filter = words
            self.table.refresh(self.model)

    def sort_next(self, step: int) -> None:
        """Sorts by another column."""
        if self.table is not None:
            self.table.sort_next(step)
            self.table.refresh(self.model)

    def reverse(self) -> None:
        """Turns the order round."""
        if self.table is not None:
            self.table.reverse()
            self.table.refresh(self.model)

    def pause(self) -> None:
        """Holds the picture still, or lets it go on."""
        self.paused = not self.paused
        self._paused_ms = self.model.wall_ms
        self._driver_meanwhile = ""

    def change_interval(self, step: int) -> None:
        """Looks less or more often."""
        nearest = min(
            range(len(INTERVALS)), key=lambda index: abs(INTERVALS[index] - self.interval_s)
        )
        self.interval_s = INTERVALS[max(0, min(nearest + step, len(INTERVALS) - 1))]

    def top_lines(self, width: int) -> list[Line]:
        """Driver, totals, bar of pages, and the head of the page."""
        return [
            self._driver_line(width),
            self._totals_line(),
            self._bar(),
            *self.page.head(width),
        ]

    def _driver_line(self, width: int) -> Line:
        driver = self.model.driver
        if driver is None:
            return line(" aerolog top  looking ...", Style.KEY)
        if self.paused:
            meanwhile = f", {self._driver_meanwhile}" if self._driver_meanwhile else ""
            told = f" PAUSED at {number_text.clock_time(self._paused_ms)}{meanwhile} "
            right = told, Style.BAD
        else:
            told = f" {number_text.clock_time(self.model.wall_ms)} every {self.interval_s:g}s "
            right = told, Style.DIM
        state, style = _state(self.model)
        # What is in the middle gives way: the end of a path tells more than its beginning.
        room = max(width - len(_NAME) - len(state) - len(told), 0)
        folder = clean(driver.aeron_dir)
        if len(folder) > room:
            folder = "~" + folder[len(folder) - room + 1 :] if room > 1 else ""
        filled = " " * (room - len(folder))
        return (
            (_NAME, Style.KEY),
            (folder, Style.PLAIN),
            (state, style),
            (filled, Style.PLAIN),
            right,
        )

    def _totals_line(self) -> Line:
        model = self.model
        driver = model.driver
        if driver is not None and driver.state is DriverState.ABSENT and not model.streams:
            return line(f" {clean(driver.trouble)}", Style.BAD)
        if model.notice and model.wall_ms - model.notice_ms < _NOTICE_MS:
            at = number_text.clock_time(model.notice_ms)
            return line(f" {at} {model.notice}", Style.WARNING)
        sent, received = (
            model.system[SystemCounter.BYTES_SENT],
            model.system[SystemCounter.BYTES_RECEIVED],
        )
        pieces: list[Piece] = []
        for name, meter in (("pub", model.total), ("out", sent), ("in", received)):
            pieces += [
                (f" {name} ", Style.DIM),
                (f"{number_text.rate(meter.rate)} ", Style.PLAIN),
                (sparkline(meter.curve.last(_CURVE), _CURVE, self._glyphs), Style.CURVE),
            ]
        waits = model.system[SystemCounter.SENDER_FLOW_CONTROL_LIMITS].rate
        pieces += [
            (" clients ", Style.DIM),
            (f"{model.clients}", Style.PLAIN),
            (" BPE ", Style.DIM),
            (number_text.events(waits), Style.WARNING if waits else Style.PLAIN),
        ]
        return tuple(pieces)

    def _bar(self) -> Line:
        pieces: list[Piece] = []
        for index, page in enumerate(self.pages):
            style = Style.TITLE if index == self._current and not self._opened else Style.PLAIN
            pieces.append((f" {index + 1} {page.title}{self._figure(index)} ", style))
        pieces += [(f" > {page.title} ", Style.TITLE) for page in self._opened[-1:]]
        return tuple(pieces)

    def _figure(self, index: int) -> str:
        """How many there are, behind a page's name."""
        model = self.model
        errors, clusters = len(model.errors), len(model.clusters)
        figure = (len(model.streams), 0, 0, errors, model.running_count, clusters)[index]
        return f" {number_text.amount(figure)}" if figure else ""

    def bottom_line(self, width: int) -> Line:
        """What the keys do, and which line of how many."""
        page, table = self.page, self.table
        pieces: list[Piece] = []
        for key in KEYS:
            if key.hint and (table is not None or key.action not in _OF_TABLES):
                pieces += [(f" {key.shown}", Style.KEY), (f" {key.hint}", Style.DIM)]
        where = ""
        if table is not None and table.rows:
            of = f" of {table.total:,}" if table.filter else ""
            where = f"{page.cursor + 1:,}/{len(table.rows):,}{of} "
        if table is not None and table.filter:
            pieces = [(f" filter: {table.filter}", Style.WARNING), (" Esc clears it", Style.DIM)]
        room = width - sum(len(text) for text, _ in pieces) - len(where)
        return (*pieces, (" " * max(room, 1), Style.PLAIN), (where, Style.DIM))


_OF_TABLES: Final = frozenset({"open", "filter", "sort(1)", "reverse"})


def _state(model: Model) -> tuple[str, Style]:
    driver = model.driver
    if driver is None or driver.state is DriverState.ABSENT:
        return "  NO DRIVER: waiting", Style.BAD
    if driver.state is DriverState.CLOSED:
        return f"  pid {driver.pid} CLOSED: waiting", Style.BAD
    if driver.state is DriverState.SILENT:
        silent = number_text.age(driver.heartbeat_age_ms / 1_000)
        return f"  pid {driver.pid} SILENT for {silent}", Style.BAD
    up = number_text.age((model.wall_ms - driver.start_ms) / 1_000)
    return f"  pid {driver.pid} up {up}", Style.GOOD
