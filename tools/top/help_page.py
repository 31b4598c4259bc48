"""The help: what the keys do, what the columns mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.tools.top.key_bindings import KEYS
from aerolog.tools.top.page import TextPage
from aerolog.tools.top.text_lines import Line, Style, fit, line

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEANINGS: Final = (
    ("RATE", "bytes a second that the stream's position moves"),
    ("TREND", "the same over the last looks, the newest to the right"),
    ("BEHIND", "bytes from the stream's position to its slowest reader"),
    ("LIMITED BY", "what keeps it from being faster; Enter tells it in full"),
    ("LOST", "bytes that the driver's loss report has for the stream"),
    ("NAK", "packets asked for again, a second"),
    ("BPE", "back-pressure events: times a second that there was no window to send in"),
    ("WINDOW", "bytes that the publisher may still publish"),
    ("PROGRESS", "of a replay: how much of its recording, and the time left"),
    ("COMMITTED", "how far the services of a cluster may read its log"),
    ("SLOW", "duty cycles above the threshold, of the module and its services"),
)


def _lines() -> Iterator[Line]:
    yield line(" Keys", Style.HEADING)
    for key in KEYS:
        yield (f" {fit(key.shown, 10)}", Style.KEY), (key.does, Style.PLAIN)
    yield ()
    yield line(" Columns", Style.HEADING)
    for name, meaning in _MEANINGS:
        yield (f" {fit(name, 10)} ", Style.KEY), (meaning, Style.PLAIN)


class HelpPage(TextPage):
    """The page that explains keys and columns."""

    def __init__(self) -> None:
        super().__init__("Help")
        self._lines = list(_lines())
