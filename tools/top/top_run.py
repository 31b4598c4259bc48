"""Runs the dashboard in the terminal until somebody quits."""

from __future__ import annotations

import sys
from contextlib import closing

from aerolog.tools.top.glyphs import ASCII, glyphs_for
from aerolog.tools.top.live_source import LiveSource
from aerolog.tools.top.top_app import TopApp
from aerolog.tools.views.archive_view import ArchiveView
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.errors import Trouble, ViewError


def run_top(
    aeron_dir: str | None, archive_dir: str | None, interval_s: float, *, plain_ascii: bool
) -> int:
    """Shows a driver; returns an exit code.

    Args:
        aeron_dir: the driver's directory, the default when None.
        archive_dir: an archive's folder to show as well.
        interval_s: seconds between two looks.
        plain_ascii: draw without block characters.

    Raises:
        ViewError: there is no driver, or no archive; told before the screen is taken.
    """
    _check(aeron_dir, archive_dir)
    # Textual writes to this one, whatever sys.stderr is by now.
    encoding = None if sys.__stderr__ is None else sys.__stderr__.encoding
    glyphs = ASCII if plain_ascii else glyphs_for(encoding)
    with closing(LiveSource(aeron_dir, archive_dir)) as source:
        app = TopApp(source, glyphs, interval_s)
        # The mouse stays the terminal's own: text is selected as everywhere.
        code = app.run(mouse=False)
        if app.fault is not None:
            raise app.fault
    return code or 0


def _check(aeron_dir: str | None, archive_dir: str | None) -> None:
    """Fails now, in one line, where there is nothing to look at."""
    try:
        DriverView.open(aeron_dir).close()
    except ViewError as error:
        if error.trouble is not Trouble.STARTING:
            raise
    if archive_dir is not None:
        ArchiveView.open(archive_dir).close()
