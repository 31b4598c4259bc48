"""The dashboard in a terminal: Textual's side of it."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from aerolog.tools.command_line.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_TERMINATED
from aerolog.tools.top.key_bindings import KEYS
from aerolog.tools.top.top_dashboard import Dashboard
from aerolog.tools.top.widgets import Rows, Still

if TYPE_CHECKING:
    from textual.timer import Timer

    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.measurement import ReadingSource


class TopApp(App[int]):
    """Shows what a source sees, again and again.

    Args:
        source: the source of readings, which is closed by whoever made it.
        glyphs: the characters to draw with.
        interval_s: seconds between two looks; 0 looks only when `look` is called.

    Attributes:
        fault: what ended it, None when it was quit.
    """

    CSS = """
    Screen { layout: vertical; }
    #top { height: 4; width: 1fr; }
    #rows { height: 1fr; width: 1fr; }
    #bottom { height: 1; width: 1fr; }
    #filter { height: 1; width: 1fr; border: none; padding: 0 1; display: none; }
    #filter:focus { border: none; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(",".join(key.names), key.action, key.does, show=False) for key in KEYS),
        Binding("ctrl+c", "interrupt", "interrupt", show=False, priority=True),
    ]

    def __init__(self, source: ReadingSource, glyphs: Glyphs, interval_s: float = 1.0) -> None:
        # The terminal's own colours, whatever they are.
        super().__init__(ansi_color=True)
        self.source = source
        self.fault: Exception | None = None
        self.dashboard = Dashboard(glyphs, interval_s or 1.0)
        self._looks_by_itself = interval_s > 0
        self._timer: Timer | None = None
        self._rows = Rows(self.dashboard.page, id="rows")
        self._top = Still(self.dashboard.top_lines, id="top")
        self._bottom = Still(lambda width: [self.dashboard.bottom_line(width)], id="bottom")
        self._filter = Input(placeholder="words that a line has to have", id="filter")

    def compose(self) -> ComposeResult:
        """The parts, from above."""
        yield self._top
        yield self._rows
        yield self._filter
        yield self._bottom

    def on_mount(self) -> None:
        """Looks for the first time."""
        self._rows.focus()
        self._end_cleanly()
        self.look()
        self._set_timer()

    def look(self) -> None:
        """Takes one look and draws it."""
        try:
            self.dashboard.take(self.source.look())
        except Exception as error:  # noqa: BLE001 - told when the terminal is given back
            self.fault = error
            self.exit(EXIT_FAILED)
            return
        self.draw()

    def draw(self) -> None:
        """Draws what has changed."""
        self._top.draw()
        self._rows.show(self.dashboard.page)
        self._bottom.draw()

    def _end_cleanly(self) -> None:
        """A signal ends it as a key does: the terminal is given back as it was."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_signal_handler(signal.SIGTERM, self.exit, EXIT_TERMINATED)
            loop.add_signal_handler(signal.SIGINT, self.exit, EXIT_INTERRUPTED)
        except (ValueError, RuntimeError):
            # Not the main thread: signals belong to whoever called.
            return

    def action_interrupt(self) -> None:
        """Ends as an interrupt would."""
        self.exit(EXIT_INTERRUPTED)

    def _set_timer(self) -> None:
        if not self._looks_by_itself:
            return
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(self.dashboard.interval_s, self.look)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the filter is typed, letters are letters."""
        del parameters
        return not self._filter.has_focus or action in {"leave", "interrupt"}

    def action_page(self, index: int) -> None:
        """Shows a page of the bar."""
        self.dashboard.select(index)
        self.draw()

    def action_turn(self, step: int) -> None:
        """Shows the page so many further."""
        self.dashboard.turn(step)
        self.draw()

    def action_move(self, step: int) -> None:
        """Moves so many lines."""
        page = self.dashboard.page
        page.move(page.cursor + step)
        self.draw()

    def action_leaf(self, step: int) -> None:
        """Moves so many screens."""
        self.action_move(step * max(self._rows.size.height - 1, 1))

    def action_first(self) -> None:
        """Goes to the first line."""
        self.dashboard.page.move(0)
        self.draw()

    def action_last(self) -> None:
        """Goes to the last line."""
        page = self.dashboard.page
        page.move(page.count() - 1)
        self.draw()

    def action_open(self) -> None:
        """Shows what is behind the chosen line."""
        self.dashboard.open()
        self.draw()

    def action_leave(self) -> None:
        """Leaves the filter, what was opened, or the filtered view."""
        if self._filter.has_focus:
            self.dashboard.set_filter("")
            self._leave_filter()
        else:
            self.dashboard.back()
        self.draw()

    def action_filter(self) -> None:
        """Lets a filter be typed."""
        table = self.dashboard.table
        if table is not None:
            self._filter.value = table.filter
            self._filter.display = True
            self._filter.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filters while it is typed."""
        if self._filter.has_focus:
            self.dashboard.set_filter(event.value)
            self.draw()

    def on_input_submitted(self) -> None:
        """Keeps the filter that was typed."""
        self._leave_filter()
        self.draw()

    def _leave_filter(self) -> None:
        self._filter.display = False
        self._rows.focus()

    def action_sort(self, step: int) -> None:
        """Sorts by another column."""
        self.dashboard.sort_next(step)
        self.draw()

    def action_reverse(self) -> None:
        """Turns the order round."""
        self.dashboard.reverse()
        self.draw()

    def action_pause(self) -> None:
        """Holds the picture still, or lets it go on."""
        self.dashboard.pause()
        if not self.dashboard.paused:
            self.look()
        self.draw()

    def action_faster(self) -> None:
        """Looks more often."""
        self._change_interval(-1)

    def action_slower(self) -> None:
        """Looks less often."""
        self._change_interval(1)

    def _change_interval(self, step: int) -> None:
        self.dashboard.change_interval(step)
        self._set_timer()
        self.draw()

    def action_help(self) -> None:
        """Shows the help, or closes it."""
        self.dashboard.show_help()
        self.draw()
